#include "master/sched/policies/dolly/idle_worth.h"

#include <algorithm>
#include <map>
#include <vector>

#include "master/sched/job_bins.h"
#include "master/sched/policies/common/task_end.h"
#include "master/sched/policies/dolly/clone_credit.h"
#include "master/sched/policies/dolly/reasons.h"

namespace mr::sched {

namespace {

constexpr char kOfBin[] = "bin";  // scope of the facts; id: the bin
struct Number {
  const char* name;
  double PhaseWorth::*value;
};
constexpr Number kNumbers[] = {{"saved", &PhaseWorth::saved},
                               {"spent", &PhaseWorth::spent},
                               {"potential", &PhaseWorth::potential},
                               {"cost", &PhaseWorth::cost},
                               {"held", &PhaseWorth::held}};
// Clones of a bin were tried recently if they took this share of its slot time. A guess.
constexpr double kTried = .02;
// An outlier takes longer than this many medians of its phase (Mantri, OSDI'10, section 2).
constexpr double kOutlier = 1.5;
// Fewest tasks of a phase with a meaningful median. A guess, as in straggler_chance.cc.
constexpr size_t kFewest = 3;

double SecondsAt(Instant at) { return static_cast<double>(at.ns) * 1e-9; }

// Returns the sums over the last phases of the bin.
PhaseWorth Recall(const View& view, uint32_t bin) {
  PhaseWorth sum;
  for (const Number& n : kNumbers) sum.*n.value = view.Real(kOfBin, bin, n.name);
  return sum;
}

}  // namespace

PhaseWorth WorthOf(const Stage& stage, Instant now) {
  const SlotTime time = SlotTimeOf(stage, Cause::kOpportunistic, now);
  PhaseWorth worth;
  worth.spent = time.of_cause;
  worth.held = time.all;
  std::vector<double> took;
  std::vector<TaskEnd> ends;
  Instant ended, alone;
  for (const Task& task : stage.tasks) {
    const auto end = EndWithout(task, Cause::kOpportunistic, now);
    if (!end) continue;
    ends.push_back(*end);
    took.push_back((end->alone - end->began).seconds());
    ended = std::max(ended, end->ended);
    alone = std::max(alone, end->alone);
  }
  if (ends.empty() || ends.size() < stage.tasks.size()) return worth;  // the phase has no end
  worth.saved = (alone - ended).seconds();
  if (ends.size() < kFewest) return worth;
  const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
  std::nth_element(took.begin(), middle, took.end());
  const double median = *middle;
  double without = 0;
  for (const TaskEnd& end : ends) {
    const double time = (end.alone - end.began).seconds();
    without = std::max(without, SecondsAt(end.began) + (time > kOutlier * median ? median : time));
    worth.cost += std::min(time, median);
  }
  worth.potential = std::max(0.0, SecondsAt(alone) - without);
  return worth;
}

std::optional<Reason> IdleWorth::WhyNot(const View& view, size_t tasks) const {
  if (least_ <= 0) return std::nullopt;
  const PhaseWorth sum = Recall(view, BinOfTasks(tasks));
  const bool tried = sum.spent > kTried * sum.held;
  const double gain = tried ? sum.saved : sum.potential, price = tried ? sum.spent : sum.cost;
  if (price > 0 && gain >= least_ * price) return std::nullopt;
  return Reason{DollyReason::kDoesNotPay, "", {price > 0 ? 1e3 * gain / price : 0, 1e3 * least_}};
}

void IdleWorth::Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const {
  if (least_ <= 0) return;
  std::map<uint32_t, PhaseWorth> bins;
  for (const JobId id : jobs) {
    const Job* job = view.state().FindJob(id);
    if (job == nullptr || !view.Serves(*job)) continue;
    for (const Stage& stage : job->stages) {
      if (stage.tasks.empty()) continue;
      const PhaseWorth phase = WorthOf(stage, view.now());
      const uint32_t bin = BinOfTasks(stage.tasks.size());
      PhaseWorth& sum = bins.try_emplace(bin, Recall(view, bin)).first->second;
      for (const Number& n : kNumbers) sum.*n.value = kEarlierPhases * (sum.*n.value) + phase.*n.value;
    }
  }
  for (const auto& [bin, sum] : bins) {
    for (const Number& n : kNumbers) plan->Remember(kOfBin, bin, n.name, sum.*n.value);
  }
}

}  // namespace mr::sched
