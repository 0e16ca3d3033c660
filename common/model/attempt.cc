#include "common/model/attempt.h"

namespace mr {

const char* CauseName(Cause cause) {
  switch (cause) {
    case Cause::kFirst: return "first";
    case Cause::kRetry: return "retry";
    case Cause::kClone: return "clone";
    case Cause::kSpeculative: return "speculative";
    case Cause::kRestart: return "restart";
    case Cause::kOpportunistic: return "opportunistic";
  }
  return "?";
}

const char* Word(FailureKind kind) {
  switch (kind) {
    case FailureKind::kUser:
    case FailureKind::kUserFinal: return "user";
    case FailureKind::kEnvironment: return "environment";
    case FailureKind::kLost: return "lost";
    case FailureKind::kKilled: return "killed";
    case FailureKind::kPreempted: return "preempted";
  }
  return "?";
}

}  // namespace mr
