// blacklist: workers on which attempts keep failing get no new ones for a while.
//
// After the baseline of Dolly (Ananthanarayanan et al., NSDI 2013, section 3, table 2): per worker, with
// equal weights on the last window and on the long-term average,
//   s <- (f/n + s) / 2     after each time slice; f of n attempts that ended in it failed
//   listed where s >= p_b  (0.5; windows of 5 minutes or 1 hour)
// Departs from it: failures (the user's and the environment's) stand for stragglers, which other
// policies see to; a slice with fewer than 5 ended attempts is no evidence and runs on into the next
// one, but halves the s of a listed worker, which so comes back; no more than a tenth of the workers
// (their number here on clusters of Facebook, section 2) is listed at a time, one of three at least,
// and never the last that could run a task. Retries may go to a listed worker: where a task failed
// everywhere else, it is the one place left.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Some worker is listed.
bool AnyListed(const State& state);
// It gets no first attempts now, nor clones.
bool IsListed(const State& state, WorkerId worker);

// window (of a slice) in seconds, threshold (p_b), most (share of workers listed at a time).
Result<std::unique_ptr<Policy>> MakeBlacklist(PolicyParams* params);

}  // namespace mr::sched
