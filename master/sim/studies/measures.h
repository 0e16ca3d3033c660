// Runs a simulation and measures it: the measurements that study files name.
#pragma once

#include <string_view>
#include <vector>

#include "master/sched/job_bins.h"
#include "master/sim/engine/simulation.h"
#include "master/sim/studies/expression.h"

namespace mr::sim {

// Largest tasks of the bins that Dolly (NSDI'13) calls small: 1 to 10 tasks, and 11 to 50.
inline constexpr uint32_t kFirstBin = sched::kBinEnds[0], kSmallJob = sched::kBinEnds[1];

// The names of the measurements, with one entry for each job or bin, or one number:
//   seconds, tasks, width    per job: completion, number of tasks, and tasks of the widest phase
//   bin_jobs, bin_mean    per bin of widths (1-10, 11-50, 51-150, 151-500, 501- tasks): jobs, mean seconds
//   potential             per bin: percent by which its mean is shorter if each task slower than the median of its
//   phase
//                         takes the median (Dolly, 2.2). Phases follow each other
//   slowest50             slowest task / median task, in the median phase of two or more tasks of jobs of the first bin
//   mean, small, large    mean seconds of all jobs, of the first two bins, of the others
//   busy, wasted, utilisation    slot-seconds in all, of attempts that did not commit; percent of the slots
//   extra, extra_reduces         speculative attempts, clones and restarts; those of reduces
//   cross_rack_bytes, local      bytes; percent of the bytes read from the reader's own disk
//   first_slots, small_slots, smallest90    most slots that jobs of the first bin, of the first two, held at once; what
//                         the smallest 90 % of jobs took; percent
//   spread50, spread95           median / least progress rate in the phases of small jobs, at quantiles of phases
//   cloned_spread50, cloned_spread95    the same, only phases with clones
//   budgeted, lent, clones_in_small     slot-seconds of budgeted clones, of clones on idle slots; percent in small jobs
//   preempted             percent of the attempts: clones ended for a smaller job
//   sharing_cost          percent more seconds per byte with two readers of a replica than with one
//   alone_accuracy, shared_accuracy, gap_accuracy    percent by which the first half of a run predicts the second:
//                         rates of reads by one reader, by several; gaps between the replicas of an output
//   starved, maps_end, first_reduce    per job with reduces, minutes: from the last map to the mean start of the
//   reduces
//                         after it; the last map's end; the first reduce's start
//   straggler_share       of runs with strands: the share of straggler factors above twice the median
//   first_far             minutes until a map starts away from its input; 0: none did
//   map_seconds, reduce_slot_seconds   mean of a map; sum over reduces
const std::vector<std::string_view>& MeasureNames();

// Runs it and measures it. Errors: kInternal: the simulation stopped.
Result<Measures> RunMeasured(Experiment e);

}  // namespace mr::sim
