// The lines of `why`: decisions with their subjects and reasons. Those of tasks are packed, since each task of an open
// job and of the newest ended ones has two or more. Two WhyLines have 272 bytes and the numbers of their reasons;
// packed they have 58.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "master/sched/reason.h"

namespace mr::master {

// Kinds of decisions. The numbers are in snapshots.
enum class What : uint8_t {
  kLaunched = 1,
  kCommitted,
  kKeptAsReplica,
  kRefused,
  kAskedToStop,
  kTakenBack,
  kBound,
  kReplicaDropped,
  kStagePlanned,
  kJobCommitted,
  kJobFailed,
  kJobKilled,
  kOtherContent,
  kTakenOver,
  kSpared,
  kReplicated,
  kReplicaMade,
  kReplicaNotMade,
  kAllotted,
  kOutputLost,
};
const char* Word(What what);

// One line of `why`: a decision, its subject, and the reason.
struct WhyLine {
  Instant at;
  What what = What::kLaunched;
  AttemptId attempt;  // zero where the job is meant
  WorkerId worker;
  sched::Reason reason;
  std::string text;  // of a worker; if not empty, shown in place of the reason
};

inline constexpr size_t kWhyPerTask = 64;  // bounds memory; the oldest go first
// The most of them that bind a replica. A reader of many outputs has one per output, and its launch must stay.
inline constexpr size_t kBoundPerTask = 48;

// The newest lines of one task, packed. Cost of All: it decodes them.
class WhyLines {
 public:
  size_t size() const { return size_; }
  // Adds a line, and drops the oldest one above a limit. Cost: no allocation per line in the long run.
  void Add(const WhyLine& line);
  // All three return lines, the oldest first. Of and On decode no others: a query walks all tasks of a job.
  std::vector<WhyLine> All() const;
  std::vector<WhyLine> Of(What what) const;
  std::vector<WhyLine> On(WorkerId worker) const;

 private:
  // Erases the oldest line, or the oldest one that binds a replica. Requires: there is one.
  void EraseOldest(bool bound);

  // For each line its length and its bytes; the first one is `what`.
  std::string bytes_;
  uint8_t size_ = 0, bound_ = 0;  // lines; those that bind a replica
};

// A reason, packed: mostly without an allocation.
class PackedReason {
 public:
  PackedReason() = default;
  PackedReason(const sched::Reason& reason);  // NOLINT(google-explicit-constructor)
  operator sched::Reason() const;             // NOLINT(google-explicit-constructor)
  sched::ReasonCode code() const {
    return bytes_.empty() ? sched::ReasonCode::kNone : static_cast<sched::ReasonCode>(bytes_[0]);
  }

 private:
  std::string bytes_;  // empty: Reason()
};

}  // namespace mr::master
