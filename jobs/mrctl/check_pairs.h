// The check of mrctl doctor that daemons reach each other, in both directions.
#pragma once

#include <vector>

#include "jobs/mrctl/client.h"
#include "jobs/mrctl/operate.h"

namespace mr::ctl {

// Has live workers connect to the master and to each other at the advertised addresses. In a large cluster a sample of
// workers is asked. Workers of the sample that gave no answer, or were not asked in time, make the check a warning.
// Cost: a call per asked worker, each at most some 3 s where addresses do not answer; at most kPairsTime in all.
Check CheckPairs(Client& client, const std::vector<WorkerStatus>& workers);

}  // namespace mr::ctl
