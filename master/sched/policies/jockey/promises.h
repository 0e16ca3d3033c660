// Guarantees of all jobs that jockey steers. Their sum is at most the slots that min shares leave. Promises, to jobs
// whose deadlines can be met, come first.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "master/sched/state/state.h"

namespace mr::sched {

// Names of jockey's facts per job.
inline constexpr char kJockey[] = "jockey", kJockeyScope[] = "job";
inline constexpr char kJockeySlots[] = "slots";        // A
inline constexpr char kJockeyPromised[] = "promised";  // 1: IsPromised until its deadline

// Returns A in whole slots.
uint32_t WholeSlots(double slots);
// Returns the cluster's slots without the min shares of other queues with jobs.
uint32_t MostFor(const State& state, const Job& job);
// Returns the running jobs that have taken a step of jockey, the earliest deadline first.
std::vector<std::pair<Instant, JobId>> SteeredJobs(const State& state);
// Returns the slots that the job is guaranteed. If slots came back since its last step, or other jobs still hold them:
// those that a later step will guarantee.
uint32_t GuaranteeOf(const State& state, const Job& job);
// Returns true if the job's guarantee comes before those of jobs whose deadlines cannot be met. It ends at its
// deadline.
bool IsPromised(const State& state, const Job& job, Instant now);

// The guarantees at one instant, with those that this step has changed.
class Guarantees {
 public:
  Guarantees(const State& state, Instant now);
  // Returns the slots that others leave this job. Promises come first, those with earlier deadlines also where they do
  // not have all of their slots yet.
  uint32_t Room(const Job& job, bool promised) const;
  // wished: the slots with which it would meet its deadline, as far as the cluster has them.
  void Set(const Job& job, uint32_t slots, uint32_t wished, bool promised);
  // Returns the jobs without a promise that have guaranteed slots, the latest deadline first.
  std::vector<JobId> Unpromised() const;
  uint32_t SlotsOf(const Job& job) const;

 private:
  struct Guarantee {
    uint32_t slots = 0, wished = 0;
    bool promised = false;
  };
  const State& state_;
  std::map<std::pair<Instant, JobId>, Guarantee> jobs_;  // by deadline
};

}  // namespace mr::sched
