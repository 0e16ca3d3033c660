// What one attempt does on its worker, as a pure state machine: events in, actions out. No I/O, no
// clock, no thread; the runner (attempt_runner.h) carries the actions out and brings the events.
//
//   preparing -> running -> storing -> reporting -> ended
//        \          \-> stopping -/ (a kill or a failure waits for the child's end)
//
// While it runs it may be waiting: for copies of upstream outputs that it reads. A copy that cannot
// be read is tried again, or another one instead, as long as nothing of the failing partition has
// reached the child. Which copy: of those that the directory has, or (by_bind) the one that the master
// named last for this reader and this output, and no other: without one it waits. Every attempt ends in exactly one
// final report (finished, failed, killed), and what its answer says decides whether the output stays. Events that come
// late are ignored.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "worker/shuffle/fetch.h"

namespace mr::worker {

// As mr::sched::FailureKind; the number travels.
enum class FailureKind : uint8_t {
  kUser = 1,
  kEnvironment = 2,
  kLost = 3,
  kKilled = 4,
  kPreempted = 5,
  kUserFinal = 6,  // as kUser, where another attempt would fail alike
};

// What the attempt reads of one upstream task for one of its inputs.
struct Read {
  uint32_t input = 0;
  uint32_t stage = 0, task = 0;  // upstream
  uint32_t partition_begin = 0, partition_end = 0;
};

struct Consumed {
  uint32_t stage = 0, task = 0;
  uint32_t generation = 0;
  Digest128 content;
  bool operator==(const Consumed&) const = default;
};

using CopyPtr = std::shared_ptr<const CopyLocation>;
// The same output made by the same attempt on the same life of a worker.
bool SameCopy(const CopyLocation& a, const CopyLocation& b);

// How much of a read had reached the child when its copy failed.
enum class Delivered : uint8_t {
  kNothing = 0,
  kWholePartitions = 1,  // some of it, behind which a copy of equal content can go on
  kPartOfPartition = 2,  // what no other copy can go on from: it cannot be taken back from the child
};

// The master's answer to a final report.
enum class Verdict : uint8_t { kNoted = 0, kWinner = 1, kCopyKept = 2, kCopyDropped = 3, kDiffers = 4, kStale = 5 };

namespace event {
struct Prepared {};  // inputs are open, the library is here
struct PrepareFailed {
  std::string message;
  FailureKind kind = FailureKind::kEnvironment;
};
struct CopyAdded {
  CopyPtr copy;
  bool bound = false;
};  // bound: named to this reader, not in the directory
struct CopyRemoved {
  CopyPtr copy;
};
struct ReadDone {
  uint32_t read = 0;
};
// unreachable: the copy's worker did not answer, which says nothing about the bytes.
struct ReadFailed {
  uint32_t read = 0;
  Delivered delivered = Delivered::kNothing;
  std::string why;
  bool unreachable = false;
};
struct RetryDue {
  uint32_t read = 0;
};
// failed: not at its own good end. What the child said is kept by the runner.
struct ChildEnded {
  bool failed = false;
  FailureKind kind = FailureKind::kUser;
  std::string message;
};
struct OutputStored {};
struct OutputFailed {
  std::string message;
};
struct KillAsked {};
struct TakeBackAsked {};
struct Answered {
  Verdict verdict = Verdict::kNoted;
};
}  // namespace event

using AttemptEvent =
    std::variant<event::Prepared, event::PrepareFailed, event::CopyAdded, event::CopyRemoved, event::ReadDone,
                 event::ReadFailed, event::RetryDue, event::ChildEnded, event::OutputStored, event::OutputFailed,
                 event::KillAsked, event::TakeBackAsked, event::Answered>;

namespace action {
struct Prepare {};
struct StartChild {};
struct Fetch {
  uint32_t read = 0;
  CopyPtr from;
};
struct RetryLater {
  uint32_t read = 0;
  Duration delay;
};
struct StopFetching {};
struct KillChild {};
struct StoreOutput {};
struct KeepOutput {};
struct DropOutput {};
struct FreeSlot {};
struct ReportStarted {};
struct ReportFetchDone {
  uint32_t read = 0;
  CopyPtr from;
};
struct ReportFetchFailed {
  CopyPtr from;
  std::string why;
  bool unreachable = false;
};
struct ReportFinished {
  std::vector<Consumed> consumed;
};
struct ReportFailed {
  FailureKind kind = FailureKind::kUser;
  std::string message;
};
struct ReportKilled {};
struct Forget {};  // ended: nothing of it is needed any more
}  // namespace action

using AttemptAction =
    std::variant<action::Prepare, action::StartChild, action::Fetch, action::RetryLater, action::StopFetching,
                 action::KillChild, action::StoreOutput, action::KeepOutput, action::DropOutput, action::FreeSlot,
                 action::ReportStarted, action::ReportFetchDone, action::ReportFetchFailed, action::ReportFinished,
                 action::ReportFailed, action::ReportKilled, action::Forget>;

enum class AttemptState : uint8_t { kNew, kPreparing, kRunning, kStopping, kStoring, kReporting, kEnded };
const char* StateName(AttemptState state);

class AttemptMachine {
 public:
  // own: this worker; a copy here is read before one elsewhere. spread: any number that differs
  // between readers, so that they do not all choose the same copy.
  AttemptMachine(std::vector<Read> reads, WorkerId own, uint64_t spread, bool by_bind = false);

  // kNew -> kPreparing.
  std::vector<AttemptAction> Start();
  std::vector<AttemptAction> Step(const AttemptEvent& event);

  AttemptState state() const { return state_; }
  // Every read has been delivered and verified (at once where there are none).
  bool inputs_done() const { return reads_left_ == 0; }
  // It runs, and at least one read has no copy to come from.
  bool waiting() const;
  // The child, or what prepares for it, is there.
  bool holds_slot() const { return holds_slot_; }
  const Read& read(uint32_t i) const { return reads_[i].what; }
  uint32_t reads() const { return static_cast<uint32_t>(reads_.size()); }
  bool by_bind() const { return by_bind_; }

 private:
  enum class ReadState : uint8_t { kIdle, kFetching, kPausing, kDone };
  struct ReadEntry {
    Read what;
    ReadState state = ReadState::kIdle;
    uint32_t tries = 0;   // that failed, about, since the last other copy came
    bool pinned = false;  // some of `from` was delivered: only equal content may follow
    CopyPtr from;         // being read, or read last
  };
  struct Upstream {
    std::vector<uint32_t> reads;
    std::vector<CopyPtr> copies;  // by_bind: the bound one, or none
    CopyPtr bound;
  };
  using Actions = std::vector<AttemptAction>;

  void On(const event::Prepared&, Actions* out);
  void On(const event::PrepareFailed& e, Actions* out);
  void On(const event::CopyAdded& e, Actions* out);
  void On(const event::CopyRemoved& e, Actions* out);
  void On(const event::ReadDone& e, Actions* out);
  void On(const event::ReadFailed& e, Actions* out);
  void On(const event::RetryDue& e, Actions* out);
  void On(const event::ChildEnded& e, Actions* out);
  void On(const event::OutputStored&, Actions* out);
  void On(const event::OutputFailed& e, Actions* out);
  void On(const event::KillAsked&, Actions* out);
  void On(const event::TakeBackAsked&, Actions* out);
  void On(const event::Answered& e, Actions* out);

  void FetchIfPossible(uint32_t read, Actions* out);
  CopyPtr Choose(const ReadEntry& read, const Upstream& upstream) const;
  // Ends the attempt with this final report, now or when the child is gone.
  void Stop(AttemptAction report, Actions* out);
  void Finish(AttemptAction report, Actions* out);
  std::vector<Consumed> ConsumedList() const;
  // The upstream task's content that some read of it has already relied on, or null.
  const CopyLocation* ReliedOn(const Upstream& upstream) const;

  const WorkerId own_;
  const uint64_t spread_;
  const bool by_bind_;
  std::vector<ReadEntry> reads_;
  std::map<std::pair<uint32_t, uint32_t>, Upstream> upstream_;  // by (stage, task)
  size_t reads_left_ = 0;
  AttemptState state_ = AttemptState::kNew;
  bool holds_slot_ = false;
  bool child_done_ = false;  // it came to its good end; the last reads are being confirmed
  bool reported_finish_ = false;
  AttemptAction pending_report_;  // of kStopping
};

}  // namespace mr::worker
