// Reasons of LATE: codes, which stand in journals, and their names and sentences.
#pragma once

#include <span>

#include "master/sched/reason.h"

namespace mr::sched {

struct LateReason {
  // Speculative: slow, and ends last {seconds left, rate, limit: % per s}
  static constexpr ReasonCode kLongestToEnd{22};
  // No speculative attempt: as fast as others {rate, limit: % per s}
  static constexpr ReasonCode kNotSlow{64};
  // No speculative attempt: its end is too near {seconds left, seconds of a new one, how many of these are asked,
  // gain=}
  static constexpr ReasonCode kNoGain{65};
  // No speculative attempt: the cap is reached {speculative attempts}
  static constexpr ReasonCode kAtCap{66};
  // It gets one once a worker is free {seconds left, rate, limit: % per s}
  static constexpr ReasonCode kSlowButNotYet{67};
  // No speculative attempts on this worker: slow for this job {epoch, seq, progress, limit}
  static constexpr ReasonCode kSlowNode{74};
  // No speculative attempt: it has not reported yet {seconds of age, age at which a report is overdue}
  static constexpr ReasonCode kNotReported{92};
  // Ended: a speculative attempt that would not end well before the other one {seconds left, of the other one}
  static constexpr ReasonCode kOutpaced{97};
  // No speculative attempt: it copies through links that a new one would share {seconds left, seconds of a new one, how
  // many of these are asked}
  static constexpr ReasonCode kNoGainByCopying{101};
};

std::span<const ReasonText> LateReasons();

}  // namespace mr::sched
