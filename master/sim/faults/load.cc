// Resources that attempts share: a worker's cores, its disk or its host's disk, and the foreign load on them.
#include <algorithm>
#include <map>

#include "master/sched/state/state.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

namespace {
// Bytes of one flow of a disk hog: days of virtual time. Then the flow starts again.
constexpr double kForEver = 1e14;
// Period of charging disks for their readers: a few times per heartbeat. A guess.
constexpr Duration kServingPeriod = Seconds(1);
// Largest share of a disk that readers take. A guess; the studies reach 0.8 except in their first second.
constexpr double kMostServed = .9;
}  // namespace

void Simulation::SetUpMachines() {
  const ClusterSpec& cluster = experiment_.cluster;
  hosts_.resize(cluster.hosts.size());
  for (const WorkerSpec& spec : cluster.workers) {
    const auto index = static_cast<uint32_t>(workers_.size());
    Worker w;
    w.disk_rate = spec.host == kNoHost ? spec.disk : cluster.hosts[spec.host].disk.front();
    w.disk = flows_.AddLink(w.disk_rate);
    if (spec.host != kNoHost && !hosts_[spec.host].workers.empty()) {
      const Worker& first = workers_[hosts_[spec.host].workers.front()];
      w.uplink = first.uplink;
      w.downlink = first.downlink;
    } else {
      w.uplink = flows_.AddLink(spec.up);
      w.downlink = flows_.AddLink(spec.down);
    }
    if (spec.host != kNoHost) hosts_[spec.host].workers.push_back(index);
    workers_.push_back(w);
  }
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    const uint32_t hogs = cluster.workers[i].disk_hogs;
    if (hogs > 0) CountBusy(i, true);
    for (uint32_t n = 0; n < hogs; ++n) {
      const Flows::Use use{workers_[i].disk, cluster.workers[i].hog_weight};
      const uint32_t flow = flows_.Start(now_, kForEver, kForEver, {&use, 1});
      if (flow_of_.size() <= flow) flow_of_.resize(flow + 1, kNone);
      hog_of_.resize(flow + 1, kNone);
      hog_of_[flow] = i;
    }
  }
}

void Simulation::RestartHog(uint32_t flow) {
  const uint32_t worker = hog_of_[flow];
  const Flows::Use use{workers_[worker].disk, experiment_.cluster.workers[worker].hog_weight};
  flows_.End(now_, flow);
  flows_.Start(now_, kForEver, kForEver, {&use, 1});  // gets the same number
}

// The limit of its own flow is not known yet. Those of the others change.
void Simulation::Began(Attempt& a) {
  Worker& w = workers_[a.worker];
  if (w.moving++ == 0 && experiment_.cluster.workers[a.worker].disk_hogs == 0) CountBusy(a.worker, true);
  a.computes = !a.timed && a.phase != Phase::kCopy;
  if (!a.computes) return;
  ++w.computing;
  if (experiment_.cluster.workers[a.worker].cores > 0) Relimit(a.worker);
}

void Simulation::Ceased(Attempt& a) {
  Worker& w = workers_[a.worker];
  if (--w.moving == 0 && experiment_.cluster.workers[a.worker].disk_hogs == 0) CountBusy(a.worker, false);
  if (!a.computes) return;
  a.computes = false;
  --w.computing;
  if (experiment_.cluster.workers[a.worker].cores > 0) Relimit(a.worker);
}

void Simulation::CountBusy(uint32_t worker, bool busy) {
  const uint32_t h = experiment_.cluster.workers[worker].host;
  if (h == kNoHost) return;
  Host& host = hosts_[h];
  if (busy)
    ++host.busy;
  else
    --host.busy;
  const std::vector<double>& disk = experiment_.cluster.hosts[h].disk;
  const double each = disk[std::min<size_t>(std::max(1u, host.busy), disk.size()) - 1];
  for (const uint32_t w : host.workers) SetDisk(w, each, workers_[w].served);
}

void Simulation::SetDisk(uint32_t worker, double rate, double served) {
  Worker& w = workers_[worker];
  w.disk_rate = rate;
  w.served = served;
  flows_.SetCapacity(now_, w.disk, rate - std::min(served, kMostServed * rate));
}

// Charges the disks of source workers for their readers, before the attempts that run there. Readers make many small
// reads, and few of these wait for one disk at a time. A reader of a whole stage takes the same from each output.
void Simulation::ChargeSources() {
  queue_.Push(now_ + kServingPeriod, Kind::kServing, 0);
  std::vector<double> served(workers_.size(), 0);
  std::map<std::pair<uint32_t, uint32_t>, double> of_stage;  // keyed by job, stage: bytes per second
  const auto serve = [&](const Stage& stage, uint32_t begin, uint32_t end, double bytes) {
    const double each = bytes * experiment_.tasks.serve_disk / std::max(1u, std::min(stage.readable, end - begin));
    for (uint32_t t = begin; t < end; ++t) {
      if (stage.tasks[t].replicas > 0 && !Cached(stage.tasks[t])) served[stage.tasks[t].worker] += each;
    }
  };
  for (const Worker& w : workers_) {
    for (const uint32_t index : w.attempts) {
      const Attempt& a = attempts_[index];
      const uint32_t job = a.id.task.job.seq - 1;
      if (a.flow == kNone || a.batch == 0 || a.phase != Phase::kCopy || a.timed || jobs_[job].over) continue;
      for (const Slice& slice : scheduler_.state().FindTask(a.id.task)->plan.slices) {
        const uint32_t up = ModelOf(a.id.task).inputs[slice.input].upstream, n = slice.task_end - slice.task_begin;
        const double rate = flows_.rate(a.flow) / a.scale * n / a.needed;
        const Stage& stage = jobs_[job].stages[up];
        if (n == stage.tasks.size())
          of_stage[{job, up}] += rate;
        else
          serve(stage, slice.task_begin, slice.task_end, rate);
      }
    }
  }
  for (const auto& [key, rate] : of_stage) {
    const Stage& stage = jobs_[key.first].stages[key.second];
    serve(stage, 0, static_cast<uint32_t>(stage.tasks.size()), rate);
  }
  for (uint32_t w = 0; w < workers_.size(); ++w) SetDisk(w, workers_[w].disk_rate, served[w]);
}

void Simulation::Relimit(uint32_t worker) {
  for (const uint32_t index : workers_[worker].attempts) {
    Attempt& a = attempts_[index];
    if (a.flow == kNone) continue;
    a.limit = LimitOf(a);
    flows_.SetLimit(now_, a.flow, a.limit * a.scale);
  }
}

// Returns the share of one core. Computing processes share the cores evenly. A process that waits for its disk returns
// nothing.
double Simulation::CoreShare(uint32_t worker) const {
  const WorkerSpec& spec = experiment_.cluster.workers[worker];
  const uint32_t want = workers_[worker].computing + spec.cpu_hogs;
  return spec.cores <= 0 || want == 0 ? 1 : std::min(1.0, spec.cores / want);
}

void Simulation::AddUse(uint32_t link, double share) {
  if (share <= 0) return;
  for (Flows::Use& use : uses_) {
    if (use.link != link) continue;
    use.share += share;
    return;
  }
  uses_.push_back({link, share});
}

// Processes share a disk evenly by the bytes that each moves on it. So a flow that moves more disk bytes than input
// bytes is counted in disk bytes. Returns the disk bytes per byte of input.
double Simulation::DiskScale(const Attempt& a, std::vector<Flows::Use>* uses) const {
  for (const Flows::Use& use : *uses) {
    if (use.link != workers_[a.worker].disk || use.share <= 1) continue;
    const double scale = use.share;
    for (Flows::Use& other : *uses) other.share /= scale;
    return scale;
  }
  return 1;
}

double Simulation::OutputPerByte(const Attempt& a) const {
  const StageModel& model = ModelOf(a.id.task);
  return static_cast<double>(model.output_bytes) / std::max(1.0, static_cast<double>(model.bytes));
}

// Adds what a reduce reads from its disk and writes: to its own disk, and as a stream to each further replica.
void Simulation::AddOutput(const Attempt& a) {
  const TaskModel& m = experiment_.tasks;
  const auto& specs = experiment_.cluster.workers;
  const double out = OutputPerByte(a);
  AddDisk(a, m.reduce_disk + m.output_disk * out);
  Rng rng = Luck(a.id.task, a.id.number, kPlaceLuck);
  for (uint32_t r = 1; r < m.output_replicas && specs.size() > 1 && out > 0; ++r) {
    uint32_t to = static_cast<uint32_t>(rng.Below(specs.size() - 1));
    to += to >= a.worker;
    AddUse(workers_[a.worker].uplink, out);
    AddUse(workers_[to].downlink, out);
    AddUse(workers_[to].disk, m.replica_disk * out);
    const uint32_t from_rack = specs[a.worker].rack, to_rack = specs[to].rack;
    if (from_rack == to_rack) continue;
    if (rack_up_[from_rack] != kNone) AddUse(rack_up_[from_rack], out);
    if (rack_down_[to_rack] != kNone) AddUse(rack_down_[to_rack], out);
  }
}

}  // namespace mr::sim
