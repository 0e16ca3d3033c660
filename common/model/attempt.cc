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

}  // namespace mr
