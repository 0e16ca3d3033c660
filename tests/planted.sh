#!/bin/sh
# Plants each bug of tests/planted in a scratch copy of the tree, and fails unless the swarm over the whole master finds
# it within ten minutes of CPU time. Without a bug it must find nothing. All in build-planted, about a minute per bug:
#   sh tests/planted.sh [NUMBER...]
set -eu
cd "$(dirname "$0")/.."
SECONDS_EACH=600
WORLDS=1000       # without a bug
MOST=10000000     # with one: as many as the time allows
here=$PWD/build-planted

say() { printf '== %s\n' "$*" >&2; }
# With the times of the files, so that a second run compiles only what changed: files that a patch changes are new, since
# the last run may have compiled them with the bug.
copy() {
  rm -rf "$here/tree"; mkdir -p "$here/tree"
  git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T - 2>/dev/null |
    tar -x -C "$here/tree"
  sed -n 's/^--- a\///p' "$PWD"/tests/planted/*.patch | sort -u | (cd "$here/tree" && xargs touch)
}
build() {
  [ -f "$here/build/build.ninja" ] || cmake -S "$here/tree" -B "$here/build" -G Ninja >/dev/null
  cmake --build "$here/build" --target mrsim >"$here/build.log" 2>&1 || { tail -n 40 "$here/build.log" >&2; exit 1; }
}
swarm() { (ulimit -t "$SECONDS_EACH"; exec "$here/build/bin/mrsim" swarm --master --first --no-progress "$@"); }
# Outside any repository, or git would leave out what lies in an ignored directory.
patched() { (cd "$here/tree" && GIT_CEILING_DIRECTORIES=$here git apply "$@"); }

copy
build
say "no bug: $WORLDS worlds"
swarm --count "$WORLDS"
missed=""
for patch in "$PWD"/tests/planted/*.patch; do
  name=$(basename "$patch" .patch)
  number=${name%%-*}
  [ $# -eq 0 ] || case " $* " in *" $number "*) ;; *) continue ;; esac
  patched "$patch"
  build
  status=0
  swarm --count "$MOST" >"$here/$name.log" 2>&1 || status=$?
  patched -R "$patch"
  # 1: an invariant is broken; 134: a check in the master itself ended it.
  case $status in
    1 | 134) say "$name: found. $(sed -n 's/^.*# //p;/check failed/p' "$here/$name.log" | head -n 1)" ;;
    *) say "$name: NOT FOUND (exit code $status, $here/$name.log)"; missed="$missed $name" ;;
  esac
done
[ -z "$missed" ] || { say "not found:$missed"; exit 1; }
