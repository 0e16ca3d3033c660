// mantri_replication: an output whose loss is expected to cost more than a copy of it is copied to another
// worker of its rack, at its commit.
//
// Ananthanarayanan et al., "Reining in the Outliers in Map-Reduce Clusters using Mantri", OSDI 2010, 5.4:
//   t_redo(i) = r_i (t_i + sum of t_redo(j) over the inputs j of i)
//   t_rep(i)  = output bytes / bandwidth inside the rack        replicate i iff t_redo(i) > t_rep(i)
// r_i: the worker's long-term rate of lost outputs, t_i: how long the task worked, without its wait for inputs. Copies
// cost at most a share of the bytes that the job has processed: each commit adds tokens for them, each copy spends its
// own bytes.
// Not copied: what has a copy already, and what is about to be consumed: all of its readers run.
//
// Parameters: budget (that share, 0.1), bandwidth (bytes per second, 125e6: a gigabit, the hosts' in Dolly's
// cluster; what the worker was measured to serve wins), always (on: each output, whatever it costs; for tests).
//
// Departs from the paper:
// - A worker's rate leans on that of the cluster: as if 20 outputs more (a guess) had been made here and lost at it.
// - Of a slice of a stage the inputs' t_redo is its part of the stage's sum, as it was when they committed.
// - A copy counts as made once it is asked for: the task's t_redo is then r_i r_k (...), on worker k.
// - A copy that is not made (a full disk, a worker that leaves or dies) is tried on two other workers (a guess), one
//   after the other, at the price of the first try.
// - Nothing is lost yet, anywhere: no rate, no copy, and no tokens.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Seconds; `inputs`: the sum of t_redo over the inputs.
inline double RedoSeconds(double r, double t, double inputs) { return r * (t + inputs); }
// P(an output kept there is lost), in [0, 1].
double LossRate(const State& state, const Worker& worker);

// budget, bandwidth, always=on|off.
Result<std::unique_ptr<Policy>> MakeMantriReplication(PolicyParams* params);

}  // namespace mr::sched
