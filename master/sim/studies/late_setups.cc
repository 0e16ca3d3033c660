#include "master/sim/studies/late_setups.h"

namespace mr::sim {

namespace {

// Two maps and two reduces at a time on each node, Hadoop's default of 2008.
constexpr sched::Slots kSlots{4, 2, 2};
constexpr uint64_t kMebi = uint64_t{1} << 20;
constexpr uint64_t kBlock = 64 * kMebi;
// Endless processes of each kind on a straggler: LATE (OSDI'08) 5, from memory.
constexpr uint32_t kHogs = 4;

// Returns what all runs have in common.
Experiment Plain(const std::string& policies, uint64_t seed) {
  Experiment e;
  e.cluster.racks.push_back({});
  e.policies = policies;
  e.seed = seed;
  e.offer_period = Seconds(3);  // Hadoop's heartbeat
  e.tasks.report_period = Seconds(3);
  e.tasks.report_share = 0;
  return e;
}

// Sets disk bytes per byte. A map reads and writes, and a reduce writes its output to two disks, in one stream like dd.
// All costs of copying are charged to the copy phase: it is the slowest, and the others are quick (LATE 2.2).
void SetDisk(TaskModel* m) {
  m->read_disk = m->map_disk = 1;
  m->copy_disk = 4 * kCopyCost;  // write; read and write to merge; read to reduce
  m->serve_disk = kCopyCost;
  m->output_disk = m->replica_disk = 1;
  m->output_replicas = 2;
}

std::vector<WorkerSpec> Machines(const LoadMix& mix, std::vector<HostSpec>* hosts) {
  std::vector<WorkerSpec> vms;
  for (uint32_t load = 1; load <= mix.hosts.size(); ++load) {
    for (uint32_t n = 0; n < mix.hosts[load - 1]; ++n) {
      WorkerSpec w;
      w.slots = kSlots;
      w.cores = 1;
      w.host = static_cast<uint32_t>(hosts->size());
      hosts->push_back({mix.disk});
      vms.insert(vms.end(), load, w);
    }
  }
  return vms;
}

}  // namespace

std::string LateWith(const std::string& parameters) {
  return parameters.empty() ? "fifo,late" : "fifo,late(" + parameters + ")";
}

LoadMix Ec2Mix(std::vector<uint32_t> hosts, uint32_t stragglers) {
  return {std::move(hosts), {61.8e6, 56.5e6, 53.6e6, 46.4e6, 34.2e6, 25.4e6, 24.8e6}, stragglers};
}

// The disk with three machines is not measured; no host has three.
LoadMix LocalMix(uint32_t stragglers) { return {{5, 3, 0, 1}, {52.1e6, 20.9e6, 15.5e6, 10.1e6}, stragglers}; }

HadoopJob SortJob(uint64_t bytes, uint32_t reduces) {
  const TaskModel usual;
  return {bytes, reduces, 1, 1, usual.sort_cost, usual.sort_cost};  // the costs change nothing
}

HadoopJob GrepJob(uint64_t bytes, uint32_t reduces) { return {bytes, reduces, .2, .2, 5e-7, TaskModel().reduce_cost}; }

HadoopJob WordCountJob(uint64_t bytes, uint32_t reduces) {
  return {bytes, reduces, .05, .05, 1e-6, TaskModel().reduce_cost};
}

Experiment HadoopRun(const LoadMix& mix, const HadoopJob& job, const std::string& policies, uint64_t seed) {
  Experiment e = Plain(policies, seed);
  auto& vms = e.cluster.workers;
  vms = Machines(mix, &e.cluster.hosts);
  Rng rng = Rng::Stream(seed, "virtual machines");
  for (size_t i = vms.size(); i > 1; --i) std::swap(vms[i - 1], vms[rng.Below(i)]);
  for (uint32_t n = 0; n < mix.stragglers; ++n) vms[n].cpu_hogs = vms[n].disk_hogs = kHogs;
  TaskModel& m = e.tasks;
  m.tail = 0;  // slow machines have a cause here
  m.map_cost = job.map_cost;
  m.reduce_cost = job.reduce_cost;
  m.launch_delay = Seconds(3);
  SetDisk(&m);
  const auto of = [&](double share) { return static_cast<uint64_t>(share * static_cast<double>(job.bytes)); };
  const auto maps = static_cast<uint32_t>((job.bytes + kBlock - 1) / kBlock);
  e.jobs = {MapReduce(0, "job", maps, job.bytes, job.reduces, of(job.shuffle), of(job.output))};
  Rng blocks = Rng::Stream(seed, "blocks");  // two replicas per block
  for (uint32_t t = 0; t < maps; ++t) {
    const auto first = static_cast<uint32_t>(blocks.Below(vms.size()));
    const auto second = static_cast<uint32_t>((first + 1 + blocks.Below(vms.size() - 1)) % vms.size());
    e.jobs[0].stages[0].preferred.push_back({first, second});
  }
  return e;
}

Experiment SleepJob(const std::string& policies, uint64_t seed) {
  constexpr uint32_t kNodes = 40, kThrice = 5, kMaps = 80, kReduces = 76;
  constexpr double kMapSeconds = 15, kLongestNap = 1.4;  // 2t with t = 0.7 s
  Experiment e = Plain(policies, seed);
  Rng rng = Rng::Stream(seed, "sleep job nodes");
  for (uint32_t n = 0; n < kNodes; ++n) {
    WorkerSpec w;
    w.slots = kSlots;
    w.speed = n == 0 ? 1.0 / 10 : n <= kThrice ? 1.0 / 3 : rng.Uniform() < .5 ? 1 : 1 / 1.5;
    e.cluster.workers.push_back(w);
  }
  // Bytes only measure progress here.
  e.jobs = {MapReduce(0, "sleep", kMaps, kMaps * kMebi, kReduces, kReduces * kMebi, 0)};
  StageModel& maps = e.jobs[0].stages[0];
  maps.durations = {kMapSeconds};
  maps.same_everywhere = true;
  StageModel& reduces = e.jobs[0].stages[1];
  reduces.naps = 100;
  reduces.longest_nap = kLongestNap;
  return e;
}

}  // namespace mr::sim
