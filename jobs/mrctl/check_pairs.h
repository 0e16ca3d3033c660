// The check of mrctl doctor that daemons reach each other, in both directions.
#pragma once

#include <functional>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "jobs/mrctl/model.h"
#include "jobs/mrctl/operate.h"

namespace mr::ctl {

// Has a worker connect to other daemons, and returns the outcomes (Client::Reach).
using ReachFn = std::function<Result<std::vector<ReachedPeer>>(WorkerId)>;

// Has live workers connect to the master and to each other at the advertised addresses. In a large cluster a sample of
// workers is asked. Workers of the sample that gave no answer, or were not asked in time, make the check a warning.
// now: the clock. Cost: a call of reach per asked worker, each at most some 3 s where addresses do not answer; begins
// none after 20 s.
Check CheckPairs(const ReachFn& reach, const std::vector<WorkerStatus>& workers, const std::function<Instant()>& now);

}  // namespace mr::ctl
