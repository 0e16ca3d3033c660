// The texts behind the HTTP routes: metrics and the status page.
#pragma once

#include <string>

#include "common/rpc/metrics.h"
#include "master/host/block_store.h"
#include "master/host/driver.h"
#include "master/host/host_clock.h"
#include "master/host/options.h"
#include "master/host/safe_mode.h"

namespace mr::master {

// Thread: the master's.
class Pages {
 public:
  Pages(const HostOptions& options, Driver& driver, HostClock& clock, const BlockStore& block_store,
        const SafeMode& safe_mode);

  // loop_lag: the longest wait in the master's queue since the last call.
  void WriteMetrics(rpc::MetricsWriter* out, Duration loop_lag);
  std::string StatusPage();

 private:
  void WriteAttempts(rpc::MetricsWriter* out) const;
  void WriteFigures(rpc::MetricsWriter* out);

  const HostOptions& options_;
  const Driver& driver_;
  const MasterCore& core_;
  HostClock& clock_;
  const BlockStore& block_store_;
  const SafeMode& safe_mode_;
};

}  // namespace mr::master
