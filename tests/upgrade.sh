#!/bin/sh
# Upgrades a cluster from an earlier commit to this build while jobs run: the workers one by one, then the master. No
# job may fail, no file may be lost, and each answer must be that of coreutils. Builds the earlier commit once, in
# build-upgrade.
#   sh tests/upgrade.sh                    # after ./dev build
#   MR_UPGRADE_FROM=COMMIT sh tests/upgrade.sh
set -eu
cd "$(dirname "$0")/.."
# The last commit before the operators' days: change it when a release is made.
FROM=${MR_UPGRADE_FROM:-63073d85}
WORKERS="1 2 3"

say() { printf '== %s\n' "$*" >&2; }
fail() {
  say "FAILED: $*"
  for log in "$WORK"/*.log; do say "$log"; tail -n 15 "$log" >&2; done
  exit 1
}

new=$PWD/build/bin
tree=$PWD/build-upgrade/$FROM
old=$tree/build/bin
if [ ! -f "$tree/built" ]; then
  say "building $FROM"
  rm -rf "$tree"; mkdir -p "$tree/source"
  git archive "$FROM" | tar -x -C "$tree/source"
  cmake -S "$tree/source" -B "$tree/build" -G Ninja >/dev/null
  cmake --build "$tree/build" --target mrmaster mrworker mrtask mrctl paceline_jobs >"$tree/build.log" 2>&1 ||
    { tail -n 30 "$tree/build.log" >&2; exit 1; }
  : >"$tree/built"
fi

WORK=$(mktemp -d "${TMPDIR:-/tmp}/paceline-upgrade.XXXXXX")
export MR_SECRET_DIR="$WORK/secrets" XDG_STATE_HOME="$WORK/state"
mkdir -m 700 "$MR_SECRET_DIR" "$XDG_STATE_HOME"
# shellcheck disable=SC2046
cleanup() { kill -KILL $(cat "$WORK"/*.pid) 2>/dev/null || true; rm -rf "$WORK"; }
trap cleanup EXIT INT TERM

# start NAME BINARY FLAG...: a daemon, on the port that it had before, or on any.
start() {
  name=$1; binary=$2; shift 2
  port=$(cut -d' ' -f2 "$WORK/$name.ready" 2>/dev/null || echo 0)
  http=$(cut -d' ' -f3 "$WORK/$name.ready" 2>/dev/null || echo 0)
  rm -f "$WORK/$name.ready"
  "$binary" --data "$WORK/$name" --port "$port" --http_port "$http" --ready_fd 3 "$@" \
    3>"$WORK/$name.ready" </dev/null >>"$WORK/$name.log" 2>&1 &
  echo $! >"$WORK/$name.pid"
  tries=0
  until grep -qs ready "$WORK/$name.ready"; do
    tries=$((tries + 1)); [ $tries -lt 300 ] || fail "$name is not ready"
    sleep 0.1
  done
}
# stop NAME: as an operator does.
stop() {
  pid=$(cat "$WORK/$1.pid")
  kill -TERM "$pid"
  wait "$pid" || fail "$1 ended with $?"
}
start_worker() {
  start "worker$1" "$2/mrworker" --master "$MR_MASTER" --slots 2 --allow_tier0 --min_free 0 --task_paths "$WORK:rw"
}
# live N: waits until so many workers are live.
live() {
  tries=0
  until [ "$("$new/mrctl" workers -o ndjson | grep -c '"state":"live"')" = "$1" ]; do
    tries=$((tries + 1)); [ $tries -lt 300 ] || fail "there are not $1 live workers"
    sleep 0.1
  done
}

say "starting $FROM"
start master "$old/mrmaster" --replication 2 --block_size 64k
MR_MASTER=127.0.0.1:$(cut -d' ' -f2 "$WORK/master.ready")
export MR_MASTER
for w in $WORKERS; do start_worker "$w" "$old"; done
live 3
seq 1 60000 | sed 's/$/ some words of line/' >"$WORK/in"
tr -s ' ' '\n' <"$WORK/in" | LC_ALL=C sort | uniq -c | awk '{print $2 "\t" $1}' | LC_ALL=C sort >"$WORK/expected"
"$old/mrctl" fs put "$WORK/in" /in
# A job over the whole upgrade: its reduce ends when it is done.
"$old/mrctl" submit stream --map 'sleep 0.2; cat' --reduce "while [ ! -e $WORK/upgraded ]; do sleep 0.2; done; cat" \
  --reduces 1 --speculation off --clone off --input /in --output /long >>"$WORK/long.log" 2>&1 &
long=$!
# Short jobs, one after the other.
(
  n=0
  while [ ! -e "$WORK/upgraded" ]; do
    n=$((n + 1))
    "$old/mrctl" submit wordcount --input /in --output "/short$n" >>"$WORK/short.log" 2>&1 || {
      echo "$n" >"$WORK/short.failed"
      exit
    }
    echo "$n" >"$WORK/short.done"
  done
) &
shorts=$!

for w in $WORKERS; do
  say "upgrading worker $w"
  stop "worker$w"
  start_worker "$w" "$new"
  live 3
done
say "upgrading the master"
"$new/mrmaster" --data "$WORK/master" --backup "$WORK/backup"
stop master
start master "$new/mrmaster" --replication 2 --block_size 64k
live 3
before=$(cat "$WORK/short.done")
tries=0
until [ "$(cat "$WORK/short.done")" -gt $((before + 1)) ] || [ -e "$WORK/short.failed" ]; do
  tries=$((tries + 1)); [ $tries -lt 600 ] || fail "no short job ended after the upgrade"
  sleep 0.1
done
: >"$WORK/upgraded"
wait "$shorts"
[ ! -e "$WORK/short.failed" ] || fail "short job $(cat "$WORK/short.failed")"
wait "$long" || fail "the long job ended with $?"
say "$(cat "$WORK/short.done") short jobs and a long one ran meanwhile"
"$new/mrctl" fs cat /in | cmp - "$WORK/in" || fail "a file differs"
"$new/mrctl" fs cat /long | cut -f1 | LC_ALL=C sort >"$WORK/long.out"
LC_ALL=C sort "$WORK/in" | cmp - "$WORK/long.out" || fail "the answer of the long job differs"
for n in 1 "$(cat "$WORK/short.done")"; do
  "$new/mrctl" fs cat "/short$n" | LC_ALL=C sort | cmp - "$WORK/expected" || fail "the answer of short job $n differs"
done
"$new/mrctl" jobs -o ndjson >"$WORK/jobs" || fail "mrctl jobs fails"
grep -q '"state":"SUCCEEDED"' "$WORK/jobs" || fail "no job succeeded"
! grep -v '"state":"SUCCEEDED"' "$WORK/jobs" || fail "a job did not succeed"
say "upgraded from $FROM: nothing was lost"
