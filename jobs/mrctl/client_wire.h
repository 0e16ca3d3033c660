// Converts the statuses of client.capnp that model.h has to its structs; common/rpc/client_wire.h has the others.
#pragma once

#include <vector>

#include "common/rpc/client_wire.h"
#include "jobs/mrctl/model.h"
#include "schema/client.capnp.h"
#include "schema/control.capnp.h"

namespace mr::ctl {

ProfileStatus FromWire(rpc::Profile::Reader r);
Explained FromWire(rpc::ExplainedPlan::Reader r);

ReplayTask FromWire(rpc::StageInfo::Reader stage, rpc::Launch::Reader launch);

template <class T, class List>
std::vector<T> ListFromWire(List list) {
  std::vector<T> out;
  out.reserve(list.size());
  for (auto element : list) out.push_back(FromWire(element));
  return out;
}

}  // namespace mr::ctl
