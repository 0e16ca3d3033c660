// late: speculative attempts of the attempts that would end last, in a limited number, and not on slow workers.
//
// LATE (Zaharia et al., "Improving MapReduce Performance in Heterogeneous Environments", OSDI 2008).
//   rate = score / T_running        time_left = (1 - score) / rate
// A worker asks while fewer than SpeculativeCap speculative attempts run. It gets nothing if its total progress (scores
// of what ran or runs there, of this job) is below the SlowNodeThreshold percentile. Otherwise candidates are attempts
// that ran for min_age, have no speculative attempt, and have a rate below the SlowTaskThreshold percentile. The one
// with the largest time_left is chosen.
//
// Parameters:
// - cap (SpeculativeCap: share of slots, at least one), slow_task, slow_node (shares), min_age, skew_check (on|off).
// - gain (0: off). gain=G: only if time_left exceeds G times what the task would take anew with its inputs there, or
//   the attempt has been silent for as long. Then min_age may be short: among equal attempts the slowest quarter gets
//   none. Hadoop's DefaultSpeculator has 1. With network=on, finished attempts do not show what a new one takes in a
//   stage that mostly copies, or while the network is narrow (network_bound.h). Then an attempt that copies needs four
//   times G, since a new one copies through the same links. Others need no gain, and worth does not apply.
// - worth (0: off). worth=W, with gain: while the last speculative attempts, of any policy of the list, saved less than
//   W seconds per second that they took, more gain is asked, up to four times as much (speculation_worth.h).
// - outpaced (0: off). outpaced=R: a speculative attempt ends once its rest takes longer than R times that of the
//   attempt that it should beat, at their pace in their last phase. A task that is slow on every worker, or has
//   recovered, then gives the slot back early. It gets a second one only if the attempt then reports nothing for as
//   long as a new one would take.
// - network (off). on: where reading a split from another worker is slow (network_bound.h), a speculative attempt
//   does so only if time_left exceeds 1.5 times what it would take there.
// - estimator (score|phases). phases, for a reduce: the rest of its phase at its rate there, plus what later phases
//   take other attempts of the stage. LATE 4.4 names it as a remedy for a wrong order when progress slows down.
//
// Departures:
// - Percentiles are over running and finished attempts of the stage. Those of workers are over workers on which
//   something of the job ran: nothing is known against the others.
// - T_running ends with the last report, plus the time without one since one was due. It is due after a report period,
//   or after the longest time between two reports of its phase.
// - An attempt with a known input that has not reported is unknown until a report is overdue. Then its score is at most
//   5 %, the share that is reported at once, and its rate that of 5 %.
// - An attempt without byte totals has no score. Its rate is at most 1 / T_running: it is slow once it ran longer than
//   slow ones took, and is expected to need as much again. The same holds, once others have finished, for one that has
//   taken all of its input and still runs. A command that was piped a small split has a score of 1 at once.
// - Until a report is due, the rate of an attempt is that of the last one, to the last bit. So an attempt without
//   others is not below their percentile by rounding.
// - The 256 attempts with the smallest rates and the 64 with the earliest starts are examined, not all; of those whose
//   speculative attempt was ended, the 64 that are silent for longest.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeLate(PolicyParams* params);

}  // namespace mr::sched
