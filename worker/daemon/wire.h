// The worker's side of control.capnp: checks commands, and packs reports.
#pragma once

#include "common/base/status.h"
#include "common/rpc/control_wire.h"
#include "schema/control.capnp.h"
#include "worker/daemon/types.h"

namespace mr::worker {

// Errors: kInvalidArgument for a command that makes no sense. It does not affect the others of its batch.
Status Check(const Command& command);
// Drops and logs commands that make no sense. Timeouts are a year at most.
CommandBatch ReadBatch(rpc::CommandBatch::Reader in);

void ToWire(const WorkerRef& ref, rpc::WorkerRef::Builder out);
// Returns the report as a separate message, which travels in pieces (control.capnp, reportPiece).
kj::Array<capnp::word> Encode(uint64_t number, const Report& report);

}  // namespace mr::worker
