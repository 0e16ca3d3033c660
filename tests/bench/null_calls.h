// The unit that the spine's benchmarks are measured in: one Cap'n Proto TCP call that does nothing,
// to the same master, in the same run.
#pragma once

#include <string>

namespace mr::bench {

struct NullCalls {
  double p50_us = 0;            // one in flight
  double per_second_at_16 = 0;  // sixteen in flight
};

// REQUIRES: a master at `address`. Ends the process with a message where there is none.
NullCalls MeasureNullCalls(const std::string& address);

}  // namespace mr::bench
