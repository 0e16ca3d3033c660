// Inner parts of a player: its connections, the outputs that an attempt reads, and the content that outputs have.
#pragma once

#include <set>
#include <utility>

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

template <class Call>
void Player::ForEachSource(const AttemptId& id, const Attempt& attempt, const Call& call) const {
  if (attempt.by_bind) {
    for (const auto& [from, source] : attempt.bound) call(from.first, from.second, source);
    return;
  }
  // Slices of the same tasks differ in their partitions.
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (size_t i = 0; i < attempt.reads.size(); ++i) {
    const auto& [stage, begin, end] = attempt.reads[i];
    const auto directory = directories_.find({id.task.job, stage});
    if (directory == directories_.end()) continue;
    for (auto it = directory->second.lower_bound(begin); it != directory->second.end() && it->first < end; ++it) {
      if (i == 0 || seen.emplace(stage, it->first).second) call(stage, it->first, it->second);
      if (i == 0 && attempt.reads.size() > 1) seen.emplace(stage, it->first);
    }
  }
}

}  // namespace mr::bench
