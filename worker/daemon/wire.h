// Cap'n Proto messages of control.capnp to plain structs and back. What arrives is checked: a
// command that makes no sense is an error of its own and does not hide the ones beside it.
#pragma once

#include <optional>
#include <vector>

#include "common/base/status.h"
#include "schema/control.capnp.h"
#include "worker/daemon/types.h"

namespace mr::worker {

Result<Command> FromWire(rpc::Command::Reader command);
// Commands that make no sense are left out, and logged.
CommandBatch FromWire(rpc::CommandBatch::Reader batch);
// Empty: later.
std::optional<Verdict> FromWire(rpc::Reply::Reader reply);
CopyName FromWire(rpc::Copy::Reader copy);

void ToWire(const WorkerRef& ref, rpc::WorkerRef::Builder out);
void ToWire(const CopyName& copy, rpc::Copy::Builder out);
void ToWire(const BlockName& block, rpc::BlockReport::Builder out);
void ToWire(const Report& report, rpc::Report::Builder out);
void ToWire(const ProgressFrame& frame, rpc::Progress::Builder out);
// An upper bound of the bytes that the report takes in a message, for cutting batches.
size_t WireSize(const Report& report);
// The report as a message of its own, which travels in pieces (control.capnp, reportPiece).
kj::Array<capnp::word> Encode(uint64_t number, const Report& report);

}  // namespace mr::worker
