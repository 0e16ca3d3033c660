#!/bin/sh
# ./dev test --all: everything, in about an hour and a quarter on two cores. Each part can be named alone:
#   sh tests/all.sh [tests] [asan] [tsan] [faults] [cluster] [packages] [slurm] [kubernetes] [bare] [upgrade] [planted]
#     [page] [docs] [fuzz] [lint]
# and what CI can afford of the sanitizers and the fuzzer, which builds a few tests only: sh tests/all.sh core fuzz
# FUZZ_SECONDS: time per target of the fuzzer (default 60).
set -eu
cd "$(dirname "$0")/.."
PARTS=${*:-tests asan tsan faults cluster packages slurm kubernetes bare upgrade planted page docs fuzz lint}

# Under address sanitizer in CI: what decides, what is journaled, what is read from the wire or a disk.
CORE="common_test dfs_namespace_test journal_test sched_cloned_commits_test sched_determinism_test sched_parts_test
  sched_scenario_test sched_share_test"
# Under thread sanitizer: those with the label `threads`.
THREADS="exec_test journal_test kj_thread_test master_loop_test service_manager_test"

say() { printf '== %s\n' "$*" >&2; }
in_build() { dir=$1; shift; (cd "$dir" && ctest --output-on-failure --no-tests=error "$@"); }
# build DIRECTORY address|thread TARGET...
build() {
  dir=$1; sanitizer=$2; shift 2
  cmake -S . -B "$dir" -G Ninja -DMR_SANITIZE="$sanitizer" >/dev/null && cmake --build "$dir" --target "$@"
}
asan() {
  # handle_segv=0: a user's operator that crashes dies of its signal, as it does in a cluster.
  ASAN_OPTIONS=detect_leaks=1:handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0 in_build build-asan "$@"
}
tsan() {
  # Address randomisation off: the run-time of gcc 12 cannot map its shadow on newer kernels. Some containers
  # forbid that.
  fixed="setarch -R"
  $fixed true 2>/dev/null || fixed=""
  known=$PWD/tests/tsan.supp
  (cd build-tsan && TSAN_OPTIONS="halt_on_error=1:suppressions=$known" $fixed \
    ctest --output-on-failure --no-tests=error -L threads)
}

case " $PARTS " in " core " | " fuzz " | " core fuzz ") ;; *) ./dev build; ./dev promtool ;; esac
for part in $PARTS; do
  say "$part"
  case "$part" in
    tests) MR_RANDOM_TABLES=10000 in_build build -L 'fast|slow|long' ;;
    lint) ./dev lint format; ./dev lint alone --all; ./dev lint tidy --all ;;
    # shellcheck disable=SC2086
    core)
      build build-asan address $CORE
      # What runs each history twice says nothing more here.
      (export GTEST_FILTER='-DeterminismTest.*'; asan -j2 -R "^($(echo $CORE | tr ' ' '|'))\$")
      build build-tsan thread $THREADS
      tsan ;;
    asan)
      build build-asan address all
      asan -L 'fast|slow|long' ;;
    # shellcheck disable=SC2086
    tsan)
      build build-tsan thread $THREADS
      tsan ;;
    faults) MR_LONG=1 in_build build -L 'faults' --timeout 3600 ;;
    cluster) sh docker/cluster.sh ;;
    packages) sh docker/package/test.sh ;;
    slurm) bash docker/slurm/test.sh ;;
    kubernetes) sh docker/kubernetes/test.sh ;;
    bare) sh tests/bare.sh ;;
    upgrade) sh tests/upgrade.sh ;;
    planted) sh tests/planted.sh ;;
    page) ./dev page ;;
    docs) ./dev docs ;;
    fuzz) ./dev fuzz "${FUZZ_SECONDS:-60}" ;;
    *) echo "unknown part $part" >&2; exit 2 ;;
  esac
done
say "all parts passed: $PARTS"
