#include "common/rpc/call_times.h"

#include "common/rpc/metrics.h"

namespace mr::rpc {

void CallTimes::Write(MetricsWriter* out) const {
  out->HistogramFamily("mr_rpc_handling_seconds", "From the arrival of a call to its answer, by method.");
  for (const auto& [method, times] : methods_) out->Sample("method", times.method, times.took);
}

}  // namespace mr::rpc
