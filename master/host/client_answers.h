// Answers to clients on the wire: profiles of jobs, and what `mrctl explain` shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/host/explain.h"
#include "master/host/profiles.h"
#include "schema/client.capnp.h"

namespace mr::master {

// Fills in one of the job's profiles, from a stage on; as many stages as fit into a message. Errors: kNotFound.
Status FillProfile(const std::string& name, const Result<std::vector<StoredProfile>>& all, uint32_t index,
                   uint32_t from, rpc::MasterForClient::ProfileResults::Builder out);

// Requires: e.status is ok.
void ToWire(const Explained& e, const JobSpec& spec, rpc::ExplainedPlan::Builder out);

}  // namespace mr::master
