#include "master/sched/job_profile.h"

#include <algorithm>

#include "common/base/digest.h"

namespace mr::sched {

namespace {

// Returns the time of the task's commit. If the job was taken over and the time is not known: the time of the submit.
Instant CommittedAt(const Job& job, const Task& task) {
  const Attempt* winner = Winner(task);
  return winner == nullptr ? job.submitted_at : std::max(job.submitted_at, winner->ended_at);
}

// Returns the time at which each task of the stage had all of its inputs.
std::vector<Instant> InputsAt(const Job& job, size_t s) {
  const Stage& stage = job.stages[s];
  std::vector<Instant> at(stage.tasks.size(), job.submitted_at);
  const std::vector<StageInput>& inputs = job.graph.stages[s].inputs;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_edge) continue;
    const std::vector<Task>& upstream = job.stages[inputs[i].upstream].tasks;
    std::vector<Instant> made;
    Instant all = job.submitted_at;
    for (const Task& task : upstream) all = std::max(all, made.emplace_back(CommittedAt(job, task)));
    for (size_t t = 0; t < stage.tasks.size(); ++t) {
      for (const Slice& slice : stage.tasks[t].plan.slices) {
        if (slice.input != i) continue;
        // Whole stages, the common case, are looked at once.
        const bool whole = slice.task_begin == 0 && slice.task_end >= upstream.size();
        if (whole) at[t] = std::max(at[t], all);
        for (uint32_t u = slice.task_begin; !whole && u < slice.task_end; ++u) at[t] = std::max(at[t], made[u]);
      }
    }
  }
  return at;
}

// Returns at most kStageSamples of the samples, sorted and evenly spread.
std::vector<float> Thinned(std::vector<float> samples) {
  std::sort(samples.begin(), samples.end());
  if (samples.size() <= kStageSamples) return samples;
  std::vector<float> out;
  out.reserve(kStageSamples);
  for (size_t i = 0; i < kStageSamples; ++i) out.push_back(samples[(2 * i + 1) * samples.size() / (2 * kStageSamples)]);
  return out;
}

float SecondsOf(Duration d) { return static_cast<float>(std::max(0.0, d.seconds())); }

StageRuns RunsOf(const Job& job, size_t s) {
  const Stage& stage = job.stages[s];
  StageRuns out;
  out.name = job.graph.stages[s].name;
  out.tasks = static_cast<uint32_t>(stage.tasks.size());
  out.inputs = job.graph.stages[s].inputs;
  const std::vector<Instant> ready = InputsAt(job, s);
  uint64_t committed = 0, failed = 0, tasks_failed = 0, tasks_again = 0;
  double queued = 0, ran = 0;
  for (size_t t = 0; t < stage.tasks.size(); ++t) {
    const Task& task = stage.tasks[t];
    uint32_t failures = 0;
    Instant first;
    for (const Attempt& a : task.attempts) {
      if (first.ns == 0 || a.launched_at < first) first = a.launched_at;
      const bool own = a.failure == FailureKind::kUser || a.failure == FailureKind::kEnvironment;
      if (a.state == AttemptState::kFailed && own) ++failures;
    }
    failed += failures;
    if (failures > 0) ++tasks_failed;
    if (failures > 1) ++tasks_again;
    const Attempt* winner = Winner(task);
    if (winner == nullptr) continue;
    ++committed;
    // An attempt that was launched early had its slot, and nothing to do before its inputs came.
    const Instant begin = std::max(winner->launched_at, ready[t]);
    const Duration took = std::max(Duration{}, winner->ended_at - begin);
    Duration wait = winner->started_at - begin;
    if (winner->first_byte_at.ns != 0)
      wait = winner->first_byte_at - begin;
    else if (winner->ran.ns > 0)
      wait = took - winner->ran;
    wait = std::clamp(wait, Duration{}, took);
    out.wait.push_back(SecondsOf(wait));
    out.run.push_back(SecondsOf(took - wait));
    queued += SecondsOf(first - ready[t]);
    ran += RunTime(*winner).seconds();
    out.input_bytes += static_cast<double>(InputBytes(task, *winner));
  }
  if (committed > 0) out.queue = queued / static_cast<double>(committed);
  if (committed > 0) out.ran = ran / static_cast<double>(committed);
  if (committed > 0) out.fails = static_cast<double>(failed) / static_cast<double>(failed + committed);
  if (tasks_failed > 0) out.fails_again = static_cast<double>(tasks_again) / static_cast<double>(tasks_failed);
  double sum = 0;
  for (const float seconds : out.run) sum += static_cast<double>(seconds);
  if (!out.run.empty()) out.means = {static_cast<float>(sum / static_cast<double>(out.run.size()))};
  out.run = Thinned(std::move(out.run));
  out.wait = Thinned(std::move(out.wait));
  return out;
}

// Returns quantiles of both sets together, as many as there are samples, at most kStageSamples. Each earlier run weighs
// as much as the later one.
std::vector<float> MergedSamples(const std::vector<float>& earlier, const std::vector<float>& later, uint64_t runs) {
  if (earlier.empty()) return later;
  if (later.empty()) return earlier;
  // Weights of one sample of each set, scaled to integers.
  const uint64_t earlier_weight = runs * later.size(), later_weight = earlier.size();
  const uint64_t total = earlier_weight * earlier.size() + later_weight * later.size();
  const uint64_t n = std::min(kStageSamples, earlier.size() + later.size());
  std::vector<float> out;
  out.reserve(n);
  size_t e = 0, l = 0;
  uint64_t seen = 0;
  while (out.size() < n) {
    const bool from_earlier = l == later.size() || (e < earlier.size() && earlier[e] <= later[l]);
    const float value = from_earlier ? earlier[e++] : later[l++];
    seen += from_earlier ? earlier_weight : later_weight;
    while (out.size() < n && (2 * out.size() + 1) * total < 2 * n * seen) out.push_back(value);
  }
  return out;
}

}  // namespace

const Attempt* Winner(const Task& task) {
  for (const Attempt& a : task.attempts) {
    if (a.number == task.winner && a.state == AttemptState::kCommitted) return &a;
  }
  return nullptr;
}

Duration RunTime(const Attempt& attempt) {
  if (attempt.ran.ns > 0) return attempt.ran;
  const Instant begin = std::max({attempt.launched_at, attempt.started_at, attempt.first_byte_at});
  return std::max(Duration{}, attempt.ended_at - begin);
}

uint64_t PlanShape(const JobGraph& graph) {
  uint64_t hash = Hash64("plan shape");
  for (const StageSpec& stage : graph.stages) {
    hash = MixHash(hash, Hash64(stage.name));
    hash = MixHash(hash, static_cast<uint64_t>(stage.slot_kind));
    hash = MixHash(hash, stage.inputs.size());
    for (const StageInput& input : stage.inputs) {
      hash = MixHash(hash, input.is_edge ? static_cast<uint64_t>(input.edge) : 0);
      hash = MixHash(hash, input.is_edge ? input.upstream : 0);
    }
  }
  return hash;
}

RunProfile ProfileOf(const Job& job) {
  RunProfile profile;
  for (size_t s = 0; s < job.stages.size(); ++s) profile.stages.push_back(RunsOf(job, s));
  return profile;
}

RunProfile Merged(const RunProfile& earlier, const RunProfile& later) {
  RunProfile out = later;
  out.runs = static_cast<uint32_t>(std::min<uint64_t>(uint64_t{earlier.runs} + later.runs, UINT32_MAX));
  const uint32_t weight = std::clamp(earlier.runs, 1u, kRunsRemembered - 1);
  const auto mean = [weight](double before, double now) { return (weight * before + now) / (weight + 1); };
  for (size_t s = 0; s < out.stages.size() && s < earlier.stages.size(); ++s) {
    const StageRuns& before = earlier.stages[s];
    StageRuns& now = out.stages[s];
    now.run = MergedSamples(before.run, now.run, weight);
    now.wait = MergedSamples(before.wait, now.wait, weight);
    now.means.insert(now.means.begin(), before.means.begin(), before.means.end());
    if (now.means.size() > kRunsRemembered) now.means.erase(now.means.begin(), now.means.end() - kRunsRemembered);
    now.queue = mean(before.queue, now.queue);
    now.ran = mean(before.ran, now.ran);
    // Runs without a failure show nothing about a second one.
    if (now.fails == 0)
      now.fails_again = before.fails_again;
    else if (before.fails > 0)
      now.fails_again = mean(before.fails_again, now.fails_again);
    now.fails = mean(before.fails, now.fails);
  }
  return out;
}

}  // namespace mr::sched
