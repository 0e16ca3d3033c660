// How long an attempt still takes, and how long a new one would (Mantri, OSDI 2010, section 5.5). Times
// are in seconds where they are doubles. Pure functions of the state's records.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "master/sched/state.h"

namespace mr::sched {

// An attempt that moves at all is reported at least so often (worker/daemon/progress.h).
inline constexpr Duration kReportPeriod = Seconds(1);

// How an attempt reads, by its last reports.
struct Pace {
  double ns_per_byte = 0;  // over the last reports of its present phase
  double window_ns = 0, window_bytes = 0;
  bool from_start = false;  // for want of a second report the window is its life, with what went before the first byte
  uint64_t left = 0;        // bytes
  Instant at;               // of the last report
  Duration longest_gap;     // between two of these reports
  double rest_ns = 0;       // that the bytes left take at this pace
  double whole_cost = 0;    // ns per byte of its whole input that it will have taken, if it goes on like this
};
// Nothing where it has taken nothing, or its input is not known.
std::optional<Pace> PaceOf(const Attempt& attempt);
// From the last byte of input to the end, of a finished attempt: the last report may be older than that byte.
Duration WrapupOf(const Attempt& attempt, Instant started);

// t_rem = (d - d_read) * time per byte + t_wrapup. Silence beyond the longest gap between reports counts as
// time in which nothing was read.
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

// Where an attempt stands, from which NewAttempt::Left says what it has left.
struct Standing {
  std::optional<Pace> pace;
  Instant started;
  bool whole = false;  // it has taken all of its input, and reads no more
  // From when it was known to be whole; else, where its pace says nothing, from when it had its inputs.
  std::optional<Instant> since;
  double bytes = 0;  // of its input
};
Standing StandingOf(const Task& task, const Attempt& attempt);

// What attempts of a stage say about a new one: t_new = processRate * locationFactor * d + schedLag,
// of which processRate is a distribution: at most kSamples times per byte, evenly spaced in rank.
class NewAttempt {
 public:
  static constexpr size_t kLeast = 3;     // of less nothing is known (papers.md 2.2)
  static constexpr size_t kSamples = 32;  // a guess: a quarter (delta) is eight of them

  NewAttempt() = default;  // nothing is known
  // Of finished ones. running: those that run and have read a tenth tell as well (Rating::told). As the quick ones tell
  // first, nothing is known before half have, or kLeast have finished.
  NewAttempt(const StageStatistics& statistics, bool running);
  bool known() const { return count_ > 0; }
  bool early() const { return early_; }  // known by what runs only
  // E(t_new) for d bytes, and P(t_new < seconds).
  double Expected(double bytes, double location) const { return mean_ * location * bytes * 1e-9 + lag_; }
  double ChanceBelow(double seconds, double bytes, double location) const;
  // ns per byte: the mean, and what a share q of new attempts stays below.
  double mean() const { return mean_; }
  double CostAt(double q) const;
  double wrapup() const { return wrapup_; }
  // t_rem of one that runs, in seconds. By its pace, and where that says nothing more, by how long others took, given
  // that it runs so long already: of their wrap-ups, if it has read all; of their whole times, if it has read nothing
  // for longer than each of them took. As much again as it took, where it took longer than all; so only for the few
  // that most others are done before (OutlastedMost).
  std::optional<double> Left(const Standing& standing, Instant now) const {
    if (standing.since) return LeftByAge(standing, now);
    return standing.pace ? std::optional(TimeLeft(*standing.pace, now, wrapup_)) : std::nullopt;
  }
  // Of those that are done, and those that run and began no later, three quarters are done (kOutlasted).
  bool OutlastedMost(Instant started) const { return started < outlasted_; }

 private:
  using Samples = std::array<double, kSamples>;

  std::optional<double> LeftByAge(const Standing& standing, Instant now) const;

  Samples costs_{};    // ascending
  Samples wrapups_{};  // seconds, ascending
  size_t count_ = 0, wrapups_count_ = 0;
  Instant outlasted_;
  double mean_ = 0, lag_ = 0, wrapup_ = 0;
  bool early_ = false;
};

// Time per byte of this worker in this stage, of what finished and what runs there, as a multiple of that of
// all that finished, before that of `usual` ns: 1 where nothing is known.
double LocationFactor(const State& state, const StageId& stage, WorkerId worker, double usual);

}  // namespace mr::sched
