#!/bin/sh
# sh tests/bench/pairs.sh OTHER [PAIRS [BENCH ARGUMENT...]]: compares a benchmark of two builds, OTHER and build/. They
# run in turn, with the same arguments. OTHER is a build directory of another commit. PAIRS: default 40.
#   pairs.sh OTHER 40 spine 1 fair,late,blacklist   jobs of a whole cluster (the default); 0 for 1: short jobs
#   pairs.sh OTHER 100 sched 1 pairs fair,coupling  the scheduler alone, under one list of sched_bench
#   pairs.sh OTHER 12 speed [--scale S] [NAME...]   jobs of speed_bench, each build with a cluster of its own (speed_pairs)
# Prints for each line the median of the ratios (this build's time to the other's) with its 95 % interval, and a
# verdict: "slower" if the whole interval lies above 1.05 (exit 1), "add pairs" if it is wider than .06, which decides
# nothing (exit 3), else "ok". 1.05 is a guess: the layout of the code alone moves short loads by a few percent.
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { echo "usage: $0 OTHER_BUILD [PAIRS [BENCH ARGUMENT...]]" >&2; exit 2; }
other=$1 pairs=${2:-40} bench=${3:-spine}_bench
shift $(($# < 3 ? $# : 3))
[ "$bench" != spine_bench ] || [ $# -gt 0 ] || set -- 1 fair,late,blacklist
needed=$bench
[ "$bench" != speed_bench ] || needed=mrctl
for build in "$other" build; do
  [ -x "$build/bin/$needed" ] || { echo "$build/bin/$needed is missing: ./dev build there first" >&2; exit 2; }
done
lines=$(mktemp)
trap 'rm -f "$lines" "$lines.all"' EXIT
run() { # WHICH BUILD PAIR ARGUMENT...
  which=$1 build=$2 pair=$3
  shift 3
  # It exits with 1 if it misses a target, which does not matter here.
  "$build/bin/$bench" "$@" | sed -n 's/^\(.*[^ ]\)  *\([0-9.]*\) \(ms\|us\|tasks\/s\) .*$/\1\t\2\t\3/p' |
    sed "s/^/$pair\t$which\t/" >>"$lines" || true
}
i=0
if [ "$bench" = speed_bench ]; then
  build/bin/speed_pairs --other "$(cd "$other/bin" && pwd)" --runs "$pairs" "$@" >"$lines.all"
  grep '	ms$' "$lines.all" >"$lines"
  i=$pairs
fi
while [ "$i" -lt "$pairs" ]; do
  if [ $((i % 2)) = 0 ]; then run other "$other" "$i" "$@"; run this build "$i" "$@"
  else run this build "$i" "$@"; run other "$other" "$i" "$@"; fi
  i=$((i + 1))
  printf '\rpairs: %s of %s' "$i" "$pairs" >&2
done
echo >&2
python3 - "$lines" <<'PY'
import collections, math, statistics, sys
seen = collections.defaultdict(lambda: collections.defaultdict(dict))
units = {}
for line in open(sys.argv[1]):
    pair, which, name, value, unit = line.rstrip("\n").split("\t")
    seen[name][pair][which] = float(value)
    units[name] = unit
if not seen:
    sys.exit("no run printed a line: run the benchmark by itself")
def interval(ratios):
    # 95 % interval of the median from order statistics, which needs no distribution of the ratios.
    n, ordered = len(ratios), sorted(ratios)
    below, k = 0.0, 0  # k: the largest with P(Binomial(n, 1/2) < k) <= .025
    while below + math.comb(n, k) / 2**n <= .025:
        below += math.comb(n, k) / 2**n
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k > 0 else (0.0, math.inf)  # fewer than six pairs are not enough

slower = open_lines = False
print("%-58s %6s %12s %12s %10s %15s %s" % ("", "pairs", "other", "this", "this/other", "95 % interval", "verdict"))
for name, pairs in seen.items():
    both = [p for p in pairs.values() if len(p) == 2]
    if not both:
        sys.exit("only one of the builds prints the line '%s'" % name)
    # Turn rates into the time of a task, so that more is slower in each line.
    ratios = [p["this"] / p["other"] if units[name] in ("ms", "us") else p["other"] / p["this"] for p in both]
    low, high = interval(ratios)
    verdict = "slower" if low > 1.05 else "add pairs" if high - low > .06 else "ok"
    slower = slower or verdict == "slower"
    open_lines = open_lines or verdict == "add pairs"
    print("%-58s %6d %9.2f %s %9.2f %s %10.3f %7.3f to %.3f %s" % (
          name, len(both), statistics.median(p["other"] for p in both), units[name],
          statistics.median(p["this"] for p in both), units[name], statistics.median(ratios), low, high, verdict))
sys.exit(1 if slower else 3 if open_lines else 0)
PY
