// Operators that earlier jobs showed to be random: the scheduler gets an event when one of them runs again.
#include <glog/logging.h>

#include "master/sched/state/state.h"
#include "master/server/brain.h"

namespace mr::master {

void Brain::NoteRandomOperators(const std::vector<sched::Decision>& decisions) {
  for (const sched::Decision& decision : decisions) {
    const auto* mark = std::get_if<sched::MarkIndeterminate>(&decision);
    if (mark == nullptr) continue;
    const JobView* job = jobs_.Find(mark->task.job);
    if (job == nullptr || mark->task.stage >= job->spec.stages.size()) continue;
    random_operators_.Add(job->spec.OperatorOf(job->spec.stages[mark->task.stage]), mark->task.job);
  }
}

void Brain::TellOfOperators(JobId id) {
  const JobView* job = jobs_.Find(id);
  const sched::Job* known = scheduler_->state().FindJob(id);
  if (job == nullptr || known == nullptr || !known->running()) return;
  sched::OperatorsKnown event{id, {}};
  for (uint32_t s = 0; s < known->stages.size() && s < job->spec.stages.size(); ++s) {
    if (known->stages[s].indeterminate) continue;
    const std::string op = job->spec.OperatorOf(job->spec.stages[s]);
    const JobId* showed = random_operators_.Find(op);
    if (showed == nullptr) continue;
    LOG(INFO) << Name(id) << ": tasks of stage " << s << " are not cloned, since " << op
              << " gave other content for equal input in " << Name(*showed);
    event.indeterminate.push_back(s);
  }
  if (event.indeterminate.empty()) return;
  Feed(std::move(event));
}

}  // namespace mr::master
