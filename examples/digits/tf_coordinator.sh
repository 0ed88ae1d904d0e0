#!/bin/sh
exec sm tf run-distributed-training --chief --num-workers 2 --num-parameter-servers 1 \
  tf_coordinator.py "$@"
