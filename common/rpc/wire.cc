#include "common/rpc/wire.h"

#include "common/rpc/wire_walk.h"

namespace mr::rpc {

void ToWire(mr::JobId id, JobId::Builder b) { WriteWire(id, b); }
void ToWire(const mr::TaskId& id, TaskId::Builder b) { WriteWire(id, b); }
void ToWire(const mr::AttemptId& id, AttemptId::Builder b) { WriteWire(id, b); }
void ToWire(const mr::Digest128& digest, Digest::Builder b) { WriteWire(digest, b); }

}  // namespace mr::rpc
