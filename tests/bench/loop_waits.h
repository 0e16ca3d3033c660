// Reads the waits in a loop's queue, and single counters, from /metrics of a daemon.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>

#include "tests/bench/report.h"
#include "tests/support/http_get.h"

namespace mr::bench {

// Counts of a histogram of the metrics text by upper bound, in seconds; infinity: all.
inline std::map<double, double> BucketsOf(const std::string& metrics, const std::string& histogram) {
  const std::string name = histogram + "_bucket{le=\"";
  std::map<double, double> counts;
  for (size_t at = 0; (at = metrics.find(name, at)) != std::string::npos; ++at) {
    const size_t value = metrics.find("\"} ", at);
    counts[std::strtod(metrics.c_str() + at + name.size(), nullptr)] =
        std::strtod(metrics.c_str() + value + 3, nullptr);
  }
  if (counts.empty()) Die("the daemon has no " + histogram);
  return counts;
}
inline std::map<double, double> WaitsOf(uint16_t http_port) {
  return BucketsOf(test::HttpGet(http_port, "/metrics"), "mr_loop_wait_seconds");
}

// Returns the value of a metric without labels.
inline double MetricOf(const std::string& metrics, const std::string& name) {
  const size_t at = metrics.find("\n" + name + " ");
  if (at == std::string::npos) Die("the daemon has no " + name);
  return std::strtod(metrics.c_str() + at + name.size() + 2, nullptr);
}

// Returns the seconds that this share of the waits between two readings did not exceed. Inside a bucket it assumes an
// even distribution, as Prometheus does. Infinity: above the largest bound.
inline double WaitQuantile(const std::map<double, double>& before, const std::map<double, double>& after,
                           double share) {
  const double all = after.rbegin()->second - before.rbegin()->second;
  double low = 0, below = 0;
  for (const auto& [bound, count] : after) {
    const double here = count - before.at(bound);
    if (here >= share * all && here > below) {
      return bound == std::numeric_limits<double>::infinity()
                 ? bound
                 : low + (bound - low) * std::max(0.0, share * all - below) / (here - below);
    }
    low = bound;
    below = here;
  }
  return 0;
}

}  // namespace mr::bench
