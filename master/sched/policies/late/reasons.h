// Reasons of LATE: codes, which stand in journals, and their names and sentences.
#pragma once

#include <span>

#include "master/sched/reason.h"

namespace mr::sched {

struct LateReason {
  // Speculative: slow, and ends last {seconds left, rate, limit: % per s}
  static constexpr ReasonCode kLongestToEnd{22};
  // None: as fast as others {rate, limit: % per s}
  static constexpr ReasonCode kNotSlow{64};
  // None: it would not end sooner {seconds left, seconds of a new one}
  static constexpr ReasonCode kNoGain{65};
  // None: as many run as may {speculative attempts}
  static constexpr ReasonCode kAtCap{66};
  // It gets one once a worker is free {seconds left, rate, limit: % per s}
  static constexpr ReasonCode kSlowButNotYet{67};
  // None on this worker: slow for this job {epoch, seq, progress, limit}
  static constexpr ReasonCode kSlowNode{74};
};

std::span<const ReasonText> LateReasons();

}  // namespace mr::sched
