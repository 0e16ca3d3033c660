#include "worker/daemon/attempt.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/digest.h"

namespace mr::worker {
namespace {

// A copy that cannot be read is tried again after 50 ms, 100 ms, ... 2 s, about 8 s in all: longer
// than a restart of a connection takes, shorter than anybody waits (guess). The directory usually
// names another copy, or takes this one away, before.
constexpr uint32_t kMaxTries = 9;
constexpr Duration kFirstRetry = Millis(50);
constexpr Duration kLongestRetry = Seconds(2);

Duration RetryDelay(uint32_t tries) {
  Duration delay = kFirstRetry;
  for (uint32_t i = 1; i < tries && delay < kLongestRetry; ++i) delay = delay * 2;
  return std::min(delay, kLongestRetry);
}

}  // namespace

bool SameCopy(const CopyLocation& a, const CopyLocation& b) {
  return a.output == b.output && a.attempt == b.attempt && a.worker == b.worker && a.incarnation == b.incarnation;
}

const char* StateName(AttemptState state) {
  switch (state) {
    case AttemptState::kNew: return "new";
    case AttemptState::kPreparing: return "preparing";
    case AttemptState::kRunning: return "running";
    case AttemptState::kStopping: return "stopping";
    case AttemptState::kStoring: return "storing";
    case AttemptState::kReporting: return "reporting";
    case AttemptState::kEnded: return "ended";
  }
  return "unknown";
}

AttemptMachine::AttemptMachine(std::vector<Read> reads, WorkerId own, uint64_t spread, bool by_bind)
    : own_(own), spread_(spread), by_bind_(by_bind), reads_left_(reads.size()) {
  reads_.reserve(reads.size());
  for (uint32_t i = 0; i < reads.size(); ++i) {
    upstream_[{reads[i].stage, reads[i].task}].reads.push_back(i);
    reads_.push_back({.what = reads[i]});
  }
}

std::vector<AttemptAction> AttemptMachine::Start() {
  MR_CHECK(state_ == AttemptState::kNew, "an attempt is started once");
  state_ = AttemptState::kPreparing;
  holds_slot_ = true;
  return {action::Prepare{}};
}

std::vector<AttemptAction> AttemptMachine::Step(const AttemptEvent& event) {
  Actions out;
  std::visit([&](const auto& e) { On(e, &out); }, event);
  return out;
}

bool AttemptMachine::waiting() const {
  if (state_ != AttemptState::kRunning || reads_left_ == 0) return false;
  return std::any_of(reads_.begin(), reads_.end(),
                     [](const ReadEntry& r) { return r.state == ReadState::kIdle || r.state == ReadState::kPausing; });
}

void AttemptMachine::On(const event::Prepared&, Actions* out) {
  if (state_ != AttemptState::kPreparing) return;
  state_ = AttemptState::kRunning;
  out->push_back(action::StartChild{});
  out->push_back(action::ReportStarted{});
  for (uint32_t i = 0; i < reads_.size(); ++i) FetchIfPossible(i, out);
}

void AttemptMachine::On(const event::PrepareFailed& e, Actions* out) {
  if (state_ != AttemptState::kPreparing) return;
  Finish(action::ReportFailed{e.kind, e.message}, out);
}

void AttemptMachine::On(const event::CopyAdded& e, Actions* out) {
  if (state_ != AttemptState::kPreparing && state_ != AttemptState::kRunning) return;
  const auto it = upstream_.find({e.copy->output.task.stage, e.copy->output.task.task});
  if (it == upstream_.end()) return;
  Upstream& upstream = it->second;
  if (by_bind_) {
    // What the directory has is for others; and a bind is repeated after each registration.
    if (!e.bound || (upstream.bound != nullptr && SameCopy(*upstream.bound, *e.copy))) return;
    upstream.copies.clear();
  }
  std::erase_if(upstream.copies, [&](const CopyPtr& c) { return SameCopy(*c, *e.copy); });
  upstream.copies.push_back(e.copy);
  if (e.bound) upstream.bound = e.copy;
  if (state_ != AttemptState::kRunning) return;
  for (const uint32_t i : upstream.reads) {
    // Where one copy failed, news of one is worth an attempt at once; another one has almost all tries before it, so
    // that a reader outlives the time in which what was damaged is made again.
    if (reads_[i].state == ReadState::kPausing) reads_[i].state = ReadState::kIdle;
    if (reads_[i].from != nullptr && !SameCopy(*reads_[i].from, *e.copy)) {
      reads_[i].tries = std::min(reads_[i].tries, 1u);  // not 0: the one that failed still comes last
    }
    FetchIfPossible(i, out);
  }
}

void AttemptMachine::On(const event::CopyRemoved& e, Actions*) {
  const auto it = upstream_.find({e.copy->output.task.stage, e.copy->output.task.task});
  if (it == upstream_.end()) return;
  // A fetch under way goes on: its end says whether the bytes were still there.
  std::erase_if(it->second.copies, [&](const CopyPtr& c) { return SameCopy(*c, *e.copy); });
  if (it->second.bound != nullptr && SameCopy(*it->second.bound, *e.copy)) it->second.bound = nullptr;
}

void AttemptMachine::On(const event::ReadDone& e, Actions* out) {
  if (state_ != AttemptState::kRunning || e.read >= reads_.size()) return;
  ReadEntry& read = reads_[e.read];
  if (read.state != ReadState::kFetching) return;
  read.state = ReadState::kDone;
  --reads_left_;
  out->push_back(action::ReportFetchDone{e.read, read.from});
  if (reads_left_ == 0 && child_done_) {
    state_ = AttemptState::kStoring;
    out->push_back(action::StoreOutput{});
  }
}

void AttemptMachine::On(const event::ReadFailed& e, Actions* out) {
  if (state_ != AttemptState::kRunning || e.read >= reads_.size()) return;
  ReadEntry& read = reads_[e.read];
  if (read.state != ReadState::kFetching) return;
  ++read.tries;
  out->push_back(action::ReportFetchFailed{read.from, e.why, e.unreachable});
  if (e.delivered == Delivered::kPartOfPartition || child_done_ || read.tries >= kMaxTries) {
    return Stop(action::ReportFailed{FailureKind::kLost, "cannot read an input: " + e.why}, out);
  }
  if (e.delivered == Delivered::kWholePartitions) read.pinned = true;
  const Upstream& upstream = upstream_.at({read.what.stage, read.what.task});
  const CopyPtr other = Choose(read, upstream);
  if (other != nullptr && !SameCopy(*other, *read.from)) {
    read.state = ReadState::kIdle;
    return FetchIfPossible(e.read, out);
  }
  read.state = ReadState::kPausing;
  out->push_back(action::RetryLater{e.read, RetryDelay(read.tries)});
}

void AttemptMachine::On(const event::RetryDue& e, Actions* out) {
  if (state_ != AttemptState::kRunning || e.read >= reads_.size()) return;
  ReadEntry& read = reads_[e.read];
  if (read.state != ReadState::kPausing) return;
  read.state = ReadState::kIdle;
  FetchIfPossible(e.read, out);
}

void AttemptMachine::On(const event::ChildEnded& e, Actions* out) {
  if (state_ == AttemptState::kStopping) {
    const AttemptAction report = std::move(pending_report_);
    return Finish(report, out);
  }
  if (state_ != AttemptState::kRunning || child_done_) return;
  if (e.failed) {
    out->push_back(action::StopFetching{});
    return Finish(action::ReportFailed{e.kind, e.message}, out);
  }
  child_done_ = true;
  if (reads_left_ > 0) return;  // the fetcher's word about the last bytes is on its way
  state_ = AttemptState::kStoring;
  out->push_back(action::StoreOutput{});
}

void AttemptMachine::On(const event::OutputStored&, Actions* out) {
  if (state_ != AttemptState::kStoring) return;
  reported_finish_ = true;
  Finish(action::ReportFinished{ConsumedList()}, out);
}

void AttemptMachine::On(const event::OutputFailed& e, Actions* out) {
  if (state_ != AttemptState::kStoring) return;
  Finish(action::ReportFailed{FailureKind::kEnvironment, e.message}, out);
}

void AttemptMachine::On(const event::KillAsked&, Actions* out) {
  switch (state_) {
    case AttemptState::kPreparing:
    case AttemptState::kRunning:
    case AttemptState::kStoring: return Stop(action::ReportKilled{}, out);
    case AttemptState::kStopping:
      pending_report_ = action::ReportKilled{};  // asked for is not a failure any more
      return;
    case AttemptState::kNew:
    case AttemptState::kReporting:  // the answer to the report decides
    case AttemptState::kEnded: return;
  }
}

void AttemptMachine::On(const event::TakeBackAsked&, Actions* out) {
  // With all inputs here it will finish by itself: the taking back came too late.
  if (inputs_done()) return;
  if (state_ == AttemptState::kPreparing || state_ == AttemptState::kRunning) {
    Stop(action::ReportKilled{}, out);
  }
}

void AttemptMachine::On(const event::Answered& e, Actions* out) {
  if (state_ != AttemptState::kReporting) return;
  state_ = AttemptState::kEnded;
  if (reported_finish_) {
    const bool keep = e.verdict == Verdict::kWinner || e.verdict == Verdict::kCopyKept;
    if (keep) {
      out->push_back(action::KeepOutput{});
    } else {
      out->push_back(action::DropOutput{});
    }
  }
  out->push_back(action::Forget{});
}

void AttemptMachine::FetchIfPossible(uint32_t i, Actions* out) {
  ReadEntry& read = reads_[i];
  if (state_ != AttemptState::kRunning || read.state != ReadState::kIdle) return;
  const Upstream& upstream = upstream_.at({read.what.stage, read.what.task});
  const CopyPtr copy = Choose(read, upstream);
  if (copy == nullptr) {
    if (upstream.copies.empty()) return;  // waits for one
    // The output was made again and differs; what the child already has cannot be taken back.
    return Stop(
        action::ReportFailed{FailureKind::kLost, "an input was made again with other content while it was being read"},
        out);
  }
  read.state = ReadState::kFetching;
  read.from = copy;
  out->push_back(action::Fetch{i, copy});
}

CopyPtr AttemptMachine::Choose(const ReadEntry& read, const Upstream& upstream) const {
  const CopyLocation* relied = ReliedOn(upstream);
  CopyPtr best;
  uint64_t best_rank = 0;
  for (const CopyPtr& copy : upstream.copies) {
    if (relied != nullptr && relied->content != copy->content) continue;
    // The copy that failed last comes last; then bound, local, and a draw among the rest.
    uint64_t rank = 1 + (MixHash(MixHash(spread_, copy->worker.value), copy->output.task.task) >> 8);
    if (copy->worker == own_) rank |= 1ull << 61;
    if (upstream.bound != nullptr && SameCopy(*upstream.bound, *copy)) rank |= 1ull << 62;
    if (read.tries > 0 && read.from != nullptr && SameCopy(*read.from, *copy)) rank = 0;
    if (best == nullptr || rank > best_rank) {
      best = copy;
      best_rank = rank;
    }
  }
  return best;
}

const CopyLocation* AttemptMachine::ReliedOn(const Upstream& upstream) const {
  for (const uint32_t i : upstream.reads) {
    const ReadEntry& read = reads_[i];
    const bool relied = read.pinned || read.state == ReadState::kFetching || read.state == ReadState::kDone;
    if (relied) return read.from.get();
  }
  return nullptr;
}

void AttemptMachine::Stop(AttemptAction report, Actions* out) {
  if (state_ == AttemptState::kRunning) {
    out->push_back(action::StopFetching{});
    if (!child_done_) {
      state_ = AttemptState::kStopping;
      pending_report_ = std::move(report);
      out->push_back(action::KillChild{});
      return;
    }
  }
  Finish(std::move(report), out);
}

void AttemptMachine::Finish(AttemptAction report, Actions* out) {
  if (!std::holds_alternative<action::ReportFinished>(report)) out->push_back(action::DropOutput{});
  state_ = AttemptState::kReporting;
  holds_slot_ = false;
  out->push_back(std::move(report));
  out->push_back(action::FreeSlot{});
}

std::vector<Consumed> AttemptMachine::ConsumedList() const {
  std::vector<Consumed> out;
  out.reserve(upstream_.size());
  for (const auto& [key, upstream] : upstream_) {
    const CopyLocation& from = *reads_[upstream.reads.front()].from;
    out.push_back({key.first, key.second, from.output.generation, from.content});
  }
  return out;
}

}  // namespace mr::worker
