// The unit of the spine's benchmarks: one Cap'n Proto TCP call that does nothing, to the same master, in the same run.
#pragma once

#include <string>

namespace mr::bench {

struct NullCalls {
  double p50_us = 0;            // one in flight
  double per_second_at_16 = 0;  // sixteen in flight
};

// Measures it. Ends the process with a message if there is no master. Requires: a master at `address`.
NullCalls MeasureNullCalls(const std::string& address);

}  // namespace mr::bench
