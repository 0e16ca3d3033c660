#include "worker/daemon/attempt.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/digest.h"

namespace mr::worker {
namespace {

// A replica that cannot be read is retried after 50 ms, 100 ms, ... 2 s, for about 8 s in all. That is longer than a
// reconnection takes and shorter than a user would wait (guess). Usually the directory names another replica, or
// removes this one, earlier.
constexpr uint32_t kMaxTries = 9;
constexpr Duration kFirstRetry = Millis(50);
constexpr Duration kLongestRetry = Seconds(2);

Duration RetryDelay(uint32_t tries) {
  Duration delay = kFirstRetry;
  for (uint32_t i = 1; i < tries && delay < kLongestRetry; ++i) delay = delay * 2;
  return std::min(delay, kLongestRetry);
}

}  // namespace

bool SameReplica(const ReplicaLocation& a, const ReplicaLocation& b) {
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
  // Refused, it does not count against its task.
  if (e.disk_full) return Finish(action::ReportRefused{e.message}, out);
  Finish(action::ReportFailed{e.kind, e.message}, out);
}

void AttemptMachine::On(const event::ReplicaAdded& e, Actions* out) {
  if (state_ != AttemptState::kPreparing && state_ != AttemptState::kRunning) return;
  const auto it = upstream_.find({e.replica->output.task.stage, e.replica->output.task.task});
  if (it == upstream_.end()) return;
  Upstream& upstream = it->second;
  if (by_bind_) {
    // A by_bind reader ignores the directory. The master repeats a bind after each registration.
    if (!e.bound || (upstream.bound != nullptr && SameReplica(*upstream.bound, *e.replica))) return;
    upstream.replicas.clear();
  }
  std::erase_if(upstream.replicas, [&](const ReplicaPtr& c) { return SameReplica(*c, *e.replica); });
  upstream.replicas.push_back(e.replica);
  if (e.bound) upstream.bound = e.replica;
  if (state_ != AttemptState::kRunning) return;
  for (const uint32_t i : upstream.reads) {
    // A new replica ends a pause at once. If it is another one, it gets almost all tries: a reader must keep trying
    // until a damaged output is made again.
    if (reads_[i].state == ReadState::kPausing) reads_[i].state = ReadState::kIdle;
    if (reads_[i].from != nullptr && !SameReplica(*reads_[i].from, *e.replica)) {
      reads_[i].tries = std::min(reads_[i].tries, 1u);  // not 0: the replica that failed stays the last choice
    }
    FetchIfPossible(i, out);
  }
}

void AttemptMachine::On(const event::ReplicaRemoved& e, Actions*) {
  const auto it = upstream_.find({e.replica->output.task.stage, e.replica->output.task.task});
  if (it == upstream_.end()) return;
  // A fetch in progress continues: its end shows whether the bytes were still there.
  std::erase_if(it->second.replicas, [&](const ReplicaPtr& c) { return SameReplica(*c, *e.replica); });
  if (it->second.bound != nullptr && SameReplica(*it->second.bound, *e.replica)) it->second.bound = nullptr;
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
  const ReplicaPtr other = Choose(read, upstream);
  if (other != nullptr && !SameReplica(*other, *read.from)) {
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
  if (reads_left_ > 0) return;  // the fetcher has yet to confirm the last bytes
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
      pending_report_ = action::ReportKilled{};  // a requested end is not a failure
      return;
    case AttemptState::kNew:
    case AttemptState::kReporting:  // the answer to the report decides
    case AttemptState::kEnded: return;
  }
}

void AttemptMachine::On(const event::TakeBackAsked&, Actions* out) {
  // If all inputs are here, the attempt finishes by itself: the request came too late.
  if (inputs_done()) return;
  if (state_ == AttemptState::kPreparing || state_ == AttemptState::kRunning) {
    Stop(action::ReportKilled{}, out);
  }
}

void AttemptMachine::On(const event::Answered& e, Actions* out) {
  if (state_ != AttemptState::kReporting) return;
  state_ = AttemptState::kEnded;
  if (reported_finish_) {
    const bool keep = e.verdict == Verdict::kWinner || e.verdict == Verdict::kReplicaKept;
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
  const ReplicaPtr replica = Choose(read, upstream);
  if (replica == nullptr) {
    if (upstream.replicas.empty()) return;  // waits for a replica
    // The output was made again with other content, and the child cannot give back its part.
    return Stop(
        action::ReportFailed{FailureKind::kLost, "an input was made again with other content while it was being read"},
        out);
  }
  read.state = ReadState::kFetching;
  read.from = replica;
  out->push_back(action::Fetch{i, replica});
}

ReplicaPtr AttemptMachine::Choose(const ReadEntry& read, const Upstream& upstream) const {
  const ReplicaLocation* relied = ReliedOn(upstream);
  ReplicaPtr best;
  uint64_t best_rank = 0;
  for (const ReplicaPtr& replica : upstream.replicas) {
    if (relied != nullptr && relied->content != replica->content) continue;
    // The bound replica comes first, then a local one, then a hash decides. The one that failed last comes last.
    uint64_t rank = 1 + (MixHash(MixHash(spread_, replica->worker.value), replica->output.task.task) >> 8);
    if (replica->worker == own_) rank |= 1ull << 61;
    if (upstream.bound != nullptr && SameReplica(*upstream.bound, *replica)) rank |= 1ull << 62;
    if (read.tries > 0 && read.from != nullptr && SameReplica(*read.from, *replica)) rank = 0;
    if (best == nullptr || rank > best_rank) {
      best = replica;
      best_rank = rank;
    }
  }
  return best;
}

const ReplicaLocation* AttemptMachine::ReliedOn(const Upstream& upstream) const {
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
    const ReplicaLocation& from = *reads_[upstream.reads.front()].from;
    out.push_back({key.first, key.second, from.output.generation, from.content});
  }
  return out;
}

}  // namespace mr::worker
