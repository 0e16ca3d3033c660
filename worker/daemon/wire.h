// Converts messages of control.capnp to plain structs and back. Input is checked: a command that makes no sense is an
// error by itself and does not affect the others.
#pragma once

#include "common/base/status.h"
#include "common/rpc/control_wire.h"
#include "schema/control.capnp.h"
#include "worker/daemon/types.h"

namespace mr::worker {

Result<Command> FromWire(rpc::Command::Reader command);
// Drops and logs commands that make no sense.
CommandBatch FromWire(rpc::CommandBatch::Reader batch);

void ToWire(const WorkerRef& ref, rpc::WorkerRef::Builder out);
// Returns the report as a separate message, which travels in pieces (control.capnp, reportPiece).
kj::Array<capnp::word> Encode(uint64_t number, const Report& report);

}  // namespace mr::worker
