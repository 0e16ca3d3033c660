// The state machine of one attempt on its worker. Pure: events in, actions out; no I/O, no clock, no thread. The runner
// (attempt_runner.h) carries out the actions and reports the events.
//
//   preparing -> running -> storing -> reporting -> ended
//        \          \-> stopping -/ (a kill or a failure waits for the child's end)
//
// A running attempt may wait for replicas of the upstream outputs that it reads. After a failed read it retries, or
// reads another replica, unless the child holds bytes that no replica can continue (Delivered). It chooses among the
// replicas in the directory. With by_bind it reads only the replica that the master bound to it last for that output,
// and waits while there is none.
//
// Every attempt ends in exactly one final report (finished, failed, killed). The master's answer decides whether its
// output stays. Late events are ignored.
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
#include "common/model/command.h"
#include "worker/shuffle/fetch.h"

namespace mr::worker {

// One upstream task that the attempt reads for one of its inputs.
struct Read {
  uint32_t input = 0;
  uint32_t stage = 0, task = 0;  // upstream
  uint32_t partition_begin = 0, partition_end = 0;
};

// Returns whether both name the same output, made by the same attempt, on the same incarnation of a worker.
bool SameReplica(const ReplicaLocation& a, const ReplicaLocation& b);

// How much of a read had reached the child when its replica failed.
enum class Delivered : uint8_t {
  kNothing = 0,
  kWholePartitions = 1,  // a part that a replica of equal content can continue
  kPartOfPartition = 2,  // a part that no other replica can continue: the child cannot give it back
};

namespace event {
struct Prepared {};  // the inputs are open and the library is here
struct PrepareFailed {
  std::string message;
  FailureKind kind = FailureKind::kEnvironment;
  bool disk_full = false;  // it needed room on the worker's disk, so the worker refuses the attempt
};
struct ReplicaAdded {
  ReplicaPtr replica;
  bool bound = false;
};  // bound: the master named it to this reader; it is not from the directory
struct ReplicaRemoved {
  ReplicaPtr replica;
};
struct ReadDone {
  uint32_t read = 0;
};
// A read has failed. unreachable: the replica's worker did not answer; its bytes may be good.
struct ReadFailed {
  uint32_t read = 0;
  Delivered delivered = Delivered::kNothing;
  std::string why;
  bool unreachable = false;
};
struct RetryDue {
  uint32_t read = 0;
};
// The child has ended. failed: not by a regular end. The runner has its result.
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
    std::variant<event::Prepared, event::PrepareFailed, event::ReplicaAdded, event::ReplicaRemoved, event::ReadDone,
                 event::ReadFailed, event::RetryDue, event::ChildEnded, event::OutputStored, event::OutputFailed,
                 event::KillAsked, event::TakeBackAsked, event::Answered>;

namespace action {
struct Prepare {};
struct StartChild {};
struct Fetch {
  uint32_t read = 0;
  ReplicaPtr from;
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
  ReplicaPtr from;
};
struct ReportFetchFailed {
  ReplicaPtr from;
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
struct ReportRefused {
  std::string why;
};
struct Forget {};  // it has ended, and its record can be removed
}  // namespace action

using AttemptAction =
    std::variant<action::Prepare, action::StartChild, action::Fetch, action::RetryLater, action::StopFetching,
                 action::KillChild, action::StoreOutput, action::KeepOutput, action::DropOutput, action::FreeSlot,
                 action::ReportStarted, action::ReportFetchDone, action::ReportFetchFailed, action::ReportFinished,
                 action::ReportFailed, action::ReportKilled, action::ReportRefused, action::Forget>;

enum class AttemptState : uint8_t { kNew, kPreparing, kRunning, kStopping, kStoring, kReporting, kEnded };
const char* StateName(AttemptState state);

class AttemptMachine {
 public:
  // own: this worker. A local replica is preferred. spread: differs between readers, so that they do not all choose the
  // same replica.
  AttemptMachine(std::vector<Read> reads, WorkerId own, uint64_t spread, bool by_bind = false);

  // Moves from kNew to kPreparing.
  std::vector<AttemptAction> Start();
  std::vector<AttemptAction> Step(const AttemptEvent& event);

  AttemptState state() const { return state_; }
  // Returns whether its output is stored, and the answer to the report of that is not here.
  bool output_unanswered() const { return state_ == AttemptState::kReporting && reported_finish_; }
  // Returns whether every read has been delivered and verified. True from the start if there are none.
  bool inputs_done() const { return reads_left_ == 0; }
  // Returns whether it runs and at least one read has no replica to read from.
  bool waiting() const;
  // Returns whether the child, or its preparation, occupies a slot.
  bool holds_slot() const { return holds_slot_; }
  const Read& read(uint32_t i) const { return reads_[i].what; }
  uint32_t reads() const { return static_cast<uint32_t>(reads_.size()); }
  bool by_bind() const { return by_bind_; }

 private:
  enum class ReadState : uint8_t { kIdle, kFetching, kPausing, kDone };
  struct ReadEntry {
    Read what;
    ReadState state = ReadState::kIdle;
    uint32_t tries = 0;   // failed ones, approximately, since another replica was added
    bool pinned = false;  // a part of `from` was delivered: only a replica of equal content may follow
    ReplicaPtr from;      // being read, or read last
  };
  struct Upstream {
    std::vector<uint32_t> reads;
    std::vector<ReplicaPtr> replicas;  // by_bind: at most the bound one
    ReplicaPtr bound;
  };
  using Actions = std::vector<AttemptAction>;

  void On(const event::Prepared&, Actions* out);
  void On(const event::PrepareFailed& e, Actions* out);
  void On(const event::ReplicaAdded& e, Actions* out);
  void On(const event::ReplicaRemoved& e, Actions* out);
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
  ReplicaPtr Choose(const ReadEntry& read, const Upstream& upstream) const;
  // Ends the attempt with this final report, at once or when the child has ended.
  void Stop(AttemptAction report, Actions* out);
  void Finish(AttemptAction report, Actions* out);
  std::vector<Consumed> ConsumedList() const;
  // Returns a replica that some read of this upstream task already relies on, or null. All reads need its content.
  const ReplicaLocation* ReliedOn(const Upstream& upstream) const;

  const WorkerId own_;
  const uint64_t spread_;
  const bool by_bind_;
  std::vector<ReadEntry> reads_;
  std::map<std::pair<uint32_t, uint32_t>, Upstream> upstream_;  // by (stage, task)
  size_t reads_left_ = 0;
  AttemptState state_ = AttemptState::kNew;
  bool holds_slot_ = false;
  bool child_done_ = false;  // the child came to a regular end; the last reads are being confirmed
  bool reported_finish_ = false;
  AttemptAction pending_report_;  // in kStopping
};

}  // namespace mr::worker
