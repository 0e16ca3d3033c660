// Converts Cap'n Proto ids and digests to plain structs and back.
#pragma once

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "schema/common.capnp.h"

namespace mr::rpc {

inline mr::JobId FromWire(JobId::Reader r) { return {r.getEpoch(), r.getSeq()}; }
inline mr::TaskId FromWire(TaskId::Reader r) { return {FromWire(r.getJob()), r.getStage(), r.getTask()}; }
inline mr::AttemptId FromWire(AttemptId::Reader r) { return {FromWire(r.getTask()), r.getNumber()}; }
inline mr::Digest128 FromWire(Digest::Reader r) { return {r.getLow(), r.getHigh()}; }

void ToWire(mr::JobId id, JobId::Builder b);
void ToWire(const mr::TaskId& id, TaskId::Builder b);
void ToWire(const mr::AttemptId& id, AttemptId::Builder b);
void ToWire(const mr::Digest128& digest, Digest::Builder b);

}  // namespace mr::rpc
