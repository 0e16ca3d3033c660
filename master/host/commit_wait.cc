// The last report of a job whose output is in the block store: it is fed to the scheduler, which
// commits the job, only when each block of the output has a replica on a live worker.
//
// A part that was finished earlier may have lost its only replica since then. Its worker gets the
// time of a lost worker (NamespaceConfig::repair_delay) to come back; after that the report is fed,
// and the job fails with the name of the block. The wait leaves no trace in the journal: a report
// that is held has no verdict yet, and its worker sends it again to the next master.
#include <glog/logging.h>

#include <algorithm>

#include "master/host/brain.h"

namespace mr::master {
bool Brain::HoldForReplicas(WorkerId id, Incarnation incarnation, const NumberedReport& sent) {
  const mr::Report& report = sent.report;
  if (!std::holds_alternative<report::Finished>(report.what)) return false;
  const auto held = std::find_if(held_reports_.begin(), held_reports_.end(), [&](const HeldReport& h) {
    return h.worker == id && h.incarnation == incarnation && h.sent.report.attempt == report.attempt;
  });
  if (held != held_reports_.end()) {
    held->sent = sent;  // sent again behind a registration
    return true;
  }
  const auto lost = core_.WhyHeld({report.attempt, id, incarnation}, std::get<report::Finished>(report.what));
  if (!lost) return false;
  LOG(WARNING) << Name(report.attempt.task.job) << " is not committed yet: " << lost->text;
  held_reports_.push_back({id, incarnation, clock_.Lived(), sent, lost->id});
  return true;
}

bool Brain::StillHeld(HeldReport* held) {
  const mr::Report& report = held->sent.report;
  const Reporter from{report.attempt, held->worker, held->incarnation};
  // All blocks are walked again only when the one that keeps it is back.
  if (core_.files().Unreadable(held->keeps)) return core_.WouldCommit(from);
  const auto lost = core_.WhyHeld(from, std::get<report::Finished>(report.what));
  if (lost) held->keeps = lost->id;
  return lost.has_value();
}

void Brain::FeedHeldReports() {
  const Instant now = clock_.Lived();
  // A worker that came back while this master stood still is heard first.
  const bool may_be_over = !clock_.CatchesUp(now) && !core_.files().in_safe_mode();
  for (size_t i = 0; i < held_reports_.size();) {
    HeldReport& held = held_reports_[i];
    WorkerView* worker = core_.workers().FindAlive(held.worker, held.incarnation);
    const bool over = may_be_over && now - held.since >= core_.files().config().repair_delay;
    if (worker != nullptr && !over && StillHeld(&held)) {
      ++i;
      continue;
    }
    HeldReport ready = std::move(held);
    held_reports_.erase(held_reports_.begin() + static_cast<ptrdiff_t>(i));
    if (worker == nullptr) continue;  // the attempt is lost with it
    Verdict verdict = Verdict::kNoted;
    const uint64_t number = ready.sent.number;
    const uint64_t hold = FeedReport(ready.worker, ready.incarnation, std::move(ready.sent.report), &verdict);
    driver_.Hold(hold, [this, id = ready.worker, incarnation = ready.incarnation, number, verdict] {
      dispatcher_.GiveVerdict(id, incarnation, number, verdict);
    });
  }
}

}  // namespace mr::master
