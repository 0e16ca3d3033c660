#!/bin/sh
# Tests the packages (./dev test --all): lintian; then two containers with systemd, a master and two workers, through
# installation, a job at tier 2, an upgrade from a lower version with the history kept, removal and purge. Needs root.
set -eu
cd "$(dirname "$0")/../.."
IMAGE=paceline-systemd:bookworm
NETWORK=paceline_packages
FIRST=paceline-package-a SECOND=paceline-package-b  # the first one has the master and a worker
work=$(mktemp -d)

say() { printf '== %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
in_first() { docker exec "$FIRST" "$@"; }
in_second() { docker exec "$SECOND" "$@"; }
cleanup() {
  docker rm -fv "$FIRST" "$SECOND" >/dev/null 2>&1 || true
  docker network rm "$NETWORK" >/dev/null 2>&1 || true
  rm -rf "$work"
}
finish() {
  code=$?
  [ "$code" = 0 ] || for c in "$FIRST" "$SECOND"; do docker exec "$c" journalctl --no-pager -n 40 -u 'paceline-*' >&2 || true; done
  cleanup
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

# await SECONDS WHAT COMMAND...: repeats the command until it succeeds.
await() {
  tries=$(($1 * 5)); what=$2; shift 2
  until "$@" >"$work/out" 2>&1; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || { cat "$work/out" >&2; fail "not in time: $what"; }
    sleep 0.2
  done
}

# Starts a machine with systemd. It has the rights of a container host's machine, as far as this host gives them.
machine() {
  docker run -d --name "$1" --hostname "$1" --network "$NETWORK" --cap-add SYS_ADMIN --security-opt seccomp=unconfined \
    --security-opt apparmor=unconfined --tmpfs /run --tmpfs /run/lock -v /sys/fs/cgroup:/sys/fs/cgroup:rw \
    --cgroupns=host -e container=docker "$IMAGE" /lib/systemd/systemd >/dev/null
  await 30 "systemd in $1" docker exec "$1" sh -c 'systemctl is-system-running | grep -qE "running|degraded"'
}
packages() { # CONTAINER DIRECTORY NAME...
  container=$1; directory=$2; shift 2
  for name in "$@"; do docker cp "$directory"/paceline-"$name"_*.deb "$container:/root/" >/dev/null; done
}
mrctl() { in_first env MR_TOKEN_FILE=/root/admin.token mrctl --master "$FIRST:7070" "$@"; }
active() { docker exec "$1" systemctl is-active --quiet "$2"; }
workers() { [ "$(mrctl workers -o json | tr ',' '\n' | grep -c '"state": *"live"')" = "$1" ]; }

say "making the packages, and those of a lower version"
./dev package >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
./dev package --version 0.1.0 --directory "$work/old" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
say "lintian"
lintian --fail-on error,warning --tag-display-limit 0 build/packages/*.deb

docker network rm "$NETWORK" >/dev/null 2>&1 || true
sh docker/base.sh "$IMAGE" systemd systemd-sysv dbus procps
docker network create "$NETWORK" >/dev/null
machine "$FIRST"
machine "$SECOND"

say "installing the lower version"
packages "$FIRST" "$work/old" client master worker dev
packages "$SECOND" "$work/old" client worker
in_first sh -c 'dpkg -i /root/*.deb' >"$work/install" 2>&1 || { cat "$work/install" >&2; exit 1; }
in_second sh -c 'dpkg -i /root/*.deb' >"$work/install2" 2>&1 || { cat "$work/install2" >&2; exit 1; }
grep -q "paceline-master: not started" "$work/install" || fail "the installation does not say why the master does not run"
if active "$FIRST" paceline-master; then fail "the master was started without a cluster"; fi
[ "$(in_first stat -c '%U %a' /var/lib/paceline/master)" = "paceline-master 700" ] || fail "the data of the master"
in_first sh -c 'test -s /usr/share/bash-completion/completions/mrctl && test -s /usr/share/man/man1/mrmaster.1.gz' ||
  fail "completion or man pages are missing"

say "starting a master and two workers"
in_first runuser -u paceline-master -- mrctl cluster init --data /var/lib/paceline/master --address "$FIRST:7070" \
  --subject root --out /var/lib/paceline/master/admin.token >/dev/null
in_first install -m 600 /var/lib/paceline/master/admin.token /root/admin.token
in_first systemctl enable --now paceline-master
active "$FIRST" paceline-master || fail "the master does not run"
in_first install -o paceline-worker -m 600 /var/lib/paceline/master/join /var/lib/paceline/worker/join
in_first systemctl enable --now paceline-worker
in_first runuser -u paceline-master -- mrctl token create --data /var/lib/paceline/master \
  --join /var/lib/paceline/master/second.join >/dev/null
in_first cat /var/lib/paceline/master/second.join >"$work/join"
docker cp "$work/join" "$SECOND:/var/lib/paceline/worker/join" >/dev/null
in_second chown paceline-worker /var/lib/paceline/worker/join
in_second chmod 600 /var/lib/paceline/worker/join
in_second systemctl enable --now paceline-worker
await 30 "two workers" workers 2
in_first mrctl --master unix:/run/paceline-master/rpc jobs >/dev/null || fail "root has no access by the unix socket"

say "a job, whose tasks have users of their own"
mrctl workers -o json >"$work/workers"
[ "$(grep -o '"tier": *2' "$work/workers" | wc -l)" = 2 ] || fail "not both workers offer tier 2: $(cat "$work/workers")"
in_first sh -c 'seq 1 100000 >/root/numbers'
mrctl fs put /root/numbers /numbers
mrctl submit stream --map 'cat >/dev/null; id -u' --input /numbers --output /users >/dev/null
user=$(mrctl fs cat /users | head -n 1)
if [ "$user" -lt 1879050000 ] || [ "$user" -gt 1879059999 ]; then fail "a task ran as the user $user"; fi
mrctl submit wordcount --input /numbers --output /counts >/dev/null
mrctl jobs -o json >"$work/jobs"

say "a worker that stands still is started again"
in_second mkdir -p /run/systemd/system/paceline-worker.service.d
in_second sh -c 'printf "[Service]\nWatchdogSec=2s\n" >/run/systemd/system/paceline-worker.service.d/test.conf'
in_second systemctl daemon-reload
in_second systemctl restart paceline-worker
await 30 "two workers" workers 2
before=$(in_second systemctl show -P MainPID paceline-worker)
in_second kill -STOP "$before"
restarted() { now=$(in_second systemctl show -P MainPID paceline-worker) && [ "$now" != 0 ] && [ "$now" != "$before" ]; }
await 30 "a restart by the watchdog" restarted
await 30 "two workers" workers 2

say "upgrading"
for container in "$FIRST" "$SECOND"; do docker exec "$container" sh -c 'rm /root/*.deb'; done
in_first sh -c 'echo "--replication=2" >>/etc/mr/master.flags'
packages "$FIRST" build/packages client master worker dev
packages "$SECOND" build/packages client worker
old=$(in_first systemctl show -P MainPID paceline-master)
for container in "$FIRST" "$SECOND"; do
  docker exec "$container" sh -c 'DEBIAN_FRONTEND=noninteractive dpkg -i /root/*.deb' >"$work/upgrade" 2>&1 ||
    { cat "$work/upgrade" >&2; exit 1; }
done
for service in "$FIRST paceline-master" "$FIRST paceline-worker" "$SECOND paceline-worker"; do
  # shellcheck disable=SC2086
  active $service || fail "not running after the upgrade: $service"
done
[ "$(in_first systemctl show -P MainPID paceline-master)" != "$old" ] || fail "the upgrade did not restart the master"
in_first grep -q '^--replication=2' /etc/mr/master.flags || fail "the upgrade changed the configuration"
await 30 "two workers after the upgrade" workers 2
mrctl jobs -o json >"$work/jobs_after"
grep -o 'job_[0-9]*_[0-9]*' "$work/jobs" | sort -u | while read -r id; do
  grep -q "$id" "$work/jobs_after" || { say "the job $id is gone after the upgrade"; exit 1; }
done
[ "$(mrctl fs cat /counts | wc -l)" = 100000 ] || fail "the output of a job is gone after the upgrade"
mrctl submit wordcount --input /numbers --output /again >/dev/null

say "removing and purging"
in_first dpkg -r paceline-master paceline-worker >"$work/remove" 2>&1 || { cat "$work/remove" >&2; exit 1; }
if active "$FIRST" paceline-master; then fail "a removed service runs on"; fi
if in_first pgrep -x mrmaster; then fail "the master runs on after its removal"; fi
if in_first test -e /etc/systemd/system/multi-user.target.wants/paceline-master.service; then fail "a link is left"; fi
in_first test -s /etc/mr/master.flags || fail "the removal took the configuration"
in_first dpkg -P paceline-master paceline-worker paceline-dev paceline-client >"$work/purge" 2>&1 ||
  { cat "$work/purge" >&2; exit 1; }
grep -q "its data stay in /var/lib/paceline/master" "$work/purge" || fail "the purge does not say that data stay"
in_first test -d /var/lib/paceline/master/journal || fail "the purge took the data"
if in_first test -e /etc/mr; then fail "the purge left the configuration"; fi
say "the packages install, run at tier 2, upgrade, remove and purge"
