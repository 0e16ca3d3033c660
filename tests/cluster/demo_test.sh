#!/bin/sh
# The demo shows an attempt that overtook a slow one, and fails where there is none.
#   BIN=DIR   where the binaries are
#   WORK=DIR  for its output
set -eu
cd "$(dirname "$0")"
fail() { printf 'demo_test: %s; the demo printed:\n' "$1" >&2; cat "$WORK/demo.out" >&2; exit 1; }

rm -f "$WORK/demo.html"
REPORT=$WORK/demo.html sh demo.sh >"$WORK/demo.out" 2>&1 || fail "it ended with $?"
won=$(awk '/^attempt_/ && $2 == "committed" && $3 != "first" && $3 != "retry" { print $1; exit }' "$WORK/demo.out")
[ -n "$won" ] || fail "no other attempt won"
grep -q "^at .*: launched $won on w[1-3]: [a-z]" "$WORK/demo.out" || fail "it did not say why $won was launched"
grep -q "^$WORK/demo.html\$" "$WORK/demo.out" || fail "it did not print where the report is"
grep -q "$won" "$WORK/demo.html" || fail "the report does not have $won"

rm -f "$WORK/demo.html"
if REPORT=$WORK/demo.html SLOW=0.2 MASTER_FLAGS='--scheduler fair' sh demo.sh >"$WORK/demo.out" 2>&1; then
  fail "it ended with 0 although no attempt could overtake another one"
fi
grep -q 'no other attempt won in job_' "$WORK/demo.out" || fail "it did not say that none won"
[ ! -e "$WORK/demo.html" ] || fail "it wrote a report of no story"
