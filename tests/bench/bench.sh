#!/bin/sh
# ./dev bench [NAME...]: runs benchmarks. Each measures its limit or peer in the same run. With BENCH_DOCS=1 the rows of
# each also replace its table in docs/benchmarks.md.
set -eu
cd "$(dirname "$0")/../.."
status=0
for name in ${*:-spine}; do
  binary=build/bin/${name}_bench
  [ -x "$binary" ] || { echo "no benchmark '$name'; there are: $(ls build/bin | sed -n 's/_bench$//p' | tr '\n' ' ')" >&2; exit 2; }
  echo "== $name, commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), $(nproc) cores" >&2
  if [ "${BENCH_DOCS:-}" = 1 ]; then
    "$binary" >"build/$name.bench" || status=1
    cat "build/$name.bench"
    python3 docs/tables.py bench docs/benchmarks.md "$name" "build/$name.bench" || echo "$name prints no rows" >&2
  else
    "$binary" || status=1
  fi
done
exit $status
