#!/bin/sh
# sh tests/bench/pairs.sh OTHER [PAIRS [LIST]]: the spine's benchmarks of the build in OTHER and of the one in build/, in
# turn, each 20 times under the same list of policies, and the medians of each line's ratios, this build's to the
# other's: what a change costs that should cost nothing. OTHER is a build directory of another commit.
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] && [ -x "$1/bin/spine_bench" ] || { echo "usage: $0 OTHER_BUILD [PAIRS [LIST]]; ./dev build there first" >&2; exit 2; }
other=$1 pairs=${2:-20} list=${3:-fair,late,blacklist}
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
run() { # WHICH BUILD PAIR
  # It exits with 1 where it misses a target, which is not the question here.
  "$2/bin/spine_bench" 1 "$list" | sed -n 's/^\(.*[^ ]\)  *\([0-9.]*\) \(ms\|tasks\/s\) .*$/\1\t\2\t\3/p' | sed "s/^/$3\t$1\t/" >>"$lines" || true
}
i=0
while [ "$i" -lt "$pairs" ]; do
  if [ $((i % 2)) = 0 ]; then run other "$other" "$i"; run this build "$i"; else run this build "$i"; run other "$other" "$i"; fi
  i=$((i + 1))
  printf '\rpairs: %s of %s' "$i" "$pairs" >&2
done
echo >&2
python3 - "$lines" <<'PY'
import collections, statistics, sys
seen = collections.defaultdict(lambda: collections.defaultdict(dict))
units = {}
for line in open(sys.argv[1]):
    pair, which, name, value, unit = line.rstrip("\n").split("\t")
    seen[name][pair][which] = float(value)
    units[name] = unit
if not seen:
    sys.exit("no run printed a line: see what spine_bench says by itself")
print("%-58s %6s %12s %12s %9s" % ("", "pairs", "other", "this", "this/other"))
for name, pairs in seen.items():
    both = [p for p in pairs.values() if len(p) == 2]
    # Of rates the time of a task, so that more is slower in each line.
    ratios = [p["this"] / p["other"] if units[name] == "ms" else p["other"] / p["this"] for p in both]
    print("%-58s %6d %9.1f %s %9.1f %s %9.3f" % (name, len(both), statistics.median(p["other"] for p in both), units[name],
          statistics.median(p["this"] for p in both), units[name], statistics.median(ratios)))
PY
