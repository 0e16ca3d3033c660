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

  // Calls when all orphans have ended, except stuck ones (process_tree.h); at once if there are none.
  void WhenGone(std::function<void()> call);
  // The host ends: from 1.5 s after the first such call on, WhenGone waits for nothing.
  void Hurry();

 private:
  void Look();
  void LookAfter(Duration delay);

  Loop* const loop_;
  const std::function<void(const std::string&)> on_stuck_;
  std::vector<std::function<void()>> calls_;
  std::set<task::Process> stuck_;  // those that on_stuck_ was called for
  std::optional<Instant> give_up_;
  Duration delay_;      // until the next look
  uint64_t looks_ = 0;  // a timer of an earlier look has no effect
};

}  // namespace mr::worker
