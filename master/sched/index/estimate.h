// Estimates how long an attempt still takes, and how long a new one would take (Mantri, OSDI'10, 5.5). Times as
// doubles are in seconds, unless named ns. Pure functions of the state's records.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "master/sched/state/state.h"

namespace mr::sched {

// An attempt that moves at all is reported at least this often (worker/daemon/progress.h).
inline constexpr Duration kReportPeriod = Seconds(1);

// Read rate of an attempt, by its last reports.
struct Pace {
  double ns_per_byte = 0;  // over the last reports of its current phase
  double window_ns = 0, window_bytes = 0;
  // True if there is no second report. The window is then its whole life, with the time before the first byte.
  bool from_start = false;
  uint64_t taken = 0;     // bytes, of its current phase
  uint64_t left = 0;      // bytes
  Instant at;             // of the last report
  Duration longest_gap;   // longest time between two of these reports
  double rest_ns = 0;     // time for the bytes left at this rate
  double whole_cost = 0;  // ns per byte of its whole input, if it goes on at this rate
};
// Returns nullopt if the attempt has taken nothing, or if its input is not known.
std::optional<Pace> PaceOf(const Attempt& attempt);
// Returns a finished attempt's time from its last byte of input to its end. Its last report may be older than that
// byte.
Duration WrapupOf(const Attempt& attempt, Instant started);

// Returns t_rem = (d - d_read) * time per byte + t_wrapup, in seconds. Silence beyond the longest gap between reports
// counts as time in which nothing was read.
inline double TimeLeft(const Pace& pace, Instant now, double wrapup) {
  const Duration silent = now - pace.at, due = std::max(kReportPeriod, pace.longest_gap);
  double left = pace.rest_ns;
  if (silent > due) {
    const double late = static_cast<double>((silent - due).ns);
    left = static_cast<double>(pace.left) * (pace.window_ns + late) / pace.window_bytes;
  }
  return std::max(0.0, (left - static_cast<double>(std::min(silent, due).ns)) * 1e-9 + wrapup);
}
std::optional<double> TimeLeft(const Attempt& attempt, Instant now, double wrapup);

// Position of an attempt, from which NewAttempt::Left estimates the time left.
struct Standing {
  std::optional<Pace> pace;
  Instant started;
  bool whole = false;  // it has read all of its input
  // The time when it was known to be whole. Otherwise, if its pace is not known: the time when it had its inputs.
  std::optional<Instant> since;
  double bytes = 0;  // of its input
};
Standing StandingOf(const Task& task, const Attempt& attempt);

// Prediction of a new attempt of a stage: t_new = processRate * locationFactor * d + schedLag. processRate is a
// distribution: at most kSamples times per byte, evenly spaced in rank.
class NewAttempt {
 public:
  static constexpr size_t kLeast = 3;     // fewer samples give no estimate (after Mantri, OSDI'10, 5.5)
  static constexpr size_t kSamples = 32;  // a guess: a quarter (delta) is eight of them

  NewAttempt() = default;  // nothing is known
  // Uses finished attempts, once half of those that began have finished: the first ones are fast, and beside them all
  // others look slow. running: also running ones that have read a tenth (Rating::told). Fast attempts read a tenth
  // first, so there is no estimate before half have done so, or kLeast have finished.
  NewAttempt(const StageStatistics& statistics, bool running);
  bool known() const { return count_ > 0; }
  bool early() const { return early_; }  // known from running attempts only
  // Returns E(t_new) for d bytes. ChanceBelow returns P(t_new < seconds).
  double Expected(double bytes, double location) const { return mean_ * location * bytes * 1e-9 + lag_; }
  double ChanceBelow(double seconds, double bytes, double location) const;
  // Mean ns per byte. CostAt: the ns per byte that a share q of new attempts stays below.
  double mean() const { return mean_; }
  double CostAt(double q) const;
  double wrapup() const { return wrapup_; }
  // Returns t_rem of a running attempt in seconds, by its pace. If the pace is of no more use, it uses how long others
  // took, given its age: their wrap-ups if it has read all, or their whole times if it has read nothing for
  // longer than each of them. Beyond all of them it returns the time that the attempt took so far. Only the few
  // attempts that most others end before (OutlastedMost) are judged by age.
  std::optional<double> Left(const Standing& standing, Instant now) const {
    if (standing.since) return LeftByAge(standing, now);
    return standing.pace ? std::optional(TimeLeft(*standing.pace, now, wrapup_)) : std::nullopt;
  }
  // Returns an instant before which Left is at most `seconds`, if the attempt does not report and the statistics do not
  // change. Returns `now` if Left may already exceed it.
  Instant NoLongerUntil(const Standing& standing, double seconds, Instant now) const;
  // Returns an age. Left knows nothing of a younger attempt with such an input, or more, that has no pace.
  Duration LeastAge(double bytes) const;
  // Returns true if three quarters (1 - kOutlasted) of the attempts that began no later, or have finished, have
  // finished.
  bool OutlastedMost(Instant started) const { return started < outlasted_; }

 private:
  using Samples = std::array<double, kSamples>;

  static bool Enough(const StageStatistics& statistics, bool running);
  std::optional<double> LeftByAge(const Standing& standing, Instant now) const;

  Samples costs_{};    // ascending
  Samples wrapups_{};  // seconds, ascending
  size_t count_ = 0, wrapups_count_ = 0;
  Instant outlasted_;
  double mean_ = 0, lag_ = 0, wrapup_ = 0;
  bool early_ = false;
};

// Returns this worker's time per byte in this stage, from finished and running attempts there, as a multiple of the
// mean of all finished attempts. Before any has finished, as a multiple of `usual` ns. 1 if nothing is known. without:
// a running attempt that does not count; may be null.
double LocationFactor(const State& state, const StageId& stage, WorkerId worker, double usual,
                      const AttemptId* without = nullptr);

}  // namespace mr::sched
