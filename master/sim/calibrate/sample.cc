#include "master/sim/calibrate/sample.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace mr::sim {

namespace {

// Standard deviation of log bytes below which bytes count as equal: what they explain is less than the noise.
constexpr double kLeastBytesSpread = 0.01;

class Numbers {
 public:
  uint32_t Of(const std::string& name) {
    return numbers_.emplace(name, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  uint32_t size() const { return static_cast<uint32_t>(numbers_.size()); }

 private:
  std::map<std::string, uint32_t> numbers_;
};

void Centre(Residual* from, Residual* to) {
  double sum = 0;
  for (const Residual* a = from; a != to; ++a) sum += a->body;
  const double mean = sum / static_cast<double>(to - from);
  for (Residual* a = from; a != to; ++a) a->body -= mean;
}

// Takes what log bytes explain out of the centred bodies of a stage. Adds to `part` sums that are divided by the
// sample's size later.
void TakeOutBytes(const std::vector<uint64_t>& bytes, Residual* from, BytesPart* part) {
  const double n = static_cast<double>(bytes.size());
  if (std::any_of(bytes.begin(), bytes.end(), [](uint64_t b) { return b == 0; })) return;
  part->attempts += bytes.size();
  double mean = 0, xx = 0, xy = 0, yy = 0;
  for (const uint64_t b : bytes) mean += std::log(static_cast<double>(b)) / n;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const double x = std::log(static_cast<double>(bytes[i])) - mean;
    xx += x * x;
    xy += x * from[i].body;
    yy += from[i].body * from[i].body;
  }
  if (xx / n < kLeastBytesSpread * kLeastBytesSpread || yy <= 0) return;
  part->differ += bytes.size();
  const double slope = xy / xx;
  for (size_t i = 0; i < bytes.size(); ++i) {
    from[i].body -= slope * (std::log(static_cast<double>(bytes[i])) - mean);
  }
  const double adjusted = 1 - (1 - xy * xy / (xx * yy)) * (n - 1) / (n - 2);
  const double variance = yy / (n - 1);
  part->variance += n * adjusted * variance;
  // Without any effect, (n - 1) R^2 is near chi-square of one degree, and its variance 2.
  part->error += 2 * variance * variance;
}

}  // namespace

double Quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

Sample SampleOf(const std::vector<ObservedStage>& observed) {
  Sample s;
  Numbers jobs, workflows, names, workers, tasks;
  double squares = 0, freedom = 0;
  uint64_t over = 0, within = 0;
  std::vector<uint64_t> over_of;  // by stage
  for (const ObservedStage& stage : observed) {
    if (stage.kind != ObservedKind::kUsual) continue;
    std::vector<const ObservedAttempt*> good;
    std::vector<double> seconds;
    for (const ObservedAttempt& a : stage.attempts) {
      s.left_out.failed += a.end == ObservedEnd::kFailed;
      s.left_out.killed += a.end == ObservedEnd::kKilled;
      if (a.end != ObservedEnd::kSucceeded) continue;
      s.left_out.untimed += !(a.seconds > 0);
      if (!(a.seconds > 0)) continue;
      good.push_back(&a);
      seconds.push_back(a.seconds);
    }
    if (good.size() < kLeastTasks) {
      s.left_out.small += good.size();
      continue;
    }
    std::sort(seconds.begin(), seconds.end());
    const double median = Quantile(seconds, 0.5);
    if (median < kLeastMedian) {
      s.left_out.brief += good.size();
      continue;
    }
    const double most = kMostFar * static_cast<double>(good.size());
    if (std::count_if(seconds.begin(), seconds.end(), [&](double x) { return x > 2 * median; }) > most ||
        std::count_if(seconds.begin(), seconds.end(), [&](double x) { return x < median / 2; }) > most) {
      s.left_out.mixed += good.size();
      continue;
    }
    for (const ObservedAttempt& a : stage.attempts) {
      s.left_out.killed_late += a.end == ObservedEnd::kKilled && a.seconds > 2 * median;
    }
    SampleStage& added = s.stages.emplace_back();
    added.first = static_cast<uint32_t>(s.attempts.size());
    added.count = static_cast<uint32_t>(good.size());
    added.job = jobs.Of(stage.job);
    if (!stage.workflow.empty()) added.workflow = workflows.Of(stage.workflow);
    added.name = names.Of(stage.name);
    std::vector<uint64_t> bytes;
    const uint64_t over_before = over;
    for (const ObservedAttempt* a : good) {
      Residual& x = s.attempts.emplace_back();
      if (!a->task.empty()) {
        x.task = tasks.Of((stage.workflow.empty() ? stage.job : stage.workflow) + '\n' + stage.name + '\n' + a->task);
      }
      if (!a->worker.empty()) x.worker = workers.Of(a->worker);
      x.start = a->start;
      x.r = std::log(a->seconds / median);
      x.body = std::clamp(x.r, -kFar, kFar);
      over += x.r > kFar;
      within += std::abs(x.r) <= kFar;
      bytes.push_back(a->bytes);
    }
    over_of.push_back(over - over_before);
    Residual* const first = &s.attempts[added.first];
    Centre(first, first + added.count);
    for (size_t i = 0; i < good.size(); ++i) squares += first[i].body * first[i].body;
    freedom += static_cast<double>(good.size() - 1);
    TakeOutBytes(bytes, first, &s.bytes);
  }
  if (s.attempts.empty()) return s;
  const auto n = static_cast<double>(s.attempts.size());
  s.workers = workers.size();
  s.m2 = squares / freedom;
  s.over = static_cast<double>(over) / n;
  s.within = static_cast<double>(within) / n;
  std::sort(over_of.rbegin(), over_of.rend());
  for (uint64_t sum = 0; 2 * sum < over; ++s.half_over) sum += over_of[s.half_over];
  s.bytes.variance /= n;
  s.bytes.error = std::sqrt(s.bytes.error) / n;
  return s;
}

}  // namespace mr::sim
