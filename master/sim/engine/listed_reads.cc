// Simulates readers that list their reads: those of few outputs, and those that are bound to replicas (sched::Bind).
//
// A reader reads from all replicas that it knows at one time, as one flow that takes equal parts of each, until the
// first of them is read. So two readers of one replica share the interface of its worker; readers of two replicas do
// not. A reader of few outputs begins to read one when it is there. One of many, bound to replicas, reads those of
// later binds after the ones that it has begun.
#include <algorithm>
#include <map>

#include "master/sched/state/state.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

namespace {
constexpr double kRead = 1e-9;  // a read with no more left has ended: the rest is rounding
}  // namespace

void Simulation::Do(const sched::Bind& d) {
  ++totals_.binds;
  const uint32_t index = Find(d.reader);
  if (index == kNone || !attempts_[index].by_bind) return;
  std::vector<Read>& reads = reads_[index];
  const auto same = std::find_if(reads.begin(), reads.end(),
                                 [&](const Read& r) { return r.replica.output.task == d.replica.output.task; });
  if (same == reads.end()) {
    reads.push_back({d.replica});
  } else if (same->since.ns == 0) {
    same->replica = d.replica;
  }
  ReadNext(index);
}

// Not inside the step that bound it, or that made the output: a copy of zero bytes would start another step.
void Simulation::ReadNext(uint32_t index) {
  Attempt& a = attempts_[index];
  a.awaits = false;
  if (a.idle) return Wake(index);
  if (!a.few || a.phase != Phase::kCopy || a.batch == 0) return;  // it looks for more when it has read these
  CreditReads(index);
  Wake(index);
}

void Simulation::ListReadable(uint32_t index) {
  Attempt& a = attempts_[index];
  const StageModel& model = ModelOf(a.id.task);
  std::vector<Read>& reads = reads_[index];
  for (const Slice& slice : scheduler_.state().FindTask(a.id.task)->plan.slices) {
    const uint32_t s = model.inputs[slice.input].upstream;
    const Stage& up = jobs_[a.id.task.job.seq - 1].stages[s];
    for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) {
      if (up.tasks[t].replicas == 0) continue;
      const TaskId id{a.id.task.job, s, t};
      const bool listed =
          std::any_of(reads.begin(), reads.end(), [&](const Read& r) { return r.replica.output.task == id; });
      if (listed) continue;
      Read& read = reads.emplace_back();
      read.replica.output.task = id;
      read.replica.worker = {up.tasks[t].worker + 1};
      read.since = now_;
    }
  }
  if (reads.size() >= a.needed || a.awaits) return;
  a.awaits = true;
  AwaitOutputs(index);
}

void Simulation::ReadListed(uint32_t index) {
  Attempt& a = attempts_[index];
  if (!a.by_bind) ListReadable(index);
  std::map<uint32_t, double> by_worker;
  double all = 0, from_disk = 0, least = 1;  // from_disk: local replicas that are not in memory
  for (Read& r : reads_[index]) {
    const uint32_t from = r.replica.worker.value - 1;
    const TaskId& read = r.replica.output.task;
    if (r.left <= 0) continue;
    if (r.since.ns == 0) {
      // A lost replica is replaced by a later bind.
      if (!workers_[from].up || workers_[from].incarnation != r.replica.incarnation) continue;
      r.since = now_;
      const sched::ReplicaPlace place{r.replica.output.generation, r.replica.attempt, r.replica.worker,
                                      r.replica.incarnation};
      const sched::Bindings& bindings = scheduler_.state().FindJob(a.id.task.job)->bindings;
      r.readers = std::max(1u, bindings.Reading(read.stage, read.task, place));
    }
    by_worker[from] += 1;
    all += 1;
    least = std::min(least, r.left);
    from_disk += from == a.worker && !Cached(StageOf(read).tasks[read.task]);
  }
  if (all <= 0) {
    a.idle = true;
    return;
  }
  a.batch = static_cast<uint32_t>(all);
  a.cross = a.local = 0;
  uses_.clear();
  if (!a.timed) {
    std::vector<double> by_rack(experiment_.cluster.racks.size(), 0);
    for (const auto& [w, n] : by_worker) by_rack[experiment_.cluster.workers[w].rack] += n;
    AddSources(a, by_worker, by_rack, all, from_disk);
    AddDisk(a, experiment_.tasks.copy_disk);
  }
  Move(index, a.bytes / a.needed * all * least, uses_);
}

void Simulation::CreditReads(uint32_t index) {
  Attempt& a = attempts_[index];
  const double before = a.before;
  StopFlow(a);
  if (a.batch == 0) return;
  const double each = (a.before - before) / a.batch / (a.bytes / a.needed);
  for (Read& r : reads_[index]) {
    if (r.since.ns == 0 || r.left <= 0) continue;
    r.left = r.left - each <= kRead ? 0 : r.left - each;
  }
  a.batch = 0;
}

void Simulation::RestartRead(uint32_t index, const Replica& replica) {
  Attempt& a = attempts_[index];
  std::vector<Read>& reads = reads_[index];
  const auto lost = std::find_if(reads.begin(), reads.end(), [&](const Read& r) {
    return r.replica.output.task == replica.output.task && r.replica.worker == replica.worker && r.since.ns != 0 &&
           r.left > 0;
  });
  if (lost == reads.end()) return;
  CreditReads(index);
  a.before = std::max(0.0, a.before - (1 - lost->left) * a.bytes / a.needed);
  reads.erase(lost);  // a later bind, or another replica, lists it again
  Wake(index);
}

bool Simulation::EndReads(uint32_t index) {
  CreditReads(index);
  Attempt& a = attempts_[index];
  const auto ended = [](const Read& r) { return r.left <= 0; };
  std::vector<Read>& reads = reads_[index];
  a.taken = static_cast<uint32_t>(std::count_if(reads.begin(), reads.end(), ended));
  if (!a.by_bind) return true;
  const uint64_t bytes = static_cast<uint64_t>(a.bytes / std::max(1u, a.needed));
  const AttemptId id = a.id;
  const uint32_t stamp = a.stamp;
  std::vector<sched::FetchDone> done;
  for (Read& r : reads) {
    if (!ended(r) || r.told) continue;
    r.told = true;
    done.push_back({id, r.replica, bytes, now_ - r.since, r.readers});
  }
  for (const sched::FetchDone& d : done) {
    Step(d);
    if (attempts_[index].stamp != stamp) return false;
  }
  return true;
}

}  // namespace mr::sim
