// Writes the worker's metrics page for Prometheus. Thread: the loop.
#pragma once

#include "common/model/disk_room.h"
#include "common/rpc/metrics.h"
#include "worker/daemon/session.h"
#include "worker/daemon/worker.h"
#include "worker/shuffle/serve.h"

namespace mr::worker {

void WriteWorkerMetrics(rpc::MetricsWriter* out, const Worker& worker, const Session& session,
                        const ShuffleServing& serving, const Replicator& replicator, const ShuffleStore& store,
                        const SlotLimits& slots, const DiskRoom& disk);

}  // namespace mr::worker
