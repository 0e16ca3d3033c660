#!/bin/sh
# ./dev cluster: builds the image, starts one master and three workers, adds a fourth by the join command, runs a job on
# them from the host, compares the answer with coreutils, and removes the cluster. Arguments: up, down, image (which
# only builds paceline:dev), or none for the whole round.
set -eu
cd "$(dirname "$0")/.."
PROJECT=${COMPOSE_PROJECT_NAME:-paceline}
MASTER=127.0.0.1:${MR_RPC_PORT:-7070}
MRCTL=build/bin/mrctl
export MR_TOKEN_FILE="$PWD/build/cluster.token"  # of the administrator
JOINED=${PROJECT}_joined

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
  install -m 755 docker/ready.sh "$context/bin/paceline-ready"
  docker build -q -t paceline:dev "$context" >/dev/null 2>"$context/log" || { cat "$context/log" >&2; exit 1; }
}

# Waits for so many workers.
await() {
  tries=0
  until [ "$($MRCTL --master "$MASTER" workers -o json 2>/dev/null | grep -o '"id"' | wc -l)" -ge "$1" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { say "the cluster had no $1 workers within 30 s"; compose logs --tail=20 >&2; exit 1; }
    sleep 0.3
  done
}

# Waits until Docker finds a service healthy.
await_healthy() {
  tries=0
  until [ "$(docker inspect -f '{{.State.Health.Status}}' "$(compose ps -q "$1")")" = healthy ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { say "the service $1 was not healthy within 30 s"; compose logs --tail=20 >&2; exit 1; }
    sleep 0.3
  done
}

# Kills a daemon as a crash would. Its restart policy must start it again.
crash() {
  compose exec -T "$1" sh -c "kill -9 \$(pidof $2)"
  tries=0
  until [ "$(docker inspect -f '{{.RestartCount}}' "$(compose ps -q "$1")")" = 1 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { say "the service $1 was not started again within 30 s"; exit 1; }
    sleep 0.3
  done
  await_healthy "$1"
}

# Copies a file of the master to the host, mode 0600.
fetch() { (umask 077; rm -f "$2"; compose exec -T master cat "$1" >"$2"); }

up() {
  image
  compose up -d >build/cluster.log 2>&1 || { cat build/cluster.log >&2; compose logs --tail=20 >&2; exit 1; }
  fetch /data/admin.token "$MR_TOKEN_FILE"
  await 3
}

# Adds a worker as on a machine of its own: a join file from the master, and the command that mrctl prints.
join() {
  compose exec -T master mrctl token create --data /data --address master:7070 --join /data/new.join >/dev/null
  fetch /data/new.join "$1/join"
  compose exec -T master rm /data/new.join
  docker create --name "$JOINED" --init --network "${PROJECT}_paceline" --ip 172.30.7.14 paceline:dev \
    mrworker --data /data --join /data/join --bind 0.0.0.0 --advertise 172.30.7.14 --slots 2 --rack b >/dev/null
  docker cp -q "$1/join" "$JOINED:/data/join" 2>/dev/null || docker cp "$1/join" "$JOINED:/data/join"
  docker start "$JOINED" >/dev/null
  await 4
}

down() {
  docker rm -fv "$JOINED" >/dev/null 2>&1 || true
  compose down -v >/dev/null 2>&1
  rm -f "$MR_TOKEN_FILE"
}

case "${1:-round}" in
  up) up; say "the cluster is ready: export MR_MASTER=$MASTER MR_TOKEN_FILE=$MR_TOKEN_FILE" ;;
  down) down ;;
  image) image ;;
  round)
    work=$(mktemp -d)
    trap 'down; rm -rf "$work"' EXIT INT TERM
    say "building the image and starting one master and three workers"
    up
    say "adding a worker by the join command"
    join "$work"
    code=0
    MR_TOKEN_FILE='' XDG_STATE_HOME="$work" $MRCTL --master "$MASTER" workers >/dev/null 2>&1 || code=$?
    [ "$code" = 6 ] || { say "mrctl without a token exited with $code instead of 6"; exit 1; }
    bible -f gen1:1-rev22:21 >"$work/bible.txt"
    $MRCTL --master "$MASTER" fs put "$work/bible.txt" /bible.txt
    $MRCTL --master "$MASTER" submit wordcount --input /bible.txt --output /counts
    $MRCTL --master "$MASTER" fs getmerge /counts "$work/counts"
    LC_ALL=C tr -s ' \t\n\v\f\r' '\n' <"$work/bible.txt" | grep -v '^$' | LC_ALL=C sort | LC_ALL=C uniq -c |
      awk '{print $2 "\t" $1}' | LC_ALL=C sort >"$work/expected"
    LC_ALL=C sort "$work/counts" | cmp - "$work/expected"
    say "the answer equals coreutils: $(wc -l <"$work/expected") words"
    for service in master worker1 worker2 worker3; do await_healthy $service; done
    crash worker1 mrworker
    crash master mrmaster
    $MRCTL --master "$MASTER" jobs -o json | grep -q SUCCEEDED || { say "the master forgot its job"; exit 1; }
    say "all services are healthy, and start again after a crash"
    ;;
  *) echo "usage: docker/cluster.sh [up|down|image]" >&2; exit 2 ;;
esac
