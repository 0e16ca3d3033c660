// Writes the worker's metrics page for Prometheus. Thread: the loop.
#pragma once

#include "common/model/disk_room.h"
#include "common/rpc/metrics.h"
#include "worker/daemon/housekeeping.h"
#include "worker/daemon/session.h"
#include "worker/daemon/worker.h"
#include "worker/host/memory_share.h"
#include "worker/shuffle/fetch.h"
#include "worker/shuffle/serve.h"

namespace mr::worker {

// The parts of a worker that its metrics show.
struct MetricSources {
  const Worker& worker;
  const Session& session;
  const ShuffleServing& serving;
  const Replicator& replicator;
  const FetchPool& fetches;
  const ShuffleStore& store;
  const Housekeeping& housekeeping;
  const SlotLimits& slots;
  const DiskRoom disk;
  const uint64_t block_bytes;  // of all replicas of blocks here
  MemoryShare* const memory;   // of attempts; null: not limited
};

void WriteWorkerMetrics(rpc::MetricsWriter* out, const MetricSources& from);

}  // namespace mr::worker
