#include "master/sim/calibrate/fit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "common/base/text.h"
#include "master/sim/calibrate/words.h"

namespace mr::sim {

namespace {

constexpr uint64_t kLeastPairs = 100;
constexpr uint64_t kLeastTailPairs = 20;

// Splits a covariance of clamped residuals into a lognormal part and, where both attempts of a pair are above 2 more
// often than that part explains, a tail.
void Separate(const PairMean& pairs, double covariance, double kappa, const Shape& whole, Component* c) {
  const double k2 = kappa * kappa;
  c->variance = std::max(0.0, covariance) / k2;
  const double explained = JointTail(whole.sigma, c->variance / (whole.sigma * whole.sigma), kFar);
  const double tail = pairs.tail - explained;
  if (pairs.tail_pairs >= kLeastTailPairs && tail > 2 * pairs.tail_error && whole.tail > 0) {
    c->tail = std::min(tail, whole.tail);
    c->tail_alpha = whole.tail_alpha;
    c->tail_cap = whole.tail_cap;
    c->variance = std::max(0.0, covariance - c->tail * (1 - c->tail) * kFar * kFar) / k2;
  }
  c->sigma = std::sqrt(c->variance);
}

void FitMachine(const Sample& sample, Fit* fit) {
  Component* c = &fit->machine;
  if (sample.workers == 0) {
    c->why = "the record does not name machines";
    return;
  }
  fit->pairs = PairsOnMachines(sample);
  const PairMean& all = fit->pairs.all;
  if (all.clusters < kLeastMachines || all.pairs < kLeastPairs) {
    c->why = Counted(all.clusters, "machine") + " with " + Counted(all.pairs, "pair") + ": too few for a distribution";
    return;
  }
  c->why = Counted(all.pairs, "pair") + " on " + Counted(all.clusters, "machine");
  c->found = all.value > 2 * all.error ? Found::kFitted : Found::kNone;
  if (c->found == Found::kNone) return;
  fit->decay = DecayOf(fit->pairs);
  const bool decays = fit->decay.fitted && fit->decay.bounded;
  Separate(all, decays ? fit->decay.variance : all.value, sample.within, fit->whole, c);
}

void FitSkew(const Sample& sample, Fit* fit) {
  Component* c = &fit->skew;
  fit->task_pairs = PairsOfTasks(sample);
  const PairMean& again = fit->task_pairs;
  if (again.pairs >= kLeastPairs) {
    c->why = Counted(again.pairs, "pair") + " of one task in two runs";
    c->found = again.value > 2 * again.error ? Found::kFitted : Found::kNone;
    if (c->found == Found::kNone) return;
    Separate(again, again.value, sample.within, fit->whole, c);
    // Pairs are taken after the bytes are; tasks keep their bytes, so that part belongs here too.
    c->variance += std::max(0.0, sample.bytes.variance) / (sample.within * sample.within);
    c->sigma = std::sqrt(c->variance);
    return;
  }
  const BytesPart& bytes = sample.bytes;
  if (bytes.differ < kLeastAttempts) {
    c->why = bytes.attempts < kLeastAttempts ? "no task runs again, and its bytes are not recorded"
                                             : "no task runs again, and all tasks of a stage read the same bytes";
    return;
  }
  fit->skew_by_bytes = true;
  c->why = "by the bytes of " + Counted(bytes.differ, "attempt") + "; what else stays with a task is in luck";
  c->found = bytes.variance > 2 * bytes.error ? Found::kFitted : Found::kNone;
  if (c->found == Found::kNone) return;
  c->variance = bytes.variance / (sample.within * sample.within);
  c->sigma = std::sqrt(c->variance);
}

void FitLuck(Fit* fit) {
  Component* c = &fit->luck;
  const double whole = fit->whole.sigma * fit->whole.sigma;
  c->found = Found::kFitted;
  c->variance = std::max(0.0, whole - fit->machine.variance - fit->skew.variance);
  c->sigma = std::sqrt(c->variance);
  c->tail = std::max(0.0, fit->whole.tail - fit->machine.tail - fit->skew.tail);
  c->tail_alpha = fit->whole.tail_alpha;
  c->tail_cap = fit->whole.tail_cap;
  const bool machine = fit->machine.found != Found::kUnknown, skew = fit->skew.found != Found::kUnknown;
  c->why = machine && skew ? "the rest"
           : machine       ? "the rest, skew among it"
           : skew          ? "the rest, machines among it"
                           : "the whole spread: machine, skew and luck together";
  for (Component* part : {&fit->machine, &fit->skew, c}) part->share = whole > 0 ? part->variance / whole : 0;
}

// The time of attempts that do nothing, or how much longer the first attempts of new executors take than others of
// their stage.
void FitStartup(const std::vector<ObservedStage>& observed, Startup* startup) {
  std::vector<double> idle, more;
  std::map<std::pair<std::string, std::string>, std::vector<double>> usual;
  const auto seconds_of = [](const ObservedStage& stage) {
    std::vector<double> seconds;
    for (const ObservedAttempt& a : stage.attempts) {
      if (a.end == ObservedEnd::kSucceeded && a.seconds > 0) seconds.push_back(a.seconds);
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds;
  };
  for (const ObservedStage& stage : observed) {
    const std::vector<double> seconds = seconds_of(stage);
    if (stage.kind == ObservedKind::kNoWork) idle.insert(idle.end(), seconds.begin(), seconds.end());
    if (stage.kind == ObservedKind::kUsual && seconds.size() >= kLeastTasks) usual[{stage.job, stage.name}] = seconds;
  }
  uint64_t fresh = 0;
  for (const ObservedStage& stage : observed) {
    const auto it = usual.find({stage.job, stage.name});
    if (stage.kind != ObservedKind::kFresh || it == usual.end() || Quantile(it->second, 0.5) < kLeastMedian) continue;
    const std::vector<double> seconds = seconds_of(stage);
    if (seconds.empty()) continue;
    fresh += seconds.size();
    more.push_back(Quantile(seconds, 0.5) - Quantile(it->second, 0.5));
  }
  if (idle.size() >= kLeastStarts) {
    startup->found = Found::kFitted;
    double log_sum = 0, squares = 0;
    for (const double s : idle) startup->mean += s / static_cast<double>(idle.size());
    for (const double s : idle) log_sum += std::log(s) / static_cast<double>(idle.size());
    for (const double s : idle) squares += (std::log(s) - log_sum) * (std::log(s) - log_sum);
    startup->sigma = std::sqrt(squares / static_cast<double>(idle.size() - 1));
    startup->why = Counted(idle.size(), "attempt") + " without work, the end included";
  } else if (more.size() >= kLeastStarts) {
    std::sort(more.begin(), more.end());
    startup->found = Found::kFitted;
    startup->mean = std::max(0.0, Quantile(more, 0.5));
    startup->why = "the median over " + Counted(more.size(), "stage") + " of what " + Counted(fresh, "attempt") +
                   " on new executors took longer; others start at once";
  } else {
    startup->why = idle.empty() && more.empty() ? "the record does not show when the work begins"
                                                : Counted(idle.size() + more.size(), "case") + ": too few";
  }
}

}  // namespace

Fit FitOf(const std::string& name, const std::vector<ObservedStage>& observed) {
  Fit fit;
  fit.name = name;
  const Sample sample = SampleOf(observed);
  fit.attempts = sample.attempts.size();
  fit.stages = sample.stages.size();
  fit.workers = sample.workers;
  fit.left_out = sample.left_out;
  if (fit.attempts < kLeastAttempts) {
    fit.why_not = Counted(fit.attempts, "attempt") + " in stages of " + std::to_string(kLeastTasks) +
                  " tasks and a median of a second: too few, " + std::to_string(kLeastAttempts) + " are needed";
    return fit;
  }
  fit.fitted = true;
  std::vector<double> logs;
  for (const Residual& a : sample.attempts) logs.push_back(a.r);
  fit.half_over = sample.half_over;
  fit.whole = ShapeOf(sample.m2, logs);
  FitMachine(sample, &fit);
  FitSkew(sample, &fit);
  FitLuck(&fit);
  FitStartup(observed, &fit.startup);
  CheckFit(sample, &fit);
  return fit;
}

}  // namespace mr::sim
