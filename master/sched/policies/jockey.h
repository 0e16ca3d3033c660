// jockey: jobs with a deadline are guaranteed the fewest slots with which they are expected to meet it.
//
// Jockey (Ferguson et al., EuroSys 2012), sections 4.2 and 4.3; papers.md 4.3; formulas in jockey_rules.h. Every
// period:
//   p    = progress of the job by the prediction's indicator, t_r = seconds since it was submitted
//   U_a  = E[U(t_r + slack C(p, a))], U shifted left by the dead zone
//   raw  = min {a : U_a is greatest}, with C(p, a) corrected by how long tasks take today
//   A    = raw at first, then A + hysteresis (raw - A);  the job is guaranteed ceil(A) slots
// A slot that is guaranteed and not used goes to others, whose attempts end first when it is wanted; what the job
// holds beyond its guarantee ends before those (guarantees.h). Without a prediction (ProfileLoaded) a job is served
// as fair does.
//
// Departures. The paper's minute is a minute for jobs of an hour: here it is a sixtieth of the time that is given,
// from a quarter of a second to a minute. A new prediction or deadline starts anew at raw, without hysteresis. A
// twentieth of a slot is none: by hysteresis alone a job that needs one would keep two for as long as most jobs run.
// No more is guaranteed than what other queues' min shares leave; where that is less than it needs since workers are
// away, further steps come within the period, one a second, fifteen at most until none are missed: after a restart of
// the master all of them are away. Such a step leaves A as it is. Progress counts committed tasks, so that lost
// outputs take it back. C(p, a) is corrected (Today and Correct in jockey_rules.h).
//
// Lesser forms, which the paper compares with: adapt=off keeps the first guarantee, model=amdahl predicts by Amdahl's
// law, most=on guarantees all slots until the job ends.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// The slack of the paper (papers.md 4.3), by which admission multiplies as well.
inline constexpr double kJockeySlack = 1.2;

// What a job's deadline, or the points that it was submitted with, makes an end worth; `minute`: seconds.
Utility UtilityOf(const Job& job, double minute);
// Seconds that stand for the paper's minute with this job. REQUIRES a deadline or points.
double JockeyMinute(const Job& job);
// Finished share of the tasks of each stage.
std::vector<double> FinishedShares(const Job& job);

// What the job is guaranteed; or more, where slots came back since its last step: what the next one gives it then.
uint32_t GuaranteeOf(const State& state, const Job& job);

// slack=1.2, hysteresis=0.2, dead_zone=3 and period=1 in the paper's minutes, adapt=on, model=simulator|amdahl,
// most=off.
Result<std::unique_ptr<Policy>> MakeJockey(PolicyParams* params);

}  // namespace mr::sched
