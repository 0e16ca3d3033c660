#include "common/rpc/wire.h"

namespace mr::rpc {

void ToWire(mr::JobId id, JobId::Builder b) {
  b.setEpoch(id.epoch);
  b.setSeq(id.seq);
}

void ToWire(const mr::TaskId& id, TaskId::Builder b) {
  ToWire(id.job, b.initJob());
  b.setStage(id.stage);
  b.setTask(id.task);
}

void ToWire(const mr::AttemptId& id, AttemptId::Builder b) {
  ToWire(id.task, b.initTask());
  b.setNumber(id.number);
}

void ToWire(const mr::Digest128& digest, Digest::Builder b) {
  b.setLow(digest.low);
  b.setHigh(digest.high);
}

}  // namespace mr::rpc
