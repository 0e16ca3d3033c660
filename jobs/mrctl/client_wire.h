// Converts statuses of client.capnp to the plain structs of model.h.
#pragma once

#include <vector>

#include "jobs/mrctl/model.h"
#include "schema/client.capnp.h"
#include "schema/control.capnp.h"

namespace mr::ctl {

JobStatus FromWire(rpc::JobStatus::Reader r);
QueueStatus FromWire(rpc::QueueStatus::Reader r);
TaskStatus FromWire(JobId job, rpc::TaskStatus::Reader r);
AttemptStatus FromWire(rpc::AttemptStatus::Reader r);
WorkerStatus FromWire(rpc::WorkerStatus::Reader r);
DrainStatus FromWire(rpc::DrainStatus::Reader r);
DecisionStatus FromWire(rpc::Decision::Reader r);
ProfileStatus FromWire(rpc::Profile::Reader r);
Explained FromWire(rpc::ExplainedPlan::Reader r);
JournalStatus FromWire(rpc::JournalStatus::Reader r);

ReplayTask FromWire(rpc::StageInfo::Reader stage, rpc::Launch::Reader launch);

template <class T, class List>
std::vector<T> ListFromWire(List list) {
  std::vector<T> out;
  out.reserve(list.size());
  for (auto element : list) out.push_back(FromWire(element));
  return out;
}

}  // namespace mr::ctl
