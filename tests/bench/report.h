// Shared parts of cluster benchmarks: errors that end them, and rows of targets.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace mr::bench {

[[noreturn]] inline void Die(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  std::exit(1);
}
inline void OrDie(const Status& status, const std::string& what) {
  if (!status.ok()) Die(what + ": " + status.ToString());
}
template <class T>
T OrDie(Result<T> result, const std::string& what) {
  OrDie(result.status(), what);
  return *std::move(result);
}

// Returns the value at this share of the order; .5 is the median. 0 for no values.
inline double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size()));
  return values.empty() ? 0 : values[std::min(at, values.size() - 1)];
}
inline double Median(std::vector<double> values) { return Quantile(std::move(values), .5); }

class Report {
 public:
  void Row(const std::string& what, double value, const char* unit, double limit, bool at_most) {
    const bool met = at_most ? value <= limit : value >= limit;
    all_met_ &= met;
    std::printf("%-58s %8.2f %-7s %s %8.2f  %s\n", what.c_str(), value, unit, at_most ? "<=" : ">=", limit,
                met ? "met" : "MISSED");
  }
  bool all_met() const { return all_met_; }

 private:
  bool all_met_ = true;
};

}  // namespace mr::bench
