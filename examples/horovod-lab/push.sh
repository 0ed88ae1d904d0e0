#!/bin/bash
# ./push.sh [NAME[:TAG]]: pushes the image horovod-lab to the registry of the server that
# AWS_ENDPOINT_URL names, by docker or, without its engine, by buildah. The access key of the
# environment logs in: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
set -euo pipefail

: "${AWS_ENDPOINT_URL:?names the server, as http://127.0.0.1:7700}"
registry=${AWS_ENDPOINT_URL#*://}
registry=${registry%/}
target=$registry/${1:-horovod-lab:latest}
logins=$(mktemp -d)
trap 'rm -rf "$logins"' EXIT

if docker info > /dev/null 2>&1; then
  export DOCKER_CONFIG=$logins
  docker login --username "$AWS_ACCESS_KEY_ID" --password-stdin "$registry" <<< "$AWS_SECRET_ACCESS_KEY"
  docker tag horovod-lab "$target"
  docker push "$target"
else
  options=(--authfile "$logins/auth.json")
  [[ $AWS_ENDPOINT_URL == https://* ]] || options+=(--tls-verify=false)
  buildah login "${options[@]}" --username "$AWS_ACCESS_KEY_ID" --password-stdin "$registry" \
    <<< "$AWS_SECRET_ACCESS_KEY"
  buildah push "${options[@]}" horovod-lab "docker://$target"
fi
