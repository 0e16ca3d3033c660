#!/bin/sh
# ./dev demo: one master and three workers on loopback, a real text in the block store with three
# replicas, word count and its commonest words as one DAG, and what each stage took. Then a slow worker
# joins, and a second job shows which attempts overtake those on it, why, and what it cost. Fails if none
# does. Nothing is left behind but the report, however it ends.
#   BIN=DIR             where the binaries are (build/bin)
#   REPORT=FILE         the report of the second job (BIN/../demo.html)
#   SLOW=SECONDS        the pause of a slow map at each of its five steps (3); others pause 0.2 s
#   MASTER_FLAGS=FLAGS  more flags of mrmaster, such as --scheduler fair
set -eu
cd "$(dirname "$0")/../.."
BIN=${BIN:-build/bin}
case $BIN in /*) ;; *) BIN=$PWD/$BIN ;; esac
WORKERS=3
REPORT=${REPORT:-$(dirname "$BIN")/demo.html}
SLOW=${SLOW:-3}

dir=$(mktemp -d "${TMPDIR:-/tmp}/paceline-demo.XXXXXX")
pids=""

finish() {
  trap - EXIT
  # The lifeline: its end stops each daemon at once.
  exec 9>&-
  for pid in $pids; do kill "$pid" 2>/dev/null || true; done
  for pid in $pids; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { printf '\n== %s\n' "$*"; }
die() {
  printf 'demo: %s\n' "$1" >&2
  [ -z "${2:-}" ] || tail -n 20 "$2" >&2
  exit 1
}

command -v bible >/dev/null || die "the bible command is missing: apt-get install bible-kjv"
for binary in mrmaster mrworker mrctl mrtask; do
  [ -x "$BIN/$binary" ] || die "$BIN/$binary is missing: ./dev build"
done

# A pipe nobody writes to: the daemons hold its read end, this script its only write end (9).
mkfifo "$dir/lifeline"
exec 8<>"$dir/lifeline"
exec 9>"$dir/lifeline"

# start NAME PROGRAM FLAGS...: in the background; $rpc and $http are its ports.
start() {
  name=$1; program=$2; shift 2
  mkfifo "$dir/$name.ready"
  "$BIN/$program" --data "$dir/$name" --port 0 --http_port 0 --ready_fd 7 --lifeline_fd 6 --ephemeral "$@" \
    7>"$dir/$name.ready" 6<"$dir/lifeline" 8<&- 9>&- >"$dir/$name.log" 2>&1 &
  pids="$pids $!"
  read -r word rpc http <"$dir/$name.ready" || word=""
  [ "$word" = ready ] || die "$name did not come up; its log ends:" "$dir/$name.log"
}

say "starting one master and $WORKERS workers on loopback"
# shellcheck disable=SC2086
start master mrmaster ${MASTER_FLAGS:-}
MR_MASTER=127.0.0.1:$rpc
export MR_MASTER
i=1
while [ "$i" -le "$WORKERS" ]; do
  start "worker-$i" mrworker --master "$MR_MASTER" --slots 2
  i=$((i + 1))
done
# The daemons have their own; this one would keep the lifeline readable after 9 is closed.
exec 8<&-
"$BIN/mrctl" workers

say "the King James Bible into the block store, three replicas of each block"
bible -f gen1:1-rev22:21 >"$dir/kjv.txt"
"$BIN/mrctl" fs put --replication 3 "$dir/kjv.txt" /kjv.txt
"$BIN/mrctl" fs ls /

say "word count and its commonest words, as one DAG"
"$BIN/mrctl" submit topwords --input /kjv.txt --output /top --reduces 3 --conf max_split_bytes=1m | tee "$dir/submitted"
job=$(cut -d' ' -f1 "$dir/submitted")

say "the twenty commonest words"
"$BIN/mrctl" fs getmerge /top -

say "what each stage took"
"$BIN/mrctl" job stages "$job"

say "a slow worker joins, and a job of eight maps: a map pauses five times, $SLOW s each time there and 0.2 s elsewhere"
# Operators see the labels of their worker as MR_LABEL_*.
start slow mrworker --master "$MR_MASTER" --slots 2 --label "nap=$SLOW"
"$BIN/mrctl" workers
"$BIN/mrctl" submit stream --map 'for step in 1 2 3 4 5; do head -c 110000; sleep ${MR_LABEL_NAP:-0.2}; done; cat' \
  --reduce 'wc -l' --reduces 1 --input /kjv.txt --output /lines --conf max_split_bytes=538k | tee "$dir/submitted"
slow_job=$(cut -d' ' -f1 "$dir/submitted")
"$BIN/mrctl" job attempts "$slow_job" | tee "$dir/attempts"

say "what overtook the slow attempts, and why"
won=$(awk '$2 == "committed" && $3 != "first" && $3 != "retry" { print $1; exit }' "$dir/attempts")
[ -n "$won" ] || die "no other attempt won in $slow_job: each task was committed by its first attempt, as listed above"
"$BIN/mrctl" why "$won"

say "where the time of the job went, what was done about it, what would help"
"$BIN/mrctl" why "$slow_job"

say "the same as a page: open it in a browser"
"$BIN/mrctl" report "$slow_job" >"$dir/report.html"
mv "$dir/report.html" "$REPORT"
echo "$REPORT"

say "where to look next"
cat <<TXT
  mrctl submit --local wordcount --input README.md    the same engine, no set-up
  mrctl submit --report FILE ...                      the page of any job, also with --local
  mrctl explain topwords --input /kjv.txt             the plan of a job before it runs
  mrctl job show|tasks|attempts|counters $job   what happened, on a cluster that stays
  mrctl why $job                                the scheduler's reasons, with their numbers
  mrctl page                                          a link to the pages of a running master
  ./dev build                                         builds the simulator (mrctl whatif) and the tests
  jobs/builtin/topwords.cc, jobs/sdk/paceline         the job above, and how to write one
TXT
