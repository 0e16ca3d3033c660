#include "master/host/held_commits.h"

#include <glog/logging.h>

#include <algorithm>

namespace mr::master {
HeldCommits::HeldCommits(MasterCore& core, HostClock& clock) : core_(core), clock_(clock) {}

bool HeldCommits::Hold(WorkerId id, Incarnation incarnation, const NumberedReport& sent) {
  const mr::Report& report = sent.report;
  if (!std::holds_alternative<report::Finished>(report.what)) return false;
  const auto held = std::find_if(held_.begin(), held_.end(), [&](const Held& h) {
    return h.worker == id && h.incarnation == incarnation && h.sent.report.attempt == report.attempt;
  });
  if (held != held_.end()) {
    held->sent = sent;  // sent again behind a registration
    return true;
  }
  const auto lost = core_.WhyHeld({report.attempt, id, incarnation}, std::get<report::Finished>(report.what));
  if (!lost) return false;
  LOG(WARNING) << Name(report.attempt.task.job) << " is not committed yet: " << lost->text;
  held_.push_back({id, incarnation, clock_.Lived(), sent, lost->id});
  return true;
}

bool HeldCommits::StillHeld(Held* held) {
  const mr::Report& report = held->sent.report;
  const Reporter from{report.attempt, held->worker, held->incarnation};
  // All blocks are checked again only when the block that holds the report has a replica again.
  if (core_.files().Unreadable(held->keeps)) return core_.WouldCommit(from);
  const auto lost = core_.WhyHeld(from, std::get<report::Finished>(report.what));
  if (lost) held->keeps = lost->id;
  return lost.has_value();
}

void HeldCommits::FeedReady(const FeedFn& feed) {
  const Instant now = clock_.Lived();
  // Messages of workers that came back while this master stood still are read first.
  const bool may_be_over = !clock_.CatchesUp(now) && !core_.files().in_safe_mode();
  for (size_t i = 0; i < held_.size();) {
    Held& held = held_[i];
    WorkerView* worker = core_.workers().FindAlive(held.worker, held.incarnation);
    const bool over = may_be_over && now - held.since >= core_.files().config().repair_delay;
    if (worker != nullptr && !over && StillHeld(&held)) {
      ++i;
      continue;
    }
    Held ready = std::move(held);
    held_.erase(held_.begin() + static_cast<ptrdiff_t>(i));
    if (worker == nullptr) continue;  // the attempt is lost with it
    feed(ready.worker, ready.incarnation, std::move(ready.sent));
  }
}

}  // namespace mr::master
