#!/bin/bash
# Tests paceline.sbatch (./dev test --all): a Slurm of three nodes in containers, with munge, and a job by sbatch whose
# answer is compared with coreutils. Needs root, docker and build/.
set -euo pipefail
cd "$(dirname "$0")/../.."
IMAGE=paceline-slurm:bookworm
NETWORK=paceline_slurm
NODES=(paceline-n1 paceline-n2 paceline-n3)
work=$(mktemp -d)

say() { printf '== %s\n' "$*" >&2; }
cleanup() {
  docker rm -fv "${NODES[@]}" >/dev/null 2>&1 || true
  docker network rm "$NETWORK" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
first() { docker exec "${NODES[0]}" "$@"; }

sh docker/base.sh "$IMAGE" slurm-wlm munge procps
mkdir "$work/paceline" "$work/paceline/bin" "$work/paceline/lib"
for b in mrmaster mrworker mrtask mrctl; do strip -o "$work/paceline/bin/$b" "build/bin/$b"; done
strip -o "$work/paceline/lib/libpaceline_jobs.so" build/lib/libpaceline_jobs.so
cp docker/slurm/paceline.sbatch "$work/paceline/"
seq 1 50000 >"$work/paceline/numbers"
cat >"$work/slurm.conf" <<TXT
ClusterName=test
SlurmctldHost=${NODES[0]}
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmUser=root
SlurmdUser=root
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SchedulerType=sched/backfill
SelectType=select/cons_tres
NodeName=paceline-n[1-3] CPUs=2 RealMemory=500 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
TXT
head -c 1024 /dev/urandom >"$work/munge.key"
cat >"$work/answer.sh" <<'TXT'
#!/bin/sh
set -eu
mrctl workers -o json | grep -o '"id"' | wc -l >/root/workers
mrctl fs put /opt/paceline/numbers /numbers
mrctl submit wordcount --input /numbers --output /counts
mrctl fs cat /counts >/root/counts
TXT

docker network rm "$NETWORK" >/dev/null 2>&1 || true
docker network create "$NETWORK" >/dev/null
for node in "${NODES[@]}"; do
  docker run -d --name "$node" --hostname "$node" --network "$NETWORK" --init "$IMAGE" sleep infinity >/dev/null
  docker cp "$work/paceline" "$node:/opt/paceline" >/dev/null
  docker cp "$work/slurm.conf" "$node:/etc/slurm/slurm.conf" >/dev/null
  docker cp "$work/munge.key" "$node:/etc/munge/munge.key" >/dev/null
  docker cp "$work/answer.sh" "$node:/root/answer.sh" >/dev/null
  docker exec "$node" sh -c 'chown munge: /etc/munge/munge.key && chmod 400 /etc/munge/munge.key &&
    mkdir -p /run/munge /var/spool/slurmd /var/spool/slurmctld && chown munge: /run/munge && chmod +x /root/answer.sh &&
    runuser -u munge -- munged'
done
first slurmctld
for node in "${NODES[@]}"; do docker exec "$node" slurmd; done
for ((tries = 0; ; ++tries)); do
  [ "$(first sinfo -h -N -t idle -o %N | wc -l)" -lt 3 ] || break
  [ "$tries" -lt 60 ] || { first sinfo -N -l >&2; say "Slurm has no three nodes within 30 s"; exit 1; }
  sleep 0.5
done
say "a Slurm of three nodes runs; submitting a Paceline cluster"
# shellcheck disable=SC2016
first sh -c 'cd /root && PATH=/opt/paceline/bin:$PATH sbatch --wait --nodes=3 /opt/paceline/paceline.sbatch ./answer.sh' ||
  { first sh -c 'tail -n 30 /root/paceline-*.out' >&2; exit 1; }
[ "$(first cat /root/workers)" = 3 ] || { say "the cluster had no three workers"; exit 1; }
first sort /root/counts | cmp - <(seq 1 50000 | sed 's/$/\t1/' | LC_ALL=C sort) || { say "wrong counts"; exit 1; }
for node in "${NODES[@]}"; do
  for daemon in mrmaster mrworker; do
    if docker exec "$node" pgrep "$daemon"; then say "$daemon is left on $node"; exit 1; fi
  done
  if docker exec "$node" sh -c 'ls -d /tmp/paceline-*' 2>/dev/null; then say "files are left on $node"; exit 1; fi
done
say "the answer equals coreutils, and nothing is left on the nodes"
