#!/bin/sh
exec sm torchrun --nproc-per-node 2 torch_ddp.py "$@"
