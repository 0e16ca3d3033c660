#include "master/sched/policies/late/time_left.h"

#include <algorithm>
#include <array>
#include <limits>

#include "master/sched/policies/common/speculation.h"

namespace mr::sched {

namespace {

// A moving attempt is reported within a period, or once it has done so much (worker/daemon/progress.h).
constexpr double kFirstReport = .05;
constexpr uint8_t kCopying = kShufflePhase, kReducing = 3;  // phases of a reduce
constexpr double kLongest = 1e9;                            // seconds; far below what a Duration holds

Duration AgeOf(const View& view, const Attempt& a) { return view.now() - a.started_at; }

LateEstimate EstimateByAge(const View& view, const Attempt& a) {
  const double age = std::max(1e-9, AgeOf(view, a).seconds());
  return {1 / age, age};
}

// Returns whether its score says how much it has done.
bool Measured(const Task& task, const Attempt& a) {
  return InputBytes(task, a) > 0 || (!a.samples.empty() && a.samples.back().phase > 0);
}

// Returns the part of its silence that is usual: no longer than a report takes, or than those of its phase were
// apart. An operator that takes large batches moves rarely. A reduce that copies may have waited for its inputs.
Duration UsualSilence(const View& view, const Attempt& a) {
  const Sample& last = a.samples.back();
  Duration usual = kReportPeriod;
  for (size_t i = a.samples.size() - 1; last.phase != kCopying && i > 0 && a.samples[i - 1].phase == last.phase; --i) {
    usual = std::max(usual, a.samples[i].at - a.samples[i - 1].at);
  }
  return std::min(usual, view.now() - last.at);
}

LateEstimate PlainEstimate(const View& view, const Attempt& a) {
  const int64_t score = ScoreOf(a);
  if (score == 0) {
    // It has done less than is reported at once.
    const double rate = kFirstReport / std::max(1e-9, AgeOf(view, a).seconds());
    return {rate, (1 - kFirstReport) / rate};
  }
  // The formula of the stage's statistics, to the last bit: by rounding, an attempt without others would be below
  // their percentile.
  const Duration running = AgeOf(view, a) - UsualSilence(view, a);
  const double rate = static_cast<double>(score) / static_cast<double>(std::max<int64_t>(1, running.ns));
  return {rate, static_cast<double>(kWholeScore - score) / static_cast<double>(kWholeScore) / rate};
}

}  // namespace

Duration SilentFor(const View& view, const Attempt& a) {
  return view.now() - (a.samples.empty() ? a.started_at : a.samples.back().at);
}

std::optional<LateEstimate> EstimateOf(const View& view, const StageStatistics& s, const Task& task, const Attempt& a,
                                       bool by_phases) {
  // Once it has taken its whole input, its score does not show how much is left.
  if (ScoreOf(a) == kWholeScore && !s.durations.empty()) return EstimateByAge(view, a);
  if (!Measured(task, a)) return EstimateByAge(view, a);
  if (ScoreOf(a) == 0 && AgeOf(view, a) < OverdueAt(s, task, a)) return std::nullopt;
  LateEstimate e = PlainEstimate(view, a);
  if (!by_phases || a.samples.empty() || a.samples.back().phase == 0 || a.samples.back().phase > 3) return e;
  const size_t phase = a.samples.back().phase - 1;
  const Instant began = phase == 0 ? a.started_at : phase == 1 ? a.sort_at : a.reduce_at;
  const Duration silent = UsualSilence(view, a);
  std::array<double, 3> usual{};
  for (size_t i = 0; i < usual.size(); ++i) {
    if (s.phase_n[i] > 0) usual[i] = static_cast<double>(s.phase_ns[i]) / 1e9 / s.phase_n[i];
  }
  const auto left = LeftByPhases({usual.begin(), usual.end()}, phase, PhaseShare(a.samples.back()),
                                 (view.now() - began - silent).seconds());
  if (left) e.left = *left;
  return e;
}

Duration OverdueAt(const StageStatistics& s, const Task& task, const Attempt& a) {
  if (s.rates.empty()) return kOverdue;
  const double bytes = static_cast<double>(InputBytes(task, a)), read = static_cast<double>(s.measured_bytes);
  const double input = read > 0 ? std::max(1.0, bytes * s.measured / read) : 1;
  const double seconds = 2 * kFirstReport * input / Percentile(s.rates, .5);
  return std::max(kOverdue, FromSeconds(std::min(seconds, kLongest)));
}

double SecondsAnew(const View& view, StageId id, const StageStatistics& s, const Task& task, const Attempt& a) {
  const double before = SecondsBeforeInputs(view, id, a);
  const auto bytes = static_cast<double>(InputBytes(task, a));
  if (bytes > 0 && s.measured_bytes > 0) {
    const double each = bytes / static_cast<double>(s.measured_bytes) / 1e9;
    return std::max(static_cast<double>(s.measured_work) * each, static_cast<double>(s.measured_ns) * each - before);
  }
  return s.rates.empty() ? std::numeric_limits<double>::infinity()
                         : std::max(0.0, 1 / Percentile(s.rates, 0.5) - before);
}

std::optional<double> LeftByPhases(const std::vector<double>& usual, size_t phase, double share, double seconds) {
  if (share == 0 && usual[phase] == 0) return std::nullopt;
  double left = share > 0 ? (1 - share) * seconds / share : std::max(0.0, usual[phase] - seconds);
  for (size_t i = phase + 1; i < usual.size(); ++i) {
    if (usual[i] == 0) return std::nullopt;
    left += usual[i];
  }
  return left;
}

std::optional<LeftBetween> LeftAtPace(const View& view, const Attempt& a) {
  if (a.state != AttemptState::kRunning || a.samples.empty()) return std::nullopt;
  const Sample& last = a.samples.back();
  if (last.phase != 0 && last.phase < kReducing) return std::nullopt;  // what later phases will take is not known
  const std::optional<Pace> pace = PaceOf(a);
  if (!pace || pace->from_start || pace->left == 0) return std::nullopt;
  const double by_last = TimeLeft(*pace, view.now(), 0), share = PhaseShare(last);
  const Instant began = last.phase == 0 ? a.started_at : a.reduce_at;
  const double whole = (view.now() - began).seconds() * (1 - share) / share;
  return LeftBetween{std::min(by_last, whole), std::max(by_last, whole)};
}

}  // namespace mr::sched
