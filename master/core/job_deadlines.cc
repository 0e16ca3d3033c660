// The job table's lines about changes that users make to a running job.
#include "master/core/job_table.h"

namespace mr::master {

void JobTable::NoteWishes(const sched::JobSet& set) {
  JobView* job = Find(set.job);
  if (job == nullptr || job->brief || Ended(job->state)) return;
  job->spec.priority = set.priority;
  if (job->spec.deadline != set.deadline) job->spec.utility.clear();
  job->spec.deadline = set.deadline;
}

}  // namespace mr::master
