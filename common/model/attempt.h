// Why an attempt exists, why it failed, and what the master answers to its report.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mr {

// The reason for which an attempt was launched. kOpportunistic: a clone on an idle slot, lent until other work can use
// it.
enum class Cause : uint8_t { kFirst = 1, kRetry = 2, kClone = 3, kSpeculative = 4, kRestart = 5, kOpportunistic = 6 };

inline constexpr size_t kCauses = 6;
inline size_t CauseIndex(Cause cause) { return static_cast<size_t>(cause) - 1; }
// Returns "first", "retry", "clone", "speculative", "restart" or "opportunistic".
const char* CauseName(Cause cause);

// The kind of a failure. Only kUser is charged to the retry budget. kLost: the worker or an input is lost. kUserFinal:
// like kUser, but no other attempt would do better, so the job fails at once. kPreempted: the attempt gave back a lent
// slot, or its worker refused it; nobody's fault. Reasons with `preempted` in their name are another thing: those kills
// are kKilled.
enum class FailureKind : uint8_t {
  kUser = 1,
  kEnvironment = 2,
  kLost = 3,
  kKilled = 4,
  kPreempted = 5,
  kUserFinal = 6
};

// Returns "user", "environment", "lost", "killed" or "preempted".
const char* Word(FailureKind kind);

// The master's answer to a report.
// - kNoted: received; no other answer follows.
// - For a finished attempt: its output is the task's committed one (kWinner); it is another replica of that one, which
//   is kept (kReplicaKept) or dropped (kReplicaDropped); it has other content (kDiffers); or it is not needed (kStale).
// - For a replica that was made: kReplicaKept or kStale.
// - For a report that the master cannot read or assign: kStale.
// - kLater: the record is not on disk yet, and another answer follows.
enum class Verdict : uint8_t {
  kNoted = 0,
  kWinner = 1,
  kReplicaKept = 2,
  kReplicaDropped = 3,
  kDiffers = 4,
  kStale = 5,
  kLater = 6
};

}  // namespace mr
