#include "master/sim/swarm/core_checks.h"

#include <set>
#include <tuple>
#include <utility>

#include "master/sched/state/state.h"

namespace mr::sim {

namespace {

using master::JobView;
using master::TaskView;

std::string CheckTask(const sched::State& state, const JobView& job, const TaskId& id, const TaskView& view) {
  const sched::Task& task = *state.FindTask(id);
  const std::string name = Name(id, job.letter(id.stage));
  std::set<std::pair<uint32_t, uint32_t>> known, shown;  // worker, attempt
  for (const sched::ReplicaPlace& replica : task.replicas) known.emplace(replica.worker.value, replica.attempt);
  for (const master::ReplicaView& replica : view.replicas) {
    shown.emplace(replica.replica.worker.value, replica.replica.attempt);
  }
  if (known != shown) return name + ": the scheduler and the projection know other replicas of its output";
  if (task.state == sched::TaskState::kCommitted &&
      (!view.committed || view.manifest.content != task.manifest.content)) {
    return name + ": the projection lacks its committed output";
  }
  if (view.committed && view.generation > task.generation) return name + ": a generation that is not there yet";
  return "";
}

std::string CheckJob(const sched::State& state, const JobView& job, const sched::Job& known) {
  size_t attempts = 0;
  for (uint32_t s = 0; s < known.stages.size(); ++s) {
    const sched::Stage& stage = known.stages[s];
    if (job.stages[s].committed < stage.committed) return Name(job.id) + ": the projection lacks committed tasks";
    uint64_t taken = 0;  // by attempts that run or have committed
    if (!stage.planned()) continue;
    if (job.stages[s].tasks.size() != stage.tasks.size()) return Name(job.id) + ": a stage has other tasks";
    for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
      if (std::string wrong = CheckTask(state, job, {job.id, s, t}, job.stages[s].tasks[t]); !wrong.empty()) {
        return wrong;
      }
      for (const sched::Attempt& attempt : stage.tasks[t].attempts) {
        const AttemptId id{{job.id, s, t}, attempt.number};
        const master::AttemptNote* note = job.notes.Find(id);
        if (note == nullptr) return Name(id, job.letter(s)) + ": an attempt without a note";
        if (attempt.holds_slot() != (note->sequence == 0)) return Name(id, job.letter(s)) + ": its end is not noted";
        const bool won = attempt.state == sched::AttemptState::kCommitted && note->verdict == Verdict::kWinner;
        if ((attempt.holds_slot() || won) && !attempt.samples.empty()) {
          taken += attempt.samples.back().taken_by_operator();
        }
        ++attempts;
      }
    }
    if (job.notes.stages[s].taken_bytes != taken) {
      return Name(job.id) + ": its attempts took " + std::to_string(taken) + " bytes, and people see " +
             std::to_string(job.notes.stages[s].taken_bytes);
    }
  }
  if (attempts != job.notes.attempts.size()) return Name(job.id) + ": notes of attempts that never were";
  return "";
}

// Work that is open must be the work of a job that can still use it.
std::string CheckOpenWork(const master::MasterCore& core) {
  const master::OpenWork& open = core.open();
  const auto& jobs = core.jobs().jobs();
  for (const StageId& stage : open.unplanned) {
    const auto it = jobs.find(stage.job);
    if (it == jobs.end() || Ended(it->second.state))
      return Name(stage.job) + " has ended, and a stage waits for a plan";
    if (it->second.stages[stage.stage].planned) return Name(stage.job) + ": a planned stage waits for a plan";
  }
  for (const JobId id : open.unpublished) {
    const auto it = jobs.find(id);
    if (it == jobs.end() || it->second.state != JobState::kCommitting) {
      return Name(id) + " is to be published, and is not committing";
    }
  }
  // A policy that waits for a time must have a timer for it.
  std::set<std::pair<std::pair<std::string, uint64_t>, Instant>> waits;
  for (const master::Timers::Timer& timer : open.timers.All()) waits.insert({{timer.policy, timer.id}, timer.at});
  for (const auto& [key, at] : core.scheduler().state().timers()) {
    if (!waits.contains({{std::string(key.first), key.second}, at}))
      return key.first + " waits for a timer that is gone";
  }
  return "";
}

// The table of workers, the scheduler and the block store must agree about a worker.
std::string CheckWorkers(const master::MasterCore& core) {
  for (const auto& [id, worker] : core.workers().all()) {
    if (!worker.alive && core.files().BlocksOn(id) != 0) return Name(id) + " is lost, and the block store reads it";
    const sched::Worker* known = core.scheduler().state().FindWorker(id);
    if (worker.alive != (known != nullptr && known->alive)) {
      return Name(id) + (worker.alive ? " is alive" : " is lost") + ", and the scheduler says otherwise";
    }
  }
  return "";
}

std::string CheckRestoredJob(const master::JobView& saved, const master::JobView* restored) {
  if (restored == nullptr) return "its job is gone";
  if (saved.state != restored->state || saved.told != restored->told) return "its state is another one";
  if (Ended(saved.state) || saved.state == JobState::kCommitting) return "";
  for (size_t s = 0; s < saved.stages.size(); ++s) {
    if (saved.stages[s].planned != restored->stages[s].planned) return "a plan is gone";
    if (saved.plan.stages[s].slices.size() != restored->plan.stages[s].slices.size()) return "its slices are gone";
  }
  return "";
}

}  // namespace

std::string CheckRestored(master::MasterCore& saved, master::MasterCore& restored,
                          const std::vector<std::string>& ids) {
  if (saved.epoch() != restored.epoch()) return "another epoch";
  if (saved.last_stamp() != restored.last_stamp() || saved.events() != restored.events()) return "another time";
  for (const auto& [id, worker] : saved.workers().all()) {
    const master::WorkerView* other = restored.workers().Find(id);
    if (other == nullptr || other->name != worker.name) return Name(id) + " is gone";
    if (other->alive != worker.alive || other->info.incarnation != worker.info.incarnation ||
        other->drained_by_user != worker.drained_by_user || other->excluded != worker.excluded ||
        other->awaited != worker.awaited || other->wrong_outputs != worker.wrong_outputs) {
      return Name(id) + " is said to be another one";
    }
  }
  const auto timers = [](const master::MasterCore& core) {
    std::vector<std::tuple<Instant, std::string, uint64_t>> all;
    for (const master::Timers::Timer& t : core.open().timers.All()) all.emplace_back(t.at, t.policy, t.id);
    return all;
  };
  if (timers(saved) != timers(restored)) return "other timers";
  if (saved.open().unplanned != restored.open().unplanned) return "other stages wait for a plan";
  if (saved.open().unpublished != restored.open().unpublished) return "other jobs are to be published";
  for (const auto& [id, job] : saved.jobs().jobs()) {
    if (std::string wrong = CheckRestoredJob(job, restored.jobs().Find(id)); !wrong.empty()) {
      return Name(id) + ": " + wrong;
    }
  }
  for (const std::string& id : ids) {
    const master::JobView *one = saved.jobs().FindSubmission(kNoOwner, id),
                          *other = restored.jobs().FindSubmission(kNoOwner, id);
    if ((one == nullptr) != (other == nullptr)) return "submission " + id + " is forgotten";
    if (one != nullptr && one->id != other->id) return "submission " + id + " is of another job";
  }
  return "";
}

std::string CheckCore(const master::MasterCore& core) {
  const sched::State& state = core.scheduler().state();
  if (std::string wrong = CheckState(state); !wrong.empty()) return wrong;
  if (std::string wrong = CheckOpenWork(core); !wrong.empty()) return wrong;
  if (std::string wrong = CheckWorkers(core); !wrong.empty()) return wrong;
  for (const auto& [id, known] : state.jobs()) {
    const auto it = core.jobs().jobs().find(id);
    if (it == core.jobs().jobs().end()) {
      if (known.running()) return Name(id) + " runs, and people cannot see it";
      continue;
    }
    const JobView& job = it->second;
    if (known.running() == Ended(job.state) && job.state != JobState::kCommitting) {
      return Name(id) + " is " + Word(job.state) + ", and the scheduler says otherwise";
    }
    if (!known.running() || job.brief) continue;
    if (std::string wrong = CheckJob(state, job, known); !wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace mr::sim
