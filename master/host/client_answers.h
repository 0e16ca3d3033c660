// Answers to clients on the wire: profiles of jobs, and what `mrctl explain` shows.
#pragma once

#include <kj/async.h>

#include "master/host/explain.h"
#include "schema/client.capnp.h"

namespace mr::master {

class Shell;

// Answers with one of the profiles of a job's name, from a stage on; as many stages as fit into a message. Errors in
// the outcome: kNotFound. Thread: the KJ loop.
using ProfileContext = capnp::CallContext<rpc::MasterForClient::ProfileParams, rpc::MasterForClient::ProfileResults>;
kj::Promise<void> AnswerProfile(Shell& shell, ProfileContext context);

// Requires: e.status is ok.
void ToWire(const Explained& e, const JobSpec& spec, rpc::ExplainedPlan::Builder out);

}  // namespace mr::master
