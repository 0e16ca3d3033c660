// How long an attempt takes for its own work, without the wait for its inputs. Seconds.
#pragma once

#include <optional>

#include "master/sched/state/entities.h"

namespace mr::sched {

// When it could work: it had started and had its inputs. 0: not yet.
Instant WorkBegan(const Attempt& attempt);

// Returns what the whole work takes at the pace of the last report in its phase, up to kLongestWork; a sort before the
// last phase counts as it was. Returns nullopt if no report shows any work: an attempt that still copies its inputs may
// wait for them.
std::optional<double> WorkSeconds(const Attempt& attempt);

// A bound for bad reports; far below what an Instant holds.
inline constexpr double kLongestWork = 1e9;

}  // namespace mr::sched
