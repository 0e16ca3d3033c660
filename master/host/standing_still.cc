#include "master/host/standing_still.h"

#include <algorithm>

#include "common/base/text.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

// An attempt without progress is named after half the time that it may be so, and after this at the latest (guess: half
// of the default).
constexpr Duration kNamedAfter = Seconds(300);
constexpr size_t kMostNamed = 20;

}  // namespace

std::vector<std::string> WhyUnended(const MasterCore& core, const JobView& job, const TaskId& id, Instant now) {
  std::vector<std::string> lines;
  const sched::Task* task = core.scheduler().state().FindTask(id);
  if (task == nullptr) return lines;
  const TaskLetter letter = job.letter(id.stage);
  const std::string subject = Name(id, letter);
  for (const sched::Unended& u : task->unended) {
    const std::string what =
        u.number == 0 ? "the attempts that an earlier release of the master launched are"
                      : "the attempt on " + Name(u.worker) + " (" + Name(AttemptId{id, u.number}, letter) + ") is";
    lines.push_back(subject + " has side effects: it waits until " + what + " known to have ended" +
                    (u.until.ns == 0 ? ", which its worker will report"
                                     : ", at the latest in " + HumanDuration(std::max(Duration{}, u.until - now))));
  }
  return lines;
}

std::vector<std::pair<AttemptId, std::string>> Hung(const MasterCore& core, const JobView& job, Instant now) {
  std::vector<std::pair<AttemptId, std::string>> hung;
  const sched::Job* known = core.scheduler().state().FindJob(job.id);
  if (known == nullptr || !known->running()) return hung;
  const Duration timeout = job.spec.task_timeout;
  const Duration named = timeout.ns > 0 ? std::min(Duration{timeout.ns / 2}, kNamedAfter) : kNamedAfter;
  for (uint32_t s = 0; s < known->stages.size(); ++s) {
    for (const auto& [task, number] : known->stages[s].active) {
      if (hung.size() == kMostNamed) return hung;
      const AttemptId id{{job.id, s, task}, number};
      const sched::Attempt* a = core.scheduler().state().FindAttempt(id);
      // One that waits for inputs is not to blame.
      if (a == nullptr || a->state != sched::AttemptState::kRunning || !a->inputs_done) continue;
      Instant moved = std::max(a->started_at, a->inputs_done_at);
      if (!a->samples.empty()) moved = std::max(moved, a->samples.back().at);
      const Duration idle = now - moved;
      if (idle < named) continue;
      hung.emplace_back(
          id, Name(id, job.letter(s)) + " on " + Name(a->worker) + " has made no progress for " + HumanDuration(idle) +
                  (timeout.ns > 0 ? "; it ends when that is " + HumanDuration(timeout) + " (--task-timeout)"
                                  : ", and --task-timeout 0 lets it: mrctl kill ends the job"));
    }
  }
  return hung;
}

}  // namespace mr::master
