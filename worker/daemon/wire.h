// The worker's side of control.capnp: checks commands, and packs reports.
#pragma once

#include "common/base/status.h"
#include "common/rpc/control_wire.h"
#include "schema/control.capnp.h"
#include "worker/daemon/types.h"

namespace mr::worker {

// Checks a command. Errors: kInvalidArgument for an invalid one. It does not affect the others of its batch.
Status Check(const Command& command);
// Reads a batch. Drops and logs invalid commands. Limits timeouts to one year.
CommandBatch ReadBatch(rpc::CommandBatch::Reader in);

void ToWire(const WorkerRef& ref, rpc::WorkerRef::Builder out);
// Returns the report as a separate message, which travels in pieces (control.capnp, reportPiece).
kj::Array<capnp::word> Encode(uint64_t number, const Report& report);

}  // namespace mr::worker
