#!/bin/sh
# ./dev cluster: builds the image, starts one master and three workers, runs a job on them from the host, compares the
# answer with coreutils, and removes the cluster. Arguments: up, down, or none for the whole round.
set -eu
cd "$(dirname "$0")/.."
PROJECT=${COMPOSE_PROJECT_NAME:-paceline}
MASTER=127.0.0.1:${MR_RPC_PORT:-7070}
MRCTL=build/bin/mrctl
export MR_INSECURE=1  # its daemons run with --insecure

say() { printf '== %s\n' "$*" >&2; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

command -v docker >/dev/null || as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq docker.io docker-compose >/dev/null

compose() {
  if docker compose version >/dev/null 2>&1; then docker compose -p "$PROJECT" -f docker/compose.yml "$@"
  else docker-compose -p "$PROJECT" -f docker/compose.yml "$@"; fi
}

image() {
  as_root sh docker/base.sh
  context=build/image
  rm -rf "$context"; mkdir -p "$context/bin" "$context/lib"
  for b in mrmaster mrworker mrtask mrctl; do strip -o "$context/bin/$b" "build/bin/$b"; done
  strip -o "$context/lib/libpaceline_jobs.so" build/lib/libpaceline_jobs.so
  cp docker/Dockerfile "$context/"
  docker build -q -t paceline:dev "$context" >/dev/null 2>"$context/log" || { cat "$context/log" >&2; exit 1; }
}

up() {
  image
  compose up -d >/dev/null 2>&1
  tries=0
  until [ "$($MRCTL --master "$MASTER" workers -o json 2>/dev/null | grep -o '"id"' | wc -l)" -ge 3 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { say "the cluster was not ready within 30 s"; compose logs --tail=20 >&2; exit 1; }
    sleep 0.3
  done
}

case "${1:-round}" in
  up) up; say "the cluster is ready: export MR_MASTER=$MASTER MR_INSECURE=1" ;;
  down) compose down -v >/dev/null 2>&1 ;;
  round)
    work=$(mktemp -d)
    trap 'compose down -v >/dev/null 2>&1; rm -rf "$work"' EXIT INT TERM
    say "building the image and starting one master and three workers"
    up
    bible -f gen1:1-rev22:21 >"$work/bible.txt"
    $MRCTL --master "$MASTER" fs put "$work/bible.txt" /bible.txt
    $MRCTL --master "$MASTER" submit wordcount --input /bible.txt --output /counts
    $MRCTL --master "$MASTER" fs getmerge /counts "$work/counts"
    LC_ALL=C tr -s ' \t\n\v\f\r' '\n' <"$work/bible.txt" | grep -v '^$' | LC_ALL=C sort | LC_ALL=C uniq -c |
      awk '{print $2 "\t" $1}' | LC_ALL=C sort >"$work/expected"
    LC_ALL=C sort "$work/counts" | cmp - "$work/expected"
    say "the answer equals coreutils: $(wc -l <"$work/expected") words"
    ;;
  *) echo "usage: docker/cluster.sh [up|down]" >&2; exit 2 ;;
esac
