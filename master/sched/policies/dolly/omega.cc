#include "master/sched/policies/dolly/omega.h"

#include <algorithm>
#include <limits>
#include <map>

#include "master/sched/policies/common/figures.h"
#include "master/sched/policies/dolly/delay_model.h"

namespace mr::sched {

namespace {

constexpr char kBin[] = "bin", kChosen[] = "omega", kAt[] = "at";
// Samples kept per bin and kind, the newest ones. A guess: enough for a 90th percentile.
constexpr int64_t kSamples = 64;
constexpr int64_t kFewestSamples = 8;   // gaps: with fewer, no omega is chosen
constexpr int64_t kFromOneJob = 8;      // of each kind: one job must not dominate the samples
constexpr int64_t kJudged = 24;         // samples in the mean: some 3 ms per bin and hour (delay_model.h)
constexpr uint32_t kMostUpstream = 20;  // outputs in one sample: more cost time and add no information
constexpr double kNoGap = 1e6;          // seconds: there never was a second replica
// omega in Dolly: 2.5 to 5.2 s for tasks that take tens of seconds.
constexpr double kFirstShare = 0.15;
constexpr double kUnmeasured = 125e6;  // bytes per second: an interface of a Gbit/s
constexpr double kAlpha = 0.5;         // of two readers until it is measured: they halve B

struct Ring {
  std::string name;
  int64_t n = 0;  // values put so far
  std::map<int64_t, double> values;

  static std::string Entry(const std::string& name, int64_t i) { return name + "/" + std::to_string(i % kSamples); }
  void Put(double value, uint64_t bin, Plan* plan) {
    plan->Remember(kBin, bin, Entry(name, n), value);
    values[n % kSamples] = value;
    ++n;
  }
  double At(int64_t i) const { return std::next(values.begin(), i % static_cast<int64_t>(values.size()))->second; }
};

// Samples of one bin, with those that the plan adds.
struct Bin {
  uint64_t id = 0;
  Ring gaps{"gap", 0, {}}, compute{"compute", 0, {}}, bytes{"bytes", 0, {}}, upstream{"upstream", 0, {}};

  Bin(const View& view, uint64_t bin) : id(bin) {
    for (Ring* ring : {&gaps, &compute, &bytes, &upstream}) {
      ring->n = view.Number(kBin, bin, ring->name);
      for (int64_t i = 0; i < std::min(ring->n, kSamples); ++i) {
        const FactValue* value = view.FindFact(kBin, bin, Ring::Entry(ring->name, i));
        if (value != nullptr) ring->values[i] = std::get<double>(*value);
      }
    }
  }
  void Save(Plan* plan) const {
    for (const Ring* ring : {&gaps, &compute, &bytes, &upstream}) plan->Remember(kBin, id, ring->name, ring->n);
  }
};

// Takes the gaps of one phase's outputs, and what its readers read and computed.
void TakePhase(const Job& job, uint32_t s, Bin* bin, Plan* plan) {
  const Stage& stage = job.stages[s];
  int64_t taken = 0;
  for (const Task& task : stage.tasks) {
    if (task.wanted_replicas <= 1 || taken == kFromOneJob) continue;
    std::vector<Instant> ends;
    for (const Attempt& a : task.attempts) {
      if (a.state == AttemptState::kCommitted) ends.push_back(a.ended_at);
    }
    if (ends.empty()) continue;
    std::sort(ends.begin(), ends.end());
    bin->gaps.Put(ends.size() > 1 ? (ends[1] - ends[0]).seconds() : kNoGap, bin->id, plan);
    ++taken;
  }
  if (taken == 0) return;
  for (const uint32_t r : stage.readers) {
    const Stage& reader = job.stages[r];
    const double bytes = static_cast<double>(stage.tasks[0].manifest.bytes) / std::max(1u, stage.partitions);
    bin->bytes.Put(bytes, bin->id, plan);
    bin->upstream.Put(static_cast<double>(stage.tasks.size()), bin->id, plan);
    int64_t computed = 0;
    for (const Task& task : reader.tasks) {
      for (const Attempt& a : task.attempts) {
        if (a.state != AttemptState::kCommitted || computed++ >= kFromOneJob) continue;
        bin->compute.Put(std::max(0.0, a.ran.seconds()), bin->id, plan);
      }
    }
  }
}

double RateOf(const Transfers& t) {
  return t.us == 0 ? 0 : static_cast<double>(t.bytes) * 1e6 / static_cast<double>(t.us);
}

Contention MeasuredContention(const State& state, double rate) {
  Contention contention = Contention::Power(kAlpha, State::kMostReaders);
  for (size_t m = 1; m < State::kMostReaders; ++m) {
    const Transfers& t = state.transfers()[m];
    if (t.n >= static_cast<uint64_t>(kFewestSamples)) {
      contention.alpha[m] = std::clamp(RateOf(t) / rate, 1.0 / static_cast<double>(m + 1), 1.0);
    }
  }
  return contention;
}

double ChooseOmega(const State& state, const Bin& bin) {
  const Transfers& alone = state.transfers()[0];
  const double rate = alone.n >= static_cast<uint64_t>(kFewestSamples) ? RateOf(alone) : kUnmeasured;
  std::vector<DelaySample> samples;
  int64_t gap = 0;
  for (int64_t i = 0; i < std::min(bin.bytes.n, kJudged); ++i) {
    DelaySample sample;
    sample.read_seconds = bin.bytes.At(i) / rate;
    const uint32_t n = std::clamp(static_cast<uint32_t>(bin.upstream.At(i)), 1u, kMostUpstream);
    for (uint32_t u = 0; u < n; ++u) {
      const double second = bin.gaps.At(gap++);
      sample.offsets.push_back({0, second < kNoGap ? second : std::numeric_limits<double>::infinity()});
    }
    for (int64_t clone : {0, 1}) sample.compute.push_back(bin.compute.At(2 * i + clone));
    samples.push_back(std::move(sample));
  }
  std::vector<double> finite;
  for (const auto& [i, value] : bin.gaps.values) {
    if (value < kNoGap) finite.push_back(value);
  }
  std::sort(finite.begin(), finite.end());
  const double longest = finite.empty() ? 0 : finite[finite.size() * 99 / 100];
  return BestOmega(samples, MeasuredContention(state, rate), Fetching::kParallel, longest);
}

}  // namespace

uint32_t BinOf(const Job& job) {
  size_t tasks = 0;
  for (const Stage& stage : job.stages) tasks += stage.tasks.size();
  return BinOfTasks(tasks);
}

Result<Omega> Omega::Read(PolicyParams* params) {
  Omega omega;
  MR_ASSIGN_OR_RETURN(omega.given_, params->TimeOr("omega", {{"auto", Duration{-1}}, {"inf", kForever}}));
  MR_ASSIGN_OR_RETURN(omega.refresh_, params->Time("refresh", Seconds(3600)));
  omega.automatic_ = omega.given_.ns < 0;
  return omega;
}

Duration Omega::Of(const View& view, const Job& job, const TaskId& output) const {
  if (!automatic_) return given_;
  const FactValue* chosen = view.FindFact(kBin, BinOf(job), kChosen);
  if (chosen != nullptr) return Duration{static_cast<int64_t>(std::get<double>(*chosen) * 1e9)};
  const Task& task = job.stages[output.stage].tasks[output.task];
  for (const Attempt& a : task.attempts) {
    if (a.number != task.winner) continue;
    // Without its wait for inputs on the slot.
    const Instant begun = std::max(a.launched_at, a.started_at) + a.waited;
    const Duration took = a.ended_at - std::min(begun, a.ended_at);
    return Duration{static_cast<int64_t>(static_cast<double>(took.ns) * kFirstShare)};
  }
  return {};
}

std::vector<Figure> Omega::Figures(const View& view) const {
  std::vector<Figure> figures;
  for (uint32_t bin = 1; bin <= kBins; ++bin) {
    const FactValue* chosen = automatic_ ? view.FindFact(kBin, bin, kChosen) : nullptr;
    if (automatic_ && chosen == nullptr) continue;
    const double seconds = chosen != nullptr    ? std::get<double>(*chosen)
                           : given_ >= kForever ? std::numeric_limits<double>::infinity()
                                                : given_.seconds();
    figures.push_back({kOmegaFigure, std::to_string(bin), seconds});
  }
  return figures;
}

void Omega::Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const {
  if (!automatic_) return;
  std::map<uint64_t, Bin> bins;
  for (const JobId id : jobs) {
    const Job* job = view.state().FindJob(id);
    if (job == nullptr || !view.Serves(*job) || job->state != JobState::kSucceeded) continue;
    for (uint32_t s = 0; s < job->stages.size(); ++s) {
      const Stage& stage = job->stages[s];
      if (stage.readers.empty() || stage.tasks.empty() || stage.tasks[0].wanted_replicas <= 1) continue;
      Bin& bin = bins.try_emplace(BinOf(*job), view, BinOf(*job)).first->second;
      TakePhase(*job, s, &bin, plan);
    }
  }
  for (auto& [id, bin] : bins) {
    bin.Save(plan);
    if (bin.gaps.n < kFewestSamples || bin.compute.n < kFewestSamples) continue;
    const FactValue* at = view.FindFact(kBin, id, kAt);
    if (at != nullptr && view.now() - Instant{std::get<int64_t>(*at)} < refresh_) continue;
    plan->Remember(kBin, id, kChosen, ChooseOmega(view.state(), bin));
    plan->Remember(kBin, id, kAt, view.now().ns);
  }
}

}  // namespace mr::sched
