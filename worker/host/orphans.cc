#include "worker/host/orphans.h"

#include <algorithm>
#include <utility>

#include "common/io/clock.h"
#include "worker/host/processes.h"

namespace mr::worker {
namespace {

// Delays between checks of killed processes. Most end within a millisecond.
constexpr Duration kFirstDelay = Millis(1), kMostDelay = Millis(4);
// Delay between checks of stuck processes, to collect them.
constexpr Duration kStuckDelay = Seconds(1);
constexpr Duration kHurry = Millis(1500);

std::string Describe(const task::Process& process) {
  const std::string tree = task::DescribeTree(process.pid);
  return "process " + std::to_string(process.pid) +
         (tree.empty() ? ", which has ended; a debugger keeps it from being collected" : " (" + tree + ")");
}

}  // namespace

void Orphans::WhenGone(std::function<void()> call) {
  calls_.push_back(std::move(call));
  delay_ = kFirstDelay;
  Look();
}

void Orphans::Hurry() {
  if (!give_up_.has_value()) give_up_ = Now() + kHurry;
}

void Orphans::Look() {
  ++looks_;
  const Swept swept = SweepOrphans();
  for (const task::Process& process : swept.stuck) {
    if (on_stuck_ && !stuck_.contains(process)) on_stuck_(Describe(process));
  }
  stuck_ = swept.stuck;
  if (swept.left > 0) {
    LookAfter(delay_);
    delay_ = std::min(delay_ * 2, kMostDelay);
    if (!give_up_.has_value() || Now() < *give_up_) return;
  } else if (!swept.stuck.empty()) {
    LookAfter(kStuckDelay);
  }
  for (const auto& call : std::exchange(calls_, {})) call();
}

void Orphans::LookAfter(Duration delay) {
  loop_->After(delay, [this, mine = looks_] {
    if (mine == looks_) Look();
  });
}

}  // namespace mr::worker
