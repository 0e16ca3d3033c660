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

// Rows of lists. A row names tasks, attempts and workers; a name that is none of these is left out of the message.
mr::TaskStatus FromWire(mr::JobId job, TaskStatus::Reader in);
void ToWire(const mr::TaskStatus& status, TaskStatus::Builder out);
mr::AttemptStatus FromWire(AttemptStatus::Reader in);
void ToWire(const mr::AttemptStatus& status, AttemptStatus::Builder out);
mr::WorkerStatus FromWire(WorkerStatus::Reader in);
void ToWire(const mr::WorkerStatus& status, WorkerStatus::Builder out);
mr::DecisionStatus FromWire(Decision::Reader in);
void ToWire(const mr::DecisionStatus& status, Decision::Builder out);

mr::CounterValue FromWire(CounterValue::Reader in);
void ToWire(const mr::CounterValue& counter, CounterValue::Builder out);

}  // namespace mr::rpc
