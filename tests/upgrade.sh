#!/bin/sh
# Upgrades a cluster from an earlier commit to this build while jobs run: the workers one by one, then the master. No
# file may be lost, and each answer must be that of coreutils. No job may fail but a table job of the earlier commit: it
# may name operators that this build no longer has, and must then say so, and be right when it is submitted again.
# Builds the earlier commit once, in build-upgrade.
#   sh tests/upgrade.sh                          # after ./dev build
#   MR_UPGRADE_FROM=COMMIT sh tests/upgrade.sh
#   MR_UPGRADE_BIN=DIR sh tests/upgrade.sh       # binaries that exist, in place of a build; libraries in DIR/../lib
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
old=${MR_UPGRADE_BIN:-$tree/build/bin}
if [ -z "${MR_UPGRADE_BIN:-}" ] && [ ! -f "$tree/built" ]; then
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

TABLES="aggregate topk join"
# submit_table MRCTL JOB OUTPUT
submit_table() {
  mrctl=$1; job=$2; output=$3
  case $job in
    aggregate) set -- --by city --agg 'sum(amount)' --input /sales ;;
    topk) set -- --by id -n 5 --input /sales ;;
    join) set -- --left /sales --right /regions --on id ;;
  esac
  "$mrctl" submit "$job" "$@" --output "$output"
}
# run_old_table JOB OUTPUT: a table job of the earlier commit. Returns mrctl's status if it fails otherwise than it may.
run_old_table() {
  code=0
  submit_table "$old/mrctl" "$1" "$2" >"$WORK/table.log" 2>&1 || code=$?
  if [ $code = 0 ]; then
    echo "$1 $2" >>"$WORK/tables.done"
  elif grep -q 'after an upgrade, submit the job again' "$WORK/table.log"; then
    echo "$1 $2" >>"$WORK/tables.refused"
  else
    return $code
  fi
}
# no_master STATUS: whether a client found no master (5) because that is restarted. Clients that found it wait.
no_master() { [ "$1" = 5 ] && [ -e "$WORK/restarting" ]; }
# check_table JOB OUTPUT: compares all but the header with the answer of awk.
check_table() {
  "$new/mrctl" fs cat "$2" | grep -v '^[a-z]*,' | LC_ALL=C sort | cmp - "$WORK/$1.expected" ||
    fail "the answer of $1 in $2 differs"
}

say "starting ${MR_UPGRADE_BIN:-$FROM}"
start master "$old/mrmaster" --replication 2 --block_size 64k
MR_MASTER=127.0.0.1:$(cut -d' ' -f2 "$WORK/master.ready")
export MR_MASTER
for w in $WORKERS; do start_worker "$w" "$old"; done
live 3
seq 1 60000 | sed 's/$/ some words of line/' >"$WORK/in"
tr -s ' ' '\n' <"$WORK/in" | LC_ALL=C sort | uniq -c | awk '{print $2 "\t" $1}' | LC_ALL=C sort >"$WORK/expected"
"$old/mrctl" fs put "$WORK/in" /in
seq 1 20000 | awk 'BEGIN { print "id,city,amount" } { print $1 ",c" $1 % 7 "," $1 % 1000 }' >"$WORK/sales"
seq 100 100 20000 | awk 'BEGIN { print "id,region" } { print $1 ",r" $1 % 3 }' >"$WORK/regions"
awk -F, 'NR > 1 { sum[$2] += $3 } END { for (city in sum) print city "," sum[city] }' "$WORK/sales" |
  LC_ALL=C sort >"$WORK/aggregate.expected"
tail -n 5 "$WORK/sales" | LC_ALL=C sort >"$WORK/topk.expected"
awk -F, 'NR == FNR { region[$1] = $2; next } FNR > 1 && $1 in region { print $0 "," region[$1] }' \
  "$WORK/regions" "$WORK/sales" | LC_ALL=C sort >"$WORK/join.expected"
for file in sales regions; do "$old/mrctl" fs put "$WORK/$file" "/$file"; done
: >"$WORK/tables.done"
: >"$WORK/tables.refused"
for job in $TABLES; do
  submit_table "$old/mrctl" "$job" "/before_$job" >"$WORK/table.log" 2>&1 || fail "$job before the upgrade"
  check_table "$job" "/before_$job"
done
# A job over the whole upgrade: its reduce ends when it is done.
"$old/mrctl" submit stream --map 'sleep 0.2; cat' --reduce "while [ ! -e $WORK/upgraded ]; do sleep 0.2; done; cat" \
  --reduces 1 --speculation off --clone off --input /in --output /long >>"$WORK/long.log" 2>&1 &
long=$!
# Short jobs, one after the other.
(
  n=0
  while [ ! -e "$WORK/upgraded" ]; do
    n=$((n + 1))
    status=0
    "$old/mrctl" submit wordcount --input /in --output "/short$n" >>"$WORK/short.log" 2>&1 || status=$?
    ! no_master $status || continue
    [ $status = 0 ] || { echo "$n" >"$WORK/short.failed"; exit; }
    echo "$n" >"$WORK/short.done"
  done
) &
shorts=$!
# Table jobs, in the same way.
(
  n=0
  while [ ! -e "$WORK/upgraded" ]; do
    n=$((n + 1))
    for job in $TABLES; do
      status=0
      run_old_table "$job" "/$job$n" || status=$?
      [ $status = 0 ] || no_master $status || { echo "$job $n" >"$WORK/tables.failed"; exit; }
    done
    echo "$n" >"$WORK/tables.rounds"
  done
) &
tables=$!

for w in $WORKERS; do
  say "upgrading worker $w"
  stop "worker$w"
  start_worker "$w" "$new"
  live 3
done
say "upgrading the master"
"$new/mrmaster" --data "$WORK/master" --backup "$WORK/backup"
: >"$WORK/restarting"
stop master
start master "$new/mrmaster" --replication 2 --block_size 64k
live 3
# ran_on FILE FAILED: waits until the number in FILE, of a run that ended, is at least two higher, or FAILED exists.
ran_on() {
  before=$(cat "$1" 2>/dev/null || echo 0)
  tries=0
  until [ -e "$2" ] || [ "$(cat "$1" 2>/dev/null || echo 0)" -gt $((before + 1)) ]; do
    tries=$((tries + 1)); [ $tries -lt 600 ] || fail "nothing ended after the upgrade ($1)"
    sleep 0.1
  done
}
ran_on "$WORK/short.done" "$WORK/short.failed"
ran_on "$WORK/tables.rounds" "$WORK/tables.failed"
: >"$WORK/upgraded"
wait "$tables"
[ ! -e "$WORK/tables.failed" ] || fail "table job $(cat "$WORK/tables.failed") fails without the reason"
wait "$shorts"
[ ! -e "$WORK/short.failed" ] || fail "short job $(cat "$WORK/short.failed")"
wait "$long" || fail "the long job ended with $?"
say "meanwhile: $(cat "$WORK/short.done") short jobs, $(cat "$WORK/tables.rounds") rounds of table jobs, a long job"
# A client that is upgraded last submits plans of its own release.
for job in $TABLES; do
  run_old_table "$job" "/late_$job" || fail "$job of an old client fails without the reason"
  submit_table "$new/mrctl" "$job" "/again_$job" >"$WORK/table.log" 2>&1 || fail "$job of this build"
  check_table "$job" "/again_$job"
done
while read -r job output; do check_table "$job" "$output"; done <"$WORK/tables.done"
refused=$(wc -l <"$WORK/tables.refused")
say "table jobs of old clients: $(wc -l <"$WORK/tables.done") right, $refused refused with the reason"
"$new/mrctl" fs cat /in | cmp - "$WORK/in" || fail "a file differs"
"$new/mrctl" fs cat /long | cut -f1 | LC_ALL=C sort >"$WORK/long.out"
LC_ALL=C sort "$WORK/in" | cmp - "$WORK/long.out" || fail "the answer of the long job differs"
for n in 1 "$(cat "$WORK/short.done")"; do
  "$new/mrctl" fs cat "/short$n" | LC_ALL=C sort | cmp - "$WORK/expected" || fail "the answer of short job $n differs"
done
"$new/mrctl" jobs -o ndjson >"$WORK/jobs" || fail "mrctl jobs fails"
grep -q '"state":"SUCCEEDED"' "$WORK/jobs" || fail "no job succeeded"
grep -v '"state":"SUCCEEDED"' "$WORK/jobs" >"$WORK/unsuccessful" || true
! grep -v '"name":"\(aggregate\|topk\|join\)"' "$WORK/unsuccessful" || fail "a job did not succeed"
[ "$(wc -l <"$WORK/unsuccessful")" = "$refused" ] || fail "a table job failed that was not refused"
say "upgraded from ${MR_UPGRADE_BIN:-$FROM}: nothing was lost"
