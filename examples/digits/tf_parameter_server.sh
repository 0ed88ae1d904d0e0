#!/bin/sh
exec sm tf run-distributed-training --num-workers 2 --num-parameter-servers 1 tf_parameter_server.py "$@"
