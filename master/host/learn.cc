// Adds the run of a job that succeeded to the job's profile.
#include <glog/logging.h>

#include <algorithm>

#include "common/io/clock.h"
#include "master/host/job_ends.h"
#include "master/host/profiles.h"
#include "master/sched/job_profile.h"
#include "master/sched/state/state.h"

namespace mr::master {

void JobEnds::Learn(const JobView& job) {
  if (options_.profiles == nullptr || job.state != JobState::kSucceeded) return;
  const sched::Job* known = core_.scheduler().state().FindJob(job.id);
  if (known == nullptr) return;
  auto run = std::make_shared<sched::RunProfile>(sched::ProfileOf(*known));
  // The durations of tasks that ran under another release of the master are not known.
  const bool whole = std::none_of(run->stages.begin(), run->stages.end(),
                                  [](const sched::StageRuns& s) { return s.tasks > 0 && s.run.empty(); });
  if (!whole) return;
  outlets_.InPool(
      [store = options_.profiles, name = job.spec.name, shape = sched::PlanShape(known->graph), id = job.id, run] {
        const Status kept = store->Add(name, shape, id, WallClockMs(), *run);
        if (!kept.ok()) LOG(WARNING) << Name(id) << ": what its run taught is lost: " << kept.ToString();
      });
}

}  // namespace mr::master
