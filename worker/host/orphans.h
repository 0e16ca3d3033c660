// Kills and collects the processes that ended children have left behind, without blocking. io thread only.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/exec/loop.h"
#include "worker/task/process_tree.h"

namespace mr::worker {

class Orphans {
 public:
  // on_stuck: called once for each process that was killed and does not end, with its description. May be empty.
  Orphans(Loop* loop, std::function<void(const std::string&)> on_stuck) : loop_(loop), on_stuck_(std::move(on_stuck)) {}

  // Calls `call` when all orphans except stuck ones (process_tree.h) have ended; at once if there are none.
  void WhenGone(std::function<void()> call);
  // Called when the host shuts down. From 1.5 s after the first such call, WhenGone no longer waits.
  void Hurry();

 private:
  void Look();
  void LookAfter(Duration delay);

  Loop* const loop_;
  const std::function<void(const std::string&)> on_stuck_;
  std::vector<std::function<void()>> calls_;
  std::set<task::Process> stuck_;  // those that on_stuck_ was called for
  std::optional<Instant> give_up_;
  Duration delay_;      // until the next check
  uint64_t looks_ = 0;  // number of checks; a timer of an earlier one has no effect
};

}  // namespace mr::worker
