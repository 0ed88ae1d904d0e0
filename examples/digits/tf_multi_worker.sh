#!/bin/sh
exec sm tf multi-worker tf_multi_worker.py "$@"
