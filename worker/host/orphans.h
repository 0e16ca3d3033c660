// What ended children have left behind, swept until it is gone; nobody blocks for it. io thread only.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "worker/host/loop.h"
#include "worker/task/process_tree.h"

namespace mr::worker {

class Orphans {
 public:
  // on_stuck: of a process that was killed and does not end, in words; once for each. May be empty.
  Orphans(Loop* loop, std::function<void(const std::string&)> on_stuck) : loop_(loop), on_stuck_(std::move(on_stuck)) {}

  // Calls when all orphans have ended, but for those that are stuck (process_tree.h); at once where there are none.
  void WhenGone(std::function<void()> call);
  // The host ends: from 1.5 s after the first such call on nobody waits for anything.
  void Hurry();

 private:
  void Look();
  void LookAfter(Duration delay);

  Loop* const loop_;
  const std::function<void(const std::string&)> on_stuck_;
  std::vector<std::function<void()>> calls_;
  std::set<task::Process> stuck_;  // as on_stuck_ knows it
  std::optional<Instant> give_up_;
  Duration delay_;      // until the next look
  uint64_t looks_ = 0;  // a timer of an earlier look does nothing
};

}  // namespace mr::worker
