#!/bin/sh
exec sm tf multi-worker --num-workers 2 tf_multi_worker.py "$@"
