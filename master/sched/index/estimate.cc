#include "master/sched/index/estimate.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mr::sched {

namespace {

// At most a quarter of the attempts have fallen behind, by LATE's percentile for slow tasks (OSDI'08,
// SlowTaskThreshold). If more are left, the finished ones are only the fast ones of many that take long.
constexpr double kOutlasted = .25;
// Most attempts judged by age at a time; the next ones follow once these have speculative attempts. A guess.
constexpr size_t kOutlastedSeen = 16;

// Returns E(x - elapsed | x > elapsed) over samples; `elapsed` if none is larger.
double LeftBeyond(const double* samples, size_t n, double elapsed) {
  double sum = 0;
  size_t beyond = 0;
  while (beyond < n && samples[n - 1 - beyond] > elapsed) sum += samples[n - 1 - beyond++] - elapsed;
  return beyond > 0 ? sum / static_cast<double>(beyond) : elapsed;
}

// Returns a bit less than these seconds. Estimates are compared elsewhere after other roundings, and a limit that is
// too low only costs a look.
Duration SlightlyLess(double seconds) {
  constexpr double kMargin = 1e-6;  // a guess: far more than rounding errors, far less than a period of offers
  constexpr double kLongest = 1e9;  // seconds, a guess: longer than any task, and no overflow in ns
  return FromSeconds(std::max(0.0, std::min(seconds, kLongest) * (1 - kMargin) - kMargin));
}

Instant StartOf(const Attempt& a) { return a.started_at.ns != 0 ? a.started_at : a.launched_at; }

}  // namespace

std::optional<Pace> PaceOf(const Attempt& a) {
  if (a.samples.empty()) return std::nullopt;
  const Sample& last = a.samples.back();
  if (last.taken_bytes == 0 || last.total_bytes == 0) return std::nullopt;
  Pace pace;
  size_t first = a.samples.size() - 1;
  while (first > 0 && a.samples[first - 1].phase == last.phase) {
    pace.longest_gap = std::max(pace.longest_gap, a.samples[first].at - a.samples[first - 1].at);
    --first;
  }
  const Sample& from = a.samples[first];
  const Instant started = StartOf(a);
  if (last.taken_bytes > from.taken_bytes) {
    pace.window_ns = static_cast<double>((last.at - from.at).ns);
    pace.window_bytes = static_cast<double>(last.taken_bytes - from.taken_bytes);
  } else {
    pace.from_start = true;
    pace.window_ns = static_cast<double>((last.at - started).ns);
    pace.window_bytes = static_cast<double>(last.taken_bytes);
    pace.longest_gap = std::max(pace.longest_gap, last.at - started);
  }
  pace.ns_per_byte = pace.window_ns / pace.window_bytes;
  pace.taken = last.taken_bytes;
  pace.left = last.total_bytes - std::min(last.taken_bytes, last.total_bytes);
  pace.rest_ns = static_cast<double>(pace.left) * pace.window_ns / pace.window_bytes;
  pace.at = last.at;
  const double whole = static_cast<double>((last.at - started).ns) + pace.ns_per_byte * static_cast<double>(pace.left);
  pace.whole_cost = whole / static_cast<double>(last.total_bytes);
  return pace;
}

Duration WrapupOf(const Attempt& a, Instant started) {
  if (a.samples.empty() || a.samples.back().taken_bytes == 0) return {};
  const Sample& last = a.samples.back();
  const double read = static_cast<double>((last.at - started).ns);
  const double unread = static_cast<double>(last.total_bytes - std::min(last.taken_bytes, last.total_bytes));
  const double rest =
      static_cast<double>((a.ended_at - last.at).ns) - read * unread / static_cast<double>(last.taken_bytes);
  return {std::max<int64_t>(0, std::llround(rest))};
}

std::optional<double> TimeLeft(const Attempt& a, Instant now, double wrapup) {
  const auto pace = PaceOf(a);
  return pace ? std::optional(TimeLeft(*pace, now, wrapup)) : std::nullopt;
}

Standing StandingOf(const Task& task, const Attempt& a) {
  Standing standing{PaceOf(a), StartOf(a), false, std::nullopt, static_cast<double>(InputBytes(task, a))};
  const uint8_t phase = a.samples.empty() ? 0 : a.samples.back().phase;
  const bool read_all = standing.pace && standing.pace->left == 0;
  if (standing.pace && !read_all) return standing;
  standing.whole = read_all && (phase == 0 || phase >= 3);
  if (standing.whole) {
    for (auto s = a.samples.rbegin(); s != a.samples.rend(); ++s) {
      if (s->phase != phase || s->taken_bytes < s->total_bytes) break;
      standing.since = s->at;
    }
  } else if (standing.bytes > 0 && (a.inputs_done || task.plan.slices.empty())) {
    standing.since = std::max(standing.started, a.inputs_done_at);
  }
  return standing;
}

bool NewAttempt::Enough(const StageStatistics& s, bool running) {
  if (running) return s.told.size() >= kLeast && (s.costs.size() >= kLeast || 2 * s.told.size() >= s.sampled);
  return s.costs.size() >= kLeast && s.durations.size() >= s.running;
}

NewAttempt::NewAttempt(const StageStatistics& s, bool running) {
  if (!Enough(s, running)) return;
  early_ = s.costs.size() < kLeast;
  const auto sample = [this](const auto& costs) {
    count_ = std::min(kSamples, costs.size());
    size_t i = 0;
    costs.WalkEvenly(count_, [&](double cost) { costs_[i++] = cost; });
    // The reciprocal of a power of two is exact: a product is then the quotient, and takes a fraction of its time.
    static_assert(std::has_single_bit(kSamples));
    const double n = static_cast<double>(count_);
    if (count_ == kSamples)
      for (const double cost : costs_) mean_ += cost * (1.0 / kSamples);
    else
      for (i = 0; i < count_; ++i) mean_ += costs_[i] / n;
  };
  running ? sample(s.told) : sample(s.costs);
  const size_t finished = s.durations.size();
  lag_ = static_cast<double>(s.lag_ns) / static_cast<double>(finished + s.running) * 1e-9;
  wrapups_count_ = std::min(kSamples, s.wrapups.size());
  s.wrapups.WalkEvenly(wrapups_count_,
                       [this, i = size_t{0}](int64_t ns) mutable { wrapups_[i++] = static_cast<double>(ns) * 1e-9; });
  const auto most = static_cast<size_t>(static_cast<double>(finished) * kOutlasted / (1 - kOutlasted));
  const size_t few = std::min(kOutlastedSeen, most - std::min(most, s.doubled.size()));
  if (!early_ && few > 0) outlasted_.ns = few < s.by_start.size() ? s.by_start.At(few).first : INT64_MAX;
  if (finished > 0) wrapup_ = static_cast<double>(s.wrapup_ns) / static_cast<double>(finished) * 1e-9;
}

double NewAttempt::ChanceBelow(double seconds, double bytes, double location) const {
  if (count_ == 0) return 0;
  size_t below = 0;
  while (below < count_ && costs_[below] * location * bytes * 1e-9 + lag_ < seconds) ++below;
  return static_cast<double>(below) / static_cast<double>(count_);
}

std::optional<double> NewAttempt::LeftByAge(const Standing& s, Instant now) const {
  if (s.since && OutlastedMost(s.started)) {
    const double elapsed = (now - *s.since).seconds();
    if (s.whole) return LeftBeyond(wrapups_.data(), wrapups_count_, elapsed);
    if (elapsed > costs_[count_ - 1] * s.bytes * 1e-9) return elapsed;
  }
  return s.pace ? std::optional(TimeLeft(*s.pace, now, wrapup_)) : std::nullopt;
}

Instant NewAttempt::NoLongerUntil(const Standing& s, double seconds, Instant now) const {
  if (s.since && OutlastedMost(s.started)) {
    if (s.pace) return now;
    return std::max(now, *s.since + std::max(LeastAge(s.bytes), SlightlyLess(seconds)));
  }
  if (!s.pace) return {INT64_MAX};
  // The time left shrinks until a report is due.
  const Instant due = s.pace->at + std::max(kReportPeriod, s.pace->longest_gap);
  const bool shrinks = now < due && FromSeconds(TimeLeft(*s.pace, now, wrapup_)) <= SlightlyLess(seconds);
  return shrinks ? due : now;
}

Duration NewAttempt::LeastAge(double bytes) const {
  return count_ == 0 ? Duration{} : SlightlyLess(costs_[count_ - 1] * bytes * 1e-9);
}

double NewAttempt::CostAt(double q) const {
  const double rank = q * static_cast<double>(count_);
  return costs_[std::min(static_cast<size_t>(rank), count_ - 1)];
}

double LocationFactor(const State& state, const StageId& id, WorkerId worker, double usual, const AttemptId* without) {
  const StageStatistics& s = state.Counted(id);
  const bool measured = s.measured_bytes > 0 && s.measured_work > 0;
  if (measured) usual = static_cast<double>(s.measured_work) / static_cast<double>(s.measured_bytes);
  if (usual <= 0) return 1;
  const WorkDone done = s.by_worker.Find(worker);
  double ns = static_cast<double>(done.ns), bytes = static_cast<double>(done.bytes);
  for (const AttemptId& running : state.FindWorker(worker)->attempts) {
    if (running.task.stage_id() != id || (without != nullptr && running == *without)) continue;
    const Attempt& a = *state.FindAttempt(running);
    const double cost = measured ? a.rating.cost : a.rating.told;
    if (!a.rating.running || cost == 0) continue;
    const double taken = static_cast<double>(a.samples.back().taken_bytes);
    ns += cost * taken;
    bytes += taken;
  }
  if (bytes == 0 || ns == 0) return 1;
  return ns / bytes / usual;
}

}  // namespace mr::sched
