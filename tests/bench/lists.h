// Lists of policies that several benchmarks compare.
#pragma once

#include <string>

namespace mr::bench {

// LATE with the paper's cap and what the default list adds to it, but without regard for the network.
inline std::string TunedLate(const std::string& min_age) {
  return "late(min_age=" + min_age + ",skew_check=on,gain=1,worth=0.25,outpaced=0.8,estimator=phases)";
}

}  // namespace mr::bench
