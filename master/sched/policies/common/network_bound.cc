#include "master/sched/policies/common/network_bound.h"

#include <algorithm>
#include <map>

#include "master/sched/job_bins.h"
#include "master/sched/job_profile.h"

namespace mr::sched {

namespace {

constexpr char kReads[] = "reads", kCopies[] = "copies";        // scopes of the facts; ids: 0; the bin
constexpr char kEver[] = "ever";                                // of reads: their number, with equal weights
constexpr char kRatios[] = "ratios", kSeen[] = "seen";          // of reads: sum of ratios, and their number
constexpr char kCopying[] = "copying", kWorking[] = "working";  // seconds
// Chosen on a cell of the grid with links of 12.5 MB/s: with 1.5, clones made small jobs 14 % longer than under fair in
// some runs, where reads were not found slow in time. In its cells of 10 and 25 Gbit/s they were never found slow.
constexpr double kSlowReads = 1.25;
// kNarrowCopies: chosen between cells of the grid; with links of 1 Gbit/s and more a bin copies for .11 of its time at
// most, with 12.5 MB/s for .23 and more. Guesses: half of the time; so much that one straggler does not decide;
// attempts that are enough to judge.
constexpr double kMostlyCopies = .5, kNarrowCopies = .2, kLongest = 3, kFewest = 10;
constexpr size_t kFewestLocal = 3;  // a guess: attempts of a phase with a meaningful median
// Most attempts of a phase that are looked at, evenly spread: more would say the same again.
constexpr size_t kSampled = 100;
constexpr double kEarlier = .95;  // weight of the earlier phases, as of clones' worth: some twenty count

bool IsLocal(const Task& task, WorkerId worker) {
  const auto& at = task.plan.preferred;
  return std::find(at.begin(), at.end(), worker) != at.end();
}

constexpr uint32_t kAllBins = 0;

bool ReadsAStage(const StageSpec& spec) {
  return std::any_of(spec.inputs.begin(), spec.inputs.end(), [](const StageInput& i) { return i.is_edge; });
}

template <class Visit>
void EachSampled(const Stage& stage, Visit visit) {
  const size_t step = 1 + stage.tasks.size() / kSampled;
  for (size_t t = 0; t < stage.tasks.size(); t += step) {
    const Attempt* winner = Winner(stage.tasks[t]);
    if (winner != nullptr && winner->started_at.ns != 0) visit(stage.tasks[t], *winner);
  }
}

struct Pair {
  double part = 0, whole = 0;
  void Add(const Pair& other) { *this = {kEarlier * part + other.part, kEarlier * whole + other.whole}; }
};

// Returns the sum of ratios, and their number.
Pair ReadsOf(const Stage& stage) {
  uint64_t largest = 0;
  for (const Task& task : stage.tasks) largest = std::max(largest, task.plan.input_bytes);
  std::vector<double> local, remote;
  EachSampled(stage, [&](const Task& task, const Attempt& a) {
    if (task.plan.preferred.empty() || task.plan.input_bytes == 0 || task.plan.input_bytes < largest / 2) return;
    const double cost = (a.ended_at - a.started_at).seconds() / static_cast<double>(task.plan.input_bytes);
    (IsLocal(task, a.worker) ? local : remote).push_back(cost);
  });
  Pair reads;
  if (local.size() < kFewestLocal) return reads;
  const auto middle = local.begin() + static_cast<std::ptrdiff_t>(local.size() / 2);
  std::nth_element(local.begin(), middle, local.end());
  if (*middle <= 0) return reads;
  for (const double cost : remote) reads.part += std::min(kLongest, cost / *middle);
  reads.whole = static_cast<double>(remote.size());
  return reads;
}

// Returns the seconds of copying and of all work.
Pair CopiesOf(const Job& job, uint32_t stage) {
  Instant made;
  for (const StageInput& input : job.graph.stages[stage].inputs) {
    if (!input.is_edge) continue;
    for (const Task& task : job.stages[input.upstream].tasks) {
      if (const Attempt* winner = Winner(task)) made = std::max(made, winner->ended_at);
    }
  }
  Pair copies;
  if (made.ns == 0) return copies;
  EachSampled(job.stages[stage], [&](const Task&, const Attempt& a) {
    const Instant began = std::max(a.started_at, made);
    if (a.inputs_done_at.ns == 0 || a.ended_at <= began) return;
    copies.part += std::max(0.0, (a.inputs_done_at - began).seconds());
    copies.whole += (a.ended_at - began).seconds();
  });
  return copies;
}

Pair Reads(const View& view) { return {view.Real(kReads, 0, kRatios), view.Real(kReads, 0, kSeen)}; }
Pair Copies(const View& view, uint32_t bin) {
  return {view.Real(kCopies, bin, kCopying), view.Real(kCopies, bin, kWorking)};
}
bool Slow(const Pair& reads) { return reads.whole >= kFewest && reads.part > kSlowReads * reads.whole; }

}  // namespace

const NetworkBound::Known& NetworkBound::KnownBy(const View& view) const {
  const State& state = view.state();
  if (known_.state == &state && known_.list == view.list() && known_.facts == state.real_facts()) return known_;
  const Pair reads = Reads(view), copies = Copies(view, kAllBins);
  known_ = {&state,
            view.list(),
            state.real_facts(),
            Slow(reads) ? reads.part / reads.whole : 0,
            copies.part > kNarrowCopies * copies.whole,
            view.Real(kReads, 0, kEver) >= kFewest};
  return known_;
}

double NetworkBound::SlowReads(const View& view) const { return on_ ? KnownBy(view).slow_reads : 0; }

double NetworkBound::SlowReads(const View& view, const Task& task) const {
  return task.plan.preferred.empty() ? 0 : SlowReads(view);
}

double NetworkBound::SlowReadsOn(const View& view, const Task& task, const Worker& worker) const {
  return IsLocal(task, worker.id) ? 0 : SlowReads(view, task);
}

std::optional<Reason> NetworkBound::WhyNotRead(const View& view, const Task& task) const {
  const double slow = SlowReads(view, task);
  if (slow == 0) return std::nullopt;
  return Reason{ReasonCode::kReadsBound, "", {slow, kSlowReads}};
}

std::optional<Reason> NetworkBound::WhyNotAny(const View& view) const {
  if (!on_) return std::nullopt;
  const Known& known = KnownBy(view);
  if (known.slow_reads > 0) return Reason{ReasonCode::kNarrowNetwork, "", {known.slow_reads, 0}};
  if (!known.narrow) return std::nullopt;
  const Pair copies = Copies(view, kAllBins);
  return Reason{ReasonCode::kNarrowNetwork, "", {0, 100 * copies.part / copies.whole}};
}

bool NetworkBound::KnowsReads(const View& view) const { return !on_ || KnownBy(view).knows_reads; }

bool NetworkBound::KnowsCopies(const View& view, const Job& job, uint32_t stage) const {
  return !on_ || !ReadsAStage(job.graph.stages[stage]) ||
         Copies(view, BinOfTasks(job.stages[stage].tasks.size())).whole > 0;
}

std::optional<Reason> NetworkBound::WhyNotCopy(const View& view, const Job& job, uint32_t stage) const {
  if (!on_ || !ReadsAStage(job.graph.stages[stage])) return std::nullopt;
  const Pair copies = Copies(view, BinOfTasks(job.stages[stage].tasks.size()));
  if (copies.part <= kMostlyCopies * copies.whole) return std::nullopt;
  return Reason{ReasonCode::kCopiesBound, "", {100 * copies.part / copies.whole, 100 * kMostlyCopies}};
}

std::optional<Reason> NetworkBound::WhyNot(const View& view, const Job& job, uint32_t stage) const {
  if (auto why = WhyNotCopy(view, job, stage)) return why;
  return WhyNotRead(view, job.stages[stage].tasks.front());
}

void NetworkBound::Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const {
  if (!on_) return;
  std::optional<Pair> reads;
  double seen = 0;
  std::map<uint32_t, Pair> copies;
  for (const JobId id : jobs) {
    const Job* job = view.state().FindJob(id);
    if (job == nullptr || !view.Serves(*job)) continue;
    for (uint32_t s = 0; s < job->stages.size(); ++s) {
      if (job->stages[s].tasks.empty()) continue;
      if (!job->stages[s].tasks.front().plan.preferred.empty()) {
        if (!reads) reads = Reads(view);
        const Pair more = ReadsOf(job->stages[s]);
        reads->Add(more);
        seen += more.whole;
      }
      if (const Pair more = CopiesOf(*job, s); more.whole > 0) {
        for (const uint32_t bin : {BinOfTasks(job->stages[s].tasks.size()), kAllBins}) {
          copies.try_emplace(bin, Copies(view, bin)).first->second.Add(more);
        }
      }
    }
  }
  if (reads) {
    plan->Remember(kReads, 0, kRatios, reads->part);
    plan->Remember(kReads, 0, kSeen, reads->whole);
    if (const double ever = view.Real(kReads, 0, kEver); seen > 0 && ever < kFewest) {
      plan->Remember(kReads, 0, kEver, ever + seen);
    }
  }
  for (const auto& [bin, sum] : copies) {
    plan->Remember(kCopies, bin, kCopying, sum.part);
    plan->Remember(kCopies, bin, kWorking, sum.whole);
  }
}

bool ReadsElsewhere(const Task& task, WorkerId worker) {
  return !task.plan.preferred.empty() && !IsLocal(task, worker);
}

}  // namespace mr::sched
