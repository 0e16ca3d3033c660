#!/bin/sh
# Runs ./dev demo and ./dev test on a Debian 12 that has nothing: a debootstrapped root with a fresh clone. Prints how
# long each takes. Shows that no install step hides on a developer's machine. Needs root.
set -eu
cd "$(dirname "$0")/.."
command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
ROOT=$(mktemp -d /var/tmp/paceline-bare.XXXXXX)
cleanup() {
  for m in dev/pts dev/shm dev proc sys; do umount "$ROOT/$m" 2>/dev/null || true; done
  rm -rf --one-file-system "$ROOT"
}
trap cleanup EXIT INT TERM
debootstrap --variant=minbase bookworm "$ROOT" >"$ROOT.log" 2>&1 || { tail -n 20 "$ROOT.log" >&2; exit 1; }
rm -f "$ROOT.log"
cp /etc/resolv.conf "$ROOT/etc/resolv.conf" 2>/dev/null || true
cp -r /etc/apt/apt.conf.d/. "$ROOT/etc/apt/apt.conf.d/" 2>/dev/null || true
mount -t proc proc "$ROOT/proc"; mount -t sysfs sys "$ROOT/sys"
mount --bind /dev "$ROOT/dev"; mount --bind /dev/pts "$ROOT/dev/pts"; mount -t tmpfs shm "$ROOT/dev/shm"
git clone -q . "$ROOT/srv/paceline"  # not below /root, which others may not enter
chroot "$ROOT" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  sh -c 'cd /srv/paceline
    timed() {
      begin=$(date +%s)
      "$@" || exit
      echo "== $*: $(($(date +%s) - begin)) s on a bare machine with $(nproc) cores"
    }
    timed ./dev demo; timed ./dev test'
