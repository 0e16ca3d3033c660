// Reasons of Jockey: codes, which stand in journals, and their names and sentences.
#pragma once

#include <span>

#include "master/sched/reason.h"

namespace mr::sched {

struct JockeyReason {
  // Guaranteed to the job {slots, slots that would be enough now, progress: %, seconds since the submit, seconds left
  // (median), deadline: s or 0, how many times as long its tasks take as before}
  static constexpr ReasonCode kAllotted{46};
  // Its guarantee is over: no policy steers it any more
  static constexpr ReasonCode kNotSteered{47};
  // Its guarantee is over: it has no deadline any more
  static constexpr ReasonCode kNoDeadline{49};
};

std::span<const ReasonText> JockeyReasons();

}  // namespace mr::sched
