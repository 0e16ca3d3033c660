#include "master/sched/policies/common/speculation.h"

#include <algorithm>

namespace mr::sched {

namespace {

// An attempt compared with the finished ones, whose mean is 1.
struct Skew {
  double input = 0;
  double cost = 0;  // time per byte, without the wait for inputs, if it goes on at its rate
  bool explains() const { return cost <= kSkewSlack; }
};

// Returns nullopt if the inputs or its rate are not known.
std::optional<Skew> SkewOf(const View& view, StageId id, const Task& task, const Attempt& a) {
  const StageStatistics& s = view.state().FindStage(id)->statistics;
  const double bytes = static_cast<double>(InputBytes(task, a)), read = static_cast<double>(s.measured_bytes);
  double score = static_cast<double>(ScoreOf(a)) / static_cast<double>(kWholeScore);
  if (bytes == 0 || score == 0 || s.measured_bytes == 0) return std::nullopt;
  const double age = static_cast<double>((view.now() - a.started_at).ns);
  const double waited = SecondsBeforeInputs(view, id, a) * 1e9, n = s.measured;
  double took = age - std::min(age, waited), others = static_cast<double>(s.measured_work);
  const uint8_t phase = a.samples.back().phase;
  if (phase < 3) {
    // It may still fetch inputs that are there, as others did: their `waited` contains that time, too.
    others = std::max(others, static_cast<double>(s.measured_ns) - n * waited);
  } else {
    if (a.inputs_done_at.ns != 0) took = std::min(age, static_cast<double>((view.now() - a.inputs_done_at).ns));
    if (phase == 3) score = PhaseShare(a.samples.back());
  }
  if (score == 0) return std::nullopt;
  return Skew{bytes * n / read, took / score / bytes * read / others};
}

bool ExplainedByInput(const View& view, StageId id, const Task& task, const Attempt& a) {
  const auto skew = SkewOf(view, id, task, a);
  return skew && skew->explains();
}

// Returns true if each attempt of the stage waits for inputs that are not there yet.
bool AllWait(const State& state, const Job& job, uint32_t stage) {
  size_t fetching = 0;
  for (const TaskClass& c : job.stages[stage].classes) fetching += c.fetching[0].size() + c.fetching[1].size();
  return fetching == job.stages[stage].active.size() && !state.AnyFullReady(job, stage);
}

bool RanOn(const Task& task, const Worker& worker) {
  return std::any_of(task.attempts.begin(), task.attempts.end(),
                     [&](const Attempt& a) { return a.worker == worker.id; });
}

}  // namespace

double SecondsBeforeInputs(const View& view, StageId id, const Attempt& a) {
  const Job& job = *view.state().FindJob(id.job);
  int64_t made = 0;
  for (const StageInput& input : job.graph.stages[id.stage].inputs) {
    if (!input.is_edge) continue;
    const auto& ends = job.stages[input.upstream].statistics.ends;
    if (!ends.empty()) made = std::max(made, ends.At(ends.size() - 1));
  }
  return static_cast<double>(std::max<int64_t>(0, made - a.started_at.ns)) / 1e9;
}

Result<Speculation::Options> Speculation::ReadOptions(PolicyParams* params, Duration min_age) {
  Options options;
  MR_ASSIGN_OR_RETURN(options.min_age, params->Time("min_age", min_age));
  MR_ASSIGN_OR_RETURN(options.skew_check, params->Flag("skew_check", false));
  return options;
}

void Speculation::Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const {
  if (const auto* ended = std::get_if<JobsEnded>(&trigger)) {
    options_.network.Learn(view, ended->jobs, &plan);
    Learn(view, ended->jobs, &plan);
  }
  if (const auto* changed = std::get_if<AttemptsChanged>(&trigger)) Review(*changed, view, &plan);
  const auto* offer = std::get_if<SlotOffer>(&trigger);
  if (offer == nullptr || !offer->idle || !plan.passed().empty()) return;
  const auto launches = [](const Edit& e) { return std::holds_alternative<Launch>(e); };
  if (std::any_of(plan.edits().begin(), plan.edits().end(), launches)) return;
  const State& state = view.state();
  const Worker& worker = *state.FindWorker(offer->worker);
  for (const SlotKind kind : {SlotKind::kMap, SlotKind::kReduce}) {
    if (!worker.is_free[KindIndex(kind)]) continue;
    if (view.speculable(kind).empty() || !BelowCap(state, kind)) continue;
    size_t position = 0;
    while (const Seen* seen = NextWithAny(view, kind, &position)) {
      const auto choice = PickFor(view, *seen, worker);
      if (!choice) continue;
      const double slow = options_.network.SlowReadsOn(view, seen->stage->tasks[choice->slow.first], worker);
      if (slow > 0 && choice->gain <= kGainElsewhere * slow) continue;
      const TaskId task{seen->key.stage.job, seen->key.stage.stage, choice->slow.first};
      if (plan.Launch(task, worker.id, Cause::kSpeculative, choice->reason)) return;
    }
  }
}

bool Speculation::Seeks(const View& view, SlotKind kind) const {
  if (view.speculable(kind).empty() || !BelowCap(view.state(), kind)) return false;
  size_t position = 0;
  return NextWithAny(view, kind, &position) != nullptr;
}

const Speculation::Seen* Speculation::NextWithAny(const View& view, SlotKind kind, size_t* position) const {
  const auto has_any = [&](Seen* seen) { return HasAny(view, seen); };
  const auto open = [&](const Seen& seen) { return !view.state().QueueFull(*seen.job, kind); };
  return hopeful_[KindIndex(kind)].Next(view.state(), SeenBy(view, kind), position, has_any, open);
}

std::vector<Speculation::Seen>& Speculation::SeenBy(const View& view, SlotKind kind) const {
  const State& state = view.state();
  std::vector<Seen>& stages = seen_[KindIndex(kind)];
  if (round_[KindIndex(kind)] == state.idle_rounds()) return stages;
  round_[KindIndex(kind)] = state.idle_rounds();
  stages.clear();
  for (const StageKey& key : view.speculable(kind)) {
    const Job* job = state.FindJob(key.stage.job);
    stages.push_back({key, job, &job->stages[key.stage.stage]});
  }
  return stages;
}

bool Speculation::HasAny(const View& view, Seen* seen) const {
  const StageStatistics& s = seen->stage->statistics;
  if (!seen->looked || seen->changes != s.changes) {
    seen->looked = true;
    view.state().Look();
    seen->changes = s.changes;
    // One look is enough for a stage that has no Eligible attempt yet.
    const bool old = !s.by_start.empty() && view.now() - Instant{s.by_start.At(0).first} >= options_.min_age;
    seen->best = (old || !s.by_report.empty()) && !AllWait(view.state(), *seen->job, seen->key.stage.stage)
                     ? Pick(view, seen->key.stage, nullptr)
                     : std::nullopt;
  }
  return seen->best.has_value();
}

// Returns the choice that holds for any worker, unless this worker already ran its task. Only then are the candidates
// walked again.
std::optional<Speculation::Choice> Speculation::PickFor(const View& view, const Seen& seen,
                                                        const Worker& worker) const {
  if (Shuns(*seen.job, worker.id)) return std::nullopt;
  if (ChoosesAlike() && !RanOn(seen.stage->tasks[seen.best->slow.first], worker)) return seen.best;
  return Pick(view, seen.key.stage, &worker);
}

std::optional<Reason> Speculation::WhyAlone(const View& view, const AttemptId& id) const {
  const State& state = view.state();
  const Stage& s = *state.FindStage(id.task.stage_id());
  const Task& task = s.tasks[id.task.task];
  const Attempt& a = *state.FindAttempt(id);
  if (state.Spec(id.task.stage_id()).side_effects) return Reason{ReasonCode::kSideEffects, "", {}};
  const Speculated speculated = SpeculatedOn(task);
  if (speculated == Speculated::kOnce ||
      (speculated == Speculated::kKilled && !Again(view, id.task.stage_id(), task, a)))
    return Reason{ReasonCode::kSpeculatedOnce, "", {}};
  if (state.Waiting(id)) return Reason{ReasonCode::kWaitsForInputs, "", {}};
  const Duration age = Age(view, a);
  if (age < options_.min_age) return Reason{ReasonCode::kTooYoung, "", {age.seconds(), options_.min_age.seconds()}};
  const auto skew = options_.skew_check ? SkewOf(view, id.task.stage_id(), task, a) : std::nullopt;
  if (skew && skew->explains()) return Reason{ReasonCode::kExplainedByInput, "", {skew->input, skew->cost}};
  return Keeps(view, id);
}

const Attempt& Speculation::AttemptOf(const Stage& stage, AttemptKey key) {
  const std::vector<Attempt>& attempts = stage.tasks[key.first].attempts;
  // Numbers ascend, and callers nearly always ask for the last one.
  auto it = attempts.rbegin();
  while (it->number != key.second) ++it;
  return *it;
}

bool Speculation::Eligible(const View& view, StageId stage, AttemptKey key, const Worker* worker) const {
  const State& state = view.state();
  state.Look();
  const Stage& s = *state.FindStage(stage);
  const Task& task = s.tasks[key.first];
  const Attempt& a = AttemptOf(s, key);
  if (Age(view, a) < options_.min_age) return false;
  if (!a.inputs_done && !state.InputsComplete(*state.FindJob(stage.job), stage.stage, task)) return false;
  if (options_.skew_check && ExplainedByInput(view, stage, task, a)) return false;
  return worker == nullptr || !RanOn(task, *worker);
}

}  // namespace mr::sched
