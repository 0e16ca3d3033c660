#!/bin/sh
# Builds the fuzzer's targets with clang and runs each for SECONDS (default 60), two at a time.
#   sh tests/fuzz/fuzz.sh [SECONDS] [TARGET...]
# Grown corpora are in build-fuzz/corpus/TARGET, inputs that crash in build-fuzz/crashes. Exits with 1 if there is one.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
targets=${*:-entry messages packets credentials job_files times expressions}

[ -f build-fuzz/build.ninja ] || cmake -S . -B build-fuzz -G Ninja -DMR_FUZZ=ON -DMR_SANITIZE=address \
  -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ >/dev/null
# shellcheck disable=SC2046
cmake --build build-fuzz --target $(printf 'fuzz_%s ' $targets)
mkdir -p build-fuzz/crashes

# fuzz TARGET: what it has found before and the committed corpus are its start.
fuzz() {
  grown=build-fuzz/corpus/$1
  mkdir -p "$grown"
  build-fuzz/bin/fuzz_"$1" --write-seeds "$grown"
  kept=tests/fuzz/corpus/$1
  [ -d "$kept" ] || kept=
  # -max_len: above it a mutation costs more than it finds. -timeout: of one input, in seconds.
  # shellcheck disable=SC2086
  build-fuzz/bin/fuzz_"$1" "$grown" $kept -artifact_prefix=build-fuzz/crashes/"$1"- -max_total_time="$seconds" \
    -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=1 >build-fuzz/"$1".log 2>&1
}

failed=
set -- $targets
while [ $# -gt 0 ]; do
  first=$1 second=${2:-}
  shift
  [ $# -gt 0 ] && shift
  fuzz "$first" &
  pid=$!
  if [ -n "$second" ]; then fuzz "$second" || failed="$failed $second"; fi
  wait $pid || failed="$failed $first"
  for target in $first $second; do
    printf '%s: ' "$target"
    sed -n 's/^stat::number_of_executed_units: *\(.*\)/\1 inputs/p' build-fuzz/"$target".log
  done
done
for target in $failed; do
  echo "== $target failed:" >&2
  tail -n 40 build-fuzz/"$target".log >&2
done
[ -z "$failed" ] || exit 1
