#!/bin/sh
# Makes the image paceline-base:bookworm: Debian 12 with the run-time libraries of the daemons. Based on
# debian:bookworm-slim if a registry is reachable, else made by debootstrap.
#   sh base.sh [IMAGE PACKAGE...]     an image of that name, which also has these packages
set -eu
IMAGE=${1:-paceline-base:bookworm}
[ $# -eq 0 ] || shift
LIBRARIES="libcapnp-0.9.2 librocksdb7.8 libgflags2.2 libgoogle-glog0v6 libtcmalloc-minimal4 libzstd1 libre2-9 libhyperscan5 libxxhash0 libssl3 libisal2 libhwy1 libseccomp2 libdw1 libcurl4 libexpat1 libsystemd0 zlib1g ca-certificates $*"

if docker image inspect "$IMAGE" >/dev/null 2>&1; then exit 0; fi

if timeout 30 docker pull -q debian:bookworm-slim >/dev/null 2>&1; then
  printf 'FROM debian:bookworm-slim\nRUN apt-get update && apt-get install -y --no-install-recommends %s && rm -rf /var/lib/apt/lists\n' "$LIBRARIES" |
    docker build -q -t "$IMAGE" - >/dev/null
  exit 0
fi

printf '== no image registry is reachable: making %s by debootstrap\n' "$IMAGE" >&2
command -v debootstrap >/dev/null || {
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
}
ROOT=$(mktemp -d /var/tmp/paceline-base.XXXXXX)
trap 'rm -rf "$ROOT"' EXIT
debootstrap --variant=minbase --include="$(printf '%s' "$LIBRARIES" | tr ' ' ',')" bookworm "$ROOT/fs" >"$ROOT/log" 2>&1 ||
  { tail -n 20 "$ROOT/log" >&2; exit 1; }
rm -rf "$ROOT"/fs/var/cache/apt/archives/*.deb "$ROOT"/fs/var/lib/apt/lists/*
tar -C "$ROOT/fs" -c . | docker import - "$IMAGE" >/dev/null
