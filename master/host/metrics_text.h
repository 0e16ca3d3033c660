// The metrics behind /metrics.
#pragma once

#include <string>

#include "common/exec/loop.h"
#include "common/rpc/metrics.h"
#include "master/host/block_store.h"
#include "master/host/driver.h"
#include "master/host/host_clock.h"
#include "master/host/reports.h"

namespace mr::master {

// Thread: the master's.
class MetricsText {
 public:
  MetricsText(Driver& driver, HostClock& clock, const BlockStore& block_store, const Reports& reports);

  // loop: the master's, whose longest wait since the last call is written.
  void WriteMetrics(rpc::MetricsWriter* out, Loop* loop);

 private:
  void WriteAttempts(rpc::MetricsWriter* out) const;
  void WriteFigures(rpc::MetricsWriter* out);
  void WriteWorkers(rpc::MetricsWriter* out) const;
  void WriteQueues(rpc::MetricsWriter* out) const;

  const Driver& driver_;
  const MasterCore& core_;
  HostClock& clock_;
  const BlockStore& block_store_;
  const Reports& reports_;
};

}  // namespace mr::master
