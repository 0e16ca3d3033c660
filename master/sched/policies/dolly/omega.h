// omega: how long a reader waits for a replica of its own, given or chosen from samples of completed jobs.
//
// Dolly (NSDI 2013) 5.2, steps 1 to 3:
//   omega = argmin of the mean of min_i T_i over the samples,  T_i: seconds of clone i (delay_model.h)
// The samples are the last kSamples of each kind, per bin of the job's size (table 3). The kinds are gaps between an
// output's first two replicas, compute times, and bytes that a reader takes of one output. Two figures are of the whole
// cluster. B is the rate of a reader that has a replica for itself. alpha is the share of B for each of two or more
// readers of one replica. omega is chosen anew once `refresh` has passed.
#pragma once

#include <string>
#include <vector>

#include "master/sched/job_bins.h"
#include "master/sched/pipeline.h"
#include "master/sched/plan.h"
#include "master/sched/policy.h"
#include "master/sched/view.h"

namespace mr::sched {

inline constexpr Duration kForever = Seconds(1'000'000'000);
inline constexpr Instant kNever{INT64_MAX};

class Omega {
 public:
  // Reads the parameters `omega` and `refresh`.
  static Result<Omega> Read(PolicyParams* params);

  // Returns whether readers never wait.
  bool zero() const { return !automatic_ && given_.ns == 0; }
  // Returns omega for this output, which has its first replica. Without samples: kFirstShare of the time that the
  // replica took.
  Duration Of(const View& view, const Job& job, const TaskId& output) const;
  // Returns omega by bin, in seconds, if it is given or was chosen.
  std::vector<Figure> Figures(const View& view) const;
  // Takes the samples of these jobs, which have ended, and chooses anew if it is time. Walks the jobs.
  void Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const;

 private:
  bool automatic_ = true;
  Duration given_, refresh_;
};

uint32_t BinOf(const Job& job);

}  // namespace mr::sched
