#!/bin/sh
# ./dev bench [NAME...]: runs benchmarks. Each measures its limit or peer in the same run.
set -eu
cd "$(dirname "$0")/../.."
status=0
for name in ${*:-spine}; do
  binary=build/bin/${name}_bench
  [ -x "$binary" ] || { echo "no benchmark '$name'; there are: $(ls build/bin | sed -n 's/_bench$//p' | tr '\n' ' ')" >&2; exit 2; }
  echo "== $name, commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), $(nproc) cores" >&2
  "$binary" || status=1
done
exit $status
