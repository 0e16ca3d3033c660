// How long a reader waits for a copy of its own (omega): given, or chosen from completed jobs' samples (Dolly,
// section 5.2, steps 1 to 3; papers.md 1.3).
//
// By bin of the job's size (papers.md 1.4, Table 3) the last kSamples gaps between an output's first two copies,
// compute times, and bytes that a reader reads of one output; and for the whole cluster the rate of a reader that
// has a copy for itself (B), and what of it two, three, ... readers of one copy have each (alpha). From these the
// omega that makes the mean task time least, anew once `refresh` has passed.
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
  // Reads `omega` and `refresh`.
  static Result<Omega> Read(PolicyParams* params);

  // Readers never wait.
  bool zero() const { return !automatic_ && given_.ns == 0; }
  // For this output, whose first copy is there. Before there are samples: kFirstShare of what that copy took.
  Duration Of(const View& view, const Job& job, const TaskId& output) const;
  // By bin, in seconds: where it is given or was chosen.
  std::vector<Figure> Figures(const View& view) const;
  // Takes the samples of these jobs, which have ended, and chooses anew where it is time. Walks them.
  void Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const;

 private:
  bool automatic_ = true;
  Duration given_, refresh_;
};

uint32_t BinOf(const Job& job);

}  // namespace mr::sched
