// Simulates readers that are bound to replicas (sched::Bind). A reader reads all replicas to which it is bound at one
// time as one flow from their workers. It reads those of later binds after that. So two readers of one replica share
// the interface of its worker; readers of two replicas do not.
#include <algorithm>

#include "master/sched/state/state.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

void Simulation::Do(const sched::Bind& d) {
  ++totals_.binds;
  const uint32_t index = Find(d.reader);
  if (index == kNone || !attempts_[index].by_bind) return;
  std::vector<Told>& told = told_reads_[index];
  const auto same = std::find_if(told.begin(), told.end(),
                                 [&](const Told& t) { return t.replica.output.task == d.replica.output.task; });
  if (same == told.end()) {
    told.push_back({d.replica, {}, 1});
  } else if (same->since.ns == 0) {
    same->replica = d.replica;
  }
  Attempt& a = attempts_[index];
  if (!a.idle) return;
  a.idle = false;
  // Not inside the step that bound it: a copy of zero bytes would start another step.
  Move(index, 0, {});
  a.batch = 0;
}

void Simulation::ReadTold(uint32_t index) {
  Attempt& a = attempts_[index];
  const auto& specs = experiment_.cluster.workers;
  const sched::Bindings& bindings = scheduler_.state().FindJob(a.id.task.job)->bindings;
  std::map<uint32_t, double> by_worker;
  double all = 0, from_disk = 0;  // from_disk: local replicas that are not in memory
  for (Told& t : told_reads_[index]) {
    const uint32_t from = t.replica.worker.value - 1;
    // A lost replica is replaced by a later bind.
    if (t.since.ns != 0 || !workers_[from].up || workers_[from].incarnation != t.replica.incarnation) continue;
    t.since = now_;
    const sched::ReplicaPlace place{t.replica.output.generation, t.replica.attempt, t.replica.worker,
                                    t.replica.incarnation};
    t.readers = std::max(1u, bindings.Reading(t.replica.output.task.stage, t.replica.output.task.task, place));
    by_worker[from] += 1;
    all += 1;
    const TaskId& read = t.replica.output.task;
    from_disk += from == a.worker && !Cached(StageOf(read).tasks[read.task]);
  }
  if (all <= 0) {
    a.idle = true;
    return;
  }
  a.batch = static_cast<uint32_t>(all);
  a.cross = a.local = 0;
  uses_.clear();
  std::map<uint32_t, double> by_rack;
  for (const auto& [w, n] : by_worker) {
    if (w == a.worker) {
      a.local = n / all;
      if (from_disk > 0) uses_.push_back({workers_[w].disk, from_disk / all});
      continue;
    }
    uses_.push_back({workers_[w].uplink, n / all});
    if (specs[w].rack != specs[a.worker].rack) by_rack[specs[w].rack] += n / all;
  }
  if (a.local < 1) uses_.push_back({workers_[a.worker].downlink, 1 - a.local});
  for (const auto& [rack, share] : by_rack) {
    a.cross += share;
    if (rack_up_[rack] != kNone) uses_.push_back({rack_up_[rack], share});
  }
  const uint32_t down = rack_down_[specs[a.worker].rack];
  if (a.cross > 0 && down != kNone) uses_.push_back({down, a.cross});
  if (a.timed)
    uses_.clear();
  else
    AddDisk(a, experiment_.tasks.copy_disk);
  Move(index, a.bytes * a.batch / a.needed, uses_);
}

void Simulation::StartOver(uint32_t index) {
  for (Told& t : told_reads_[index]) t.since = {};
}

bool Simulation::EndTold(uint32_t index) {
  const Attempt a = attempts_[index];
  std::vector<sched::FetchDone> done;
  const uint64_t bytes = static_cast<uint64_t>(a.bytes / std::max(1u, a.needed));
  std::erase_if(told_reads_[index], [&](const Told& t) {
    if (t.since.ns == 0) return false;
    done.push_back({a.id, t.replica, bytes, now_ - t.since, t.readers});
    return true;
  });
  for (const sched::FetchDone& d : done) {
    Step(d);
    if (attempts_[index].stamp != a.stamp) return false;
  }
  return true;
}

}  // namespace mr::sim
