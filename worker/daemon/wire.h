// Converts messages of control.capnp to plain structs and back. Input is checked: a command that makes no sense is an
// error by itself and does not affect the others.
#pragma once

#include <optional>
#include <vector>

#include "common/base/status.h"
#include "schema/control.capnp.h"
#include "worker/daemon/types.h"

namespace mr::worker {

Result<Command> FromWire(rpc::Command::Reader command);
// Drops and logs commands that make no sense.
CommandBatch FromWire(rpc::CommandBatch::Reader batch);
// Returns nothing if the verdict comes later.
std::optional<Verdict> FromWire(rpc::Reply::Reader reply);
ReplicaName FromWire(rpc::Replica::Reader replica);

void ToWire(const WorkerRef& ref, rpc::WorkerRef::Builder out);
void ToWire(const ReplicaName& replica, rpc::Replica::Builder out);
void ToWire(const BlockName& block, rpc::BlockReport::Builder out);
void ToWire(const Report& report, rpc::Report::Builder out);
void ToWire(const ProgressFrame& frame, rpc::Progress::Builder out);
// Returns an upper bound of the report's bytes in a message, for cutting batches.
size_t WireSize(const Report& report);
// Returns the report as a separate message, which travels in pieces (control.capnp, reportPiece).
kj::Array<capnp::word> Encode(uint64_t number, const Report& report);

}  // namespace mr::worker
