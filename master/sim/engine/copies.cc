// Simulates how a reader copies its inputs. A reader of few outputs, and one that is bound to replicas, has a list of
// its reads (listed_reads.cc). All others count outputs, and read what is new as one flow (adr/0001).
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "master/sched/state/state.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

namespace {
// A waiting reader of many outputs continues when one kBatches-th of them is new, or all of them are there.
constexpr uint32_t kBatches = 20;
}  // namespace

// Finds the route of the outputs that it reads, as one flow: the shares of its bytes by rack and, of edges with few
// sources, by worker.
void Simulation::CopyRoute(Attempt& a) {
  const auto& specs = experiment_.cluster.workers;
  const StageModel& model = ModelOf(a.id.task);
  const Job& job = jobs_[a.id.task.job.seq - 1];
  std::vector<double> by_rack(experiment_.cluster.racks.size(), 0);
  std::map<uint32_t, double> by_worker;
  double all = 0, from_disk = 0;  // from_disk: local outputs that are not in memory
  for (const Slice& slice : scheduler_.state().FindTask(a.id.task)->plan.slices) {
    const Stage& up = job.stages[model.inputs[slice.input].upstream];
    if (slice.task_end - slice.task_begin > kFewSources) {
      all += up.readable;
      for (size_t r = 0; r < by_rack.size(); ++r) by_rack[r] += up.by_rack[r];
      continue;
    }
    for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) {
      if (up.tasks[t].replicas == 0) continue;
      all += 1;
      by_rack[specs[up.tasks[t].worker].rack] += 1;
      by_worker[up.tasks[t].worker] += 1;
      from_disk += up.tasks[t].worker == a.worker && !Cached(up.tasks[t]);
    }
  }
  if (all > 0) AddSources(a, by_worker, by_rack, all, from_disk);
}

void Simulation::AddSources(Attempt& a, const std::map<uint32_t, double>& by_worker, const std::vector<double>& by_rack,
                            double all, double from_disk) {
  const uint32_t rack = experiment_.cluster.workers[a.worker].rack;
  const auto here = by_worker.find(a.worker);
  a.local = here == by_worker.end() ? 0 : here->second / all;
  if (from_disk > 0) AddUse(workers_[a.worker].disk, from_disk / all);
  if (a.local < 1) AddUse(workers_[a.worker].downlink, 1 - a.local);
  for (const auto& [w, n] : by_worker) {
    if (w != a.worker) AddUse(workers_[w].uplink, n / all);
  }
  for (uint32_t r = 0; r < by_rack.size(); ++r) {
    if (r == rack || by_rack[r] <= 0) continue;
    a.cross += by_rack[r] / all;
    if (rack_up_[r] != kNone) AddUse(rack_up_[r], by_rack[r] / all);
  }
  if (a.cross > 0 && rack_down_[rack] != kNone) AddUse(rack_down_[rack], a.cross);
}

uint32_t Simulation::Sources(const Attempt& a) const {
  std::set<std::pair<uint32_t, uint32_t>> outputs;
  for (const Slice& slice : scheduler_.state().FindTask(a.id.task)->plan.slices) {
    const uint32_t s = ModelOf(a.id.task).inputs[slice.input].upstream;
    for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) outputs.emplace(s, t);
  }
  return static_cast<uint32_t>(outputs.size());
}

uint32_t Simulation::Available(const Attempt& a) const {
  const StageModel& model = ModelOf(a.id.task);
  const Job& job = jobs_[a.id.task.job.seq - 1];
  uint32_t n = 0;
  for (const Slice& slice : scheduler_.state().FindTask(a.id.task)->plan.slices) {
    const Stage& up = job.stages[model.inputs[slice.input].upstream];
    if (slice.task_begin == 0 && slice.task_end == up.tasks.size()) {
      n += up.readable;
      continue;
    }
    for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) n += up.tasks[t].replicas > 0;
  }
  return n;
}

void Simulation::TryCopy(uint32_t index) {
  Attempt& a = attempts_[index];
  if (jobs_[a.id.task.job.seq - 1].over) return;  // it is about to be killed
  TryUnreadable(index);
  if (a.taken >= a.needed) return EndCopy(index);
  if (a.listed()) return ReadListed(index);
  const uint32_t available = Available(a);
  const uint32_t fresh = available > a.taken ? available - a.taken : 0;
  const bool enough = fresh > 0 && (available >= a.needed || fresh >= std::max(1u, a.needed / kBatches));
  if (!enough) {
    if (a.idle) return;
    a.idle = true;
    return AwaitOutputs(index);
  }
  a.batch = std::min(fresh, a.needed - a.taken);
  a.cross = a.local = 0;
  uses_.clear();
  if (!a.timed) {
    CopyRoute(a);
    AddDisk(a, experiment_.tasks.copy_disk);
  }
  Move(index, a.bytes * a.batch / a.needed, uses_);
}

void Simulation::AwaitOutputs(uint32_t index) {
  const Attempt& a = attempts_[index];
  for (const sched::StageInput& in : ModelOf(a.id.task).inputs) {
    if (in.is_edge) jobs_[a.id.task.job.seq - 1].stages[in.upstream].waiting.emplace_back(index, a.stamp);
  }
}

void Simulation::CopyOn(uint32_t index) {
  Attempt& a = attempts_[index];
  if (a.listed()) {
    if (!EndReads(index)) return;
  } else {
    StopFlow(a);
    a.taken += a.batch;
    a.batch = 0;
  }
  TryCopy(index);
}

void Simulation::EndCopy(uint32_t index) {
  Attempt& a = attempts_[index];
  if (a.listed()) reads_.erase(index);
  if (experiment_.check && a.needed > 0 && std::abs(a.before - a.bytes) > 1e-6 * a.bytes) {
    Broken("a reader has read " + std::to_string(a.before) + " bytes of " + std::to_string(a.bytes));
  }
  a.inputs_done = now_;
  a.phase = Phase::kSort;
  const uint32_t stamp = a.stamp;
  const ProgressReport report{a.id,
                              1,
                              static_cast<uint64_t>(a.bytes),
                              ModelOf(a.id.task).silent ? 0 : static_cast<uint64_t>(a.bytes),
                              static_cast<uint64_t>(a.before / kRecordBytes),
                              true};
  a.reported = a.before;
  a.reported_at = now_;
  Step(sched::AttemptProgress{{a.worker + 1}, a.incarnation, {report}});
  Attempt& after = attempts_[index];
  if (after.stamp != stamp) return;
  uses_.clear();
  if (!after.timed) AddDisk(after, experiment_.tasks.sort_disk);
  Move(index, after.bytes, uses_);
}

void Simulation::Wake(uint32_t index) {
  attempts_[index].idle = false;
  attempts_[index].batch = 0;
  Move(index, 0, {});
}

void Simulation::WakeReaders(const TaskId& id) {
  auto& waiting = StageOf(id).waiting;
  if (waiting.empty()) return;
  std::vector<std::pair<uint32_t, uint32_t>> readers;
  readers.swap(waiting);
  for (const auto& [index, stamp] : readers) {
    const Attempt& a = attempts_[index];
    if (a.stamp != stamp || a.phase != Phase::kCopy) continue;
    if (a.listed()) {
      if (Reads(a, id.stage, id.task)) {
        ReadNext(index);
      } else {
        waiting.emplace_back(index, stamp);
      }
      continue;
    }
    if (!a.idle) continue;
    const uint32_t available = Available(a);
    if (available < a.needed && available < a.taken + std::max(1u, a.needed / kBatches)) {
      waiting.emplace_back(index, stamp);
      continue;
    }
    Wake(index);
  }
}

}  // namespace mr::sim
