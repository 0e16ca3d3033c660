// How long the calls of peers take, by method, for /metrics.
#pragma once

#include <map>
#include <string>

#include "common/base/latency_histogram.h"
#include "common/rpc/access.h"

namespace mr::rpc {

class MetricsWriter;

// Thread: the KJ loop.
class CallTimes {
 public:
  // Counts a call that was answered, or that its peer gave up. method: of the table of an interface, which lives for
  // ever. Cost: a search among the methods that were called before.
  void Add(const std::string& interface, const MethodAccess& method, Duration took) {
    Times& times = methods_[&method];
    if (times.method.empty()) [[unlikely]] {
      times.method = interface + "." + method.name;
    }
    times.took.Add(took);
  }

  // Writes a histogram per method that was called. Calls that wait for news, such as those that follow a job, count
  // until the news. Part of mr_http.
  void Write(MetricsWriter* out) const;

 private:
  struct Times {
    std::string method;  // "MasterForClient.submit"
    LatencyHistogram took{kCallBounds};
  };
  std::map<const MethodAccess*, Times> methods_;
};

}  // namespace mr::rpc
