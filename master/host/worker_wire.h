// Calls of workers between the wire and plain structs, with the limits of what one call may bring.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "master/host/worker_calls.h"
#include "schema/control.capnp.h"

namespace mr::master {

// More outputs of one worker are dropped: their record, with a decision for each, stays below the journal's 64 MiB.
inline constexpr size_t kMaxKeptReplicas = 500'000;

// Returns the text, cut to the longest that a report may have.
std::string ReportText(capnp::Text::Reader text);

void ToWire(const Durable& durable, rpc::Durable::Builder out);

// Adds one page of a registration's lists to those that came before.
void AddPage(RegisterIn* out, capnp::List<rpc::Replica>::Reader inventory, capnp::List<rpc::AttemptId>::Reader running,
             capnp::List<rpc::BlockReport>::Reader blocks);
// pages: the lists of the pages before.
RegisterIn RegisterFrom(rpc::WorkerInfo::Reader in, RegisterIn pages);
// Throws where the lists of a registration are longer than any machine's.
void CheckListed(const RegisterIn& in);
// Returns bits; bit i is set if replica i of the inventory is in `drop`, or is beyond kMaxKeptReplicas.
std::vector<uint8_t> DropBits(const std::vector<Replica>& inventory, const std::vector<Replica>& drop);

// A report that exceeds a limit is read as the final failure of its attempt.
NumberedReport ReportFrom(rpc::Report::Reader in);

}  // namespace mr::master
