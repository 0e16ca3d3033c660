#!/bin/sh
# ./dev test --all: everything, in about an hour on two cores. Each part can be named alone:
#   sh tests/all.sh [tests] [asan] [tsan] [faults] [cluster] [bare]
set -eu
cd "$(dirname "$0")/.."
PARTS=${*:-tests asan tsan faults cluster bare}

say() { printf '== %s\n' "$*" >&2; }
in_build() { dir=$1; shift; (cd "$dir" && ctest --output-on-failure --no-tests=error "$@"); }

./dev build
for part in $PARTS; do
  say "$part"
  case "$part" in
    tests) in_build build -L 'fast|slow' ;;
    asan)
      cmake -S . -B build-asan -G Ninja -DMR_SANITIZE=address >/dev/null && cmake --build build-asan
      # handle_segv=0: a user's operator that crashes dies of its signal, as it does in a cluster.
      ASAN_OPTIONS=detect_leaks=1:handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0 in_build build-asan -L 'fast|slow' ;;
    tsan)
      cmake -S . -B build-tsan -G Ninja -DMR_SANITIZE=thread >/dev/null && cmake --build build-tsan
      # Address randomisation off: the run-time of gcc 12 cannot map its shadow on newer kernels.
      TSAN_OPTIONS=halt_on_error=1 \
        setarch -R sh -c 'cd build-tsan && ctest --output-on-failure --no-tests=error -L threads' ;;
    faults) MR_LONG=1 in_build build -L 'faults' --timeout 3600 ;;
    cluster) sh docker/cluster.sh ;;
    bare) sh tests/bare.sh ;;
    *) echo "unknown part $part" >&2; exit 2 ;;
  esac
done
say "all parts passed: $PARTS"
