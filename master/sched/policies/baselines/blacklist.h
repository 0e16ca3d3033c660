// blacklist: workers on which attempts keep failing get no new attempts for a while.
//
// The baseline of Dolly (Ananthanarayanan et al., NSDI 2013, section 3, table 2). Per worker, with equal weights on the
// last window and on the long-term average:
//   s <- (f/n + s) / 2     after each time slice, in which n attempts ended and f of these failed
//   listed if s >= p_b     p_b = 0.5; windows of 5 minutes or 1 hour
// Departures:
// - Failures, of the user and of the environment, stand for stragglers, which other policies handle.
// - A slice with fewer than 5 ended attempts is no evidence and extends into the next one. It still halves the s of a
//   listed worker, so that the worker returns.
// - At most a tenth of the workers is listed at a time (Dolly's number on clusters of Facebook, section 2), but at
//   least one if three are live. The last worker that could run a task is always used.
// - Retries may go to a listed worker: it may be the only one on which the task has not failed.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Returns whether any worker is listed.
bool AnyListed(const State& state);
// Returns whether this worker is listed: it gets no first attempts and no clones.
bool IsListed(const State& state, WorkerId worker);

// Parameters: window (of a slice, in seconds), threshold (p_b), most (share of workers listed at a time).
Result<std::unique_ptr<Policy>> MakeBlacklist(PolicyParams* params);

}  // namespace mr::sched
