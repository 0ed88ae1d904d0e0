#!/bin/bash
# ./build.sh [OPTION...]: builds the image horovod-lab by docker or, without its engine, by buildah.
# OPTIONs are theirs: --build-arg FRAMEWORKS=IMAGE takes TensorFlow and Horovod from an image.
set -euo pipefail

cd "$(dirname "$0")/../.."
file=examples/horovod-lab/Dockerfile
make wheel
if docker info > /dev/null 2>&1; then
  exec docker build -f "$file" -t horovod-lab "$@" .
fi
if ! command -v buildah > /dev/null; then
  echo "build.sh: needs a Docker engine, or buildah (apt install buildah)" >&2
  exit 1
fi
exec buildah build --isolation chroot --ignorefile "$file.dockerignore" -f "$file" -t horovod-lab "$@" .
