// Estimates of LATE (late.h): how long an attempt still takes, and how long a new one would. Times in seconds, rates
// per second. Pure functions of the state's records.
#pragma once

#include <optional>
#include <vector>

#include "master/sched/index/estimate.h"
#include "master/sched/view.h"

namespace mr::sched {

// A report is overdue after twice the time within which a moving attempt is reported, since one may be under way.
inline constexpr Duration kOverdue = kReportPeriod * 2;

// Returns the time since its last report, or since its start.
Duration SilentFor(const View& view, const Attempt& a);

struct LateEstimate {
  double rate = 0, left = 0;
};
// Returns nullopt if nothing is known of the attempt yet. by_phases: the rest of its phase, plus what later phases take
// others.
std::optional<LateEstimate> EstimateOf(const View& view, const StageStatistics& s, const Task& task, const Attempt& a,
                                       bool by_phases);

// Returns the age from which an attempt without a report counts as slow. Other attempts show how long a first report
// takes with as much input.
Duration OverdueAt(const StageStatistics& s, const Task& task, const Attempt& a);

// Returns the time that a new attempt would take: its input at the pace of finished ones, else the median time. The
// wait for inputs before this attempt could run is taken off. Infinite if nothing is known.
double SecondsAnew(const View& view, StageId id, const StageStatistics& s, const Task& task, const Attempt& a);

// Returns the time to the end of an attempt that has been in `phase` for `seconds` and has done this share of it.
// usual: what each phase takes others, whole; 0 = not known. Returns nothing if a phase that counts is not known.
std::optional<double> LeftByPhases(const std::vector<double>& usual, size_t phase, double share, double seconds);

// Time for the rest of an attempt's input, at the pace of its last reports and at that of its whole phase. A late
// report makes the first one wrong, and a slow start the second.
struct LeftBetween {
  double least = 0, most = 0;
};
// Returns nullopt before two reports of the last phase: what later phases will take is not known.
std::optional<LeftBetween> LeftAtPace(const View& view, const Attempt& a);

}  // namespace mr::sched
