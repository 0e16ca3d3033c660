// jockey: a job with a deadline is guaranteed the fewest slots with which it is expected to meet it.
//
// Jockey (Ferguson et al., EuroSys 2012), 4.2 and 4.3; formulas in jockey_rules.h. Every period:
//   p    = progress of the job by the prediction's indicator, t_r = seconds since it was submitted
//   U_a  = E[U(t_r + slack C(p, a))], U shifted left by the dead zone
//   raw  = min {a : U_a is greatest}, with C(p, a) corrected by how long tasks take today
//   A    = raw at first, then A + hysteresis (raw - A);  the job is guaranteed ceil(A) slots
// Others use guaranteed slots that the job leaves free. When it wants them, attempts of other jobs end (guarantees.h,
// evict.h). Without a prediction (ProfileLoaded) fair serves the job as usual.
//
// Departures:
// - The paper's minute is for jobs of an hour. Here it is a sixtieth of the time given, from a quarter of a second to a
//   minute.
// - A new prediction or deadline starts again at raw, without hysteresis.
// - A twentieth of a slot counts as none. With hysteresis alone, a job that needs one slot would keep two for longer
//   than most jobs run.
// - The guarantee is at most what other queues' min shares leave. If that is less than needed because workers are away,
//   further steps come within the period until none are missing. They come once a second, fifteen times at most. After
//   a restart of the master all workers are away. Such a step leaves A as it is.
// - The paper leaves open what happens if guarantees do not fit together. Here their sum is at most the cluster's
// slots.
//   A job is promised its guarantee if its deadline would be admitted (admission.h) when it is submitted or its
//   deadline changes. Promises come first. Other jobs, and jobs after their deadlines, are guaranteed what promises
//   leave, which may be nothing: they then get slots like jobs without a deadline.
// - Progress counts committed tasks, so it falls when outputs are lost. C(p, a) is corrected (Today and Correct in
//   jockey_rules.h).
//
// Lesser forms, with which the paper compares:
// - adapt=off keeps the first guarantee.
// - model=amdahl predicts by Amdahl's law.
// - most=on guarantees all slots until the job ends.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Slack of the paper (Jockey 4.3). Admission multiplies by it, too.
inline constexpr double kJockeySlack = 1.2;

// Returns the utility of the job's end by its deadline, or by the points of its submission. minute: in seconds.
Utility UtilityOf(const Job& job, double minute);
// Returns the seconds that stand for the paper's minute with this job. Requires: a deadline or points.
double JockeyMinute(const Job& job);
// Returns the finished share of the tasks of each stage.
std::vector<double> FinishedShares(const Job& job);

// The time that a job still takes, in seconds.
struct JobLeft {
  double median = 0;
  double spread = 0;  // four of five runs end within this much of the middle; 0 if no earlier run is known
};
// Returns it for this many slots from now on, by the default model. Only for what people see: the policy steers by the
// guaranteed slots. Requires: job.prediction.known().
JobLeft LeftWith(const Job& job, uint32_t slots);

// Ends all guarantees and forgets the facts behind them, since no policy steers by deadlines any more.
void DropJockey(const View& view, Plan* plan);

// Parameters: slack=1.2, hysteresis=0.2, dead_zone=3 and period=1 in the paper's minutes, adapt=on,
// model=simulator|amdahl, most=off.
Result<std::unique_ptr<Policy>> MakeJockey(PolicyParams* params);

}  // namespace mr::sched
