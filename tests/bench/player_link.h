// The connections of a player, and the content of outputs that it makes up.
#pragma once

#include "common/base/digest.h"
#include "common/rpc/connection.h"
#include "tests/bench/player.h"

namespace mr::bench {

// Returns the content of a task's output, which depends on the task alone, as that of a deterministic operator does.
inline Digest128 ContentOf(const TaskId& task) {
  const uint32_t words[] = {task.job.epoch, task.job.seq, task.stage, task.task};
  return Hash128({reinterpret_cast<const char*>(words), sizeof words});
}

struct Player::Link {
  kj::Own<rpc::RpcConnection> control, heartbeat;
  rpc::MasterForWorker::Client master;
  kj::TaskSet tasks;
  Link(kj::Own<rpc::RpcConnection> c, kj::TaskSet::ErrorHandler& errors)
      : control(kj::mv(c)), master(control->Bootstrap<rpc::MasterForWorker>()), tasks(errors) {}
};

}  // namespace mr::bench
