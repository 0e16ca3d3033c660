// Converts the statuses of client.capnp to the structs of common/model/status.h and back. Cost: linear. Thread: any.
#pragma once

#include "common/model/status.h"
#include "schema/client.capnp.h"

namespace mr::rpc {

// Does not fill `counters`, which MasterForClient.counters returns in pages.
mr::JobStatus FromWire(JobStatus::Reader in);
void ToWire(const mr::JobStatus& status, JobStatus::Builder out);

mr::QueueStatus FromWire(QueueStatus::Reader in);
void ToWire(const mr::QueueStatus& status, QueueStatus::Builder out);

mr::DrainStatus FromWire(DrainStatus::Reader in);
void ToWire(const mr::DrainStatus& status, DrainStatus::Builder out);

mr::JournalStatus FromWire(JournalStatus::Reader in);
void ToWire(const mr::JournalStatus& status, JournalStatus::Builder out);

// Rows of lists. The master writes them itself.
mr::TaskStatus FromWire(mr::JobId job, TaskStatus::Reader in);
mr::AttemptStatus FromWire(AttemptStatus::Reader in);
mr::WorkerStatus FromWire(WorkerStatus::Reader in);
mr::DecisionStatus FromWire(Decision::Reader in);

mr::CounterValue FromWire(CounterValue::Reader in);
void ToWire(const mr::CounterValue& counter, CounterValue::Builder out);

}  // namespace mr::rpc
