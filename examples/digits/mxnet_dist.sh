#!/bin/sh
exec sm mxnet run python mxnet_dist.py "$@"
