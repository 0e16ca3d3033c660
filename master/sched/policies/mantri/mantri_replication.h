// mantri_replication: an output whose loss is expected to cost more than a replica is replicated in its rack, at its
// commit.
//
// Mantri (Ananthanarayanan et al., "Reining in the Outliers in Map-Reduce Clusters using Mantri", OSDI 2010), 5.4:
//   t_redo(i) = r_i (t_i + sum of t_redo(j) over the inputs j of i)
//   t_rep(i)  = output bytes / bandwidth inside the rack        replicate i iff t_redo(i) > t_rep(i)
// r_i: the worker's long-term rate of lost outputs; t_i: how long the task worked, without its wait for inputs.
// Replicas cost at most a share of the bytes that the job has processed. Each commit adds tokens for them, and each
// replica spends its bytes. An output is not replicated if it has a second replica, or if all of its readers run.
//
// Parameters: budget (that share, 0.1), bandwidth (bytes per second, 125e6: a gigabit, as in Dolly's cluster; the
// measured rate of the worker wins), always (on: each output, whatever it costs; for tests).
//
// Departures:
// - A worker's rate is smoothed by that of the cluster: as if 20 further outputs (a guess) had been made on it and lost
//   at the cluster's rate.
// - For a slice of a stage, the t_redo of the inputs is its part of the stage's sum, as it was when they committed.
// - A replica counts as made once it is asked for: the task's t_redo is then r_i r_k (...), on worker k.
// - A worker may fail to make the replica: its disk is full, or it leaves or dies. Two other workers (a guess) are
//   tried in turn. Only the first try is charged to the budget.
// - While nothing is lost anywhere, there is no rate, no replica, and no tokens.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Returns t_redo in seconds. inputs: the sum of t_redo over the inputs.
inline double RedoSeconds(double r, double t, double inputs) { return r * (t + inputs); }
// Returns P(an output kept there is lost), in [0, 1].
double LossRate(const State& state, const Worker& worker);

// Parameters: budget, bandwidth, always=on|off.
Result<std::unique_ptr<Policy>> MakeMantriReplication(PolicyParams* params);

}  // namespace mr::sched
