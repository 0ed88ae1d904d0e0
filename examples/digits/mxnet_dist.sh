#!/bin/sh
exec sm mxnet run --num-workers 2 --num-servers 1 python mxnet_dist.py "$@"
