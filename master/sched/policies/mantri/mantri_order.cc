#include "master/sched/policies/mantri/mantri_order.h"

#include <algorithm>
#include <optional>

#include "master/sched/index/estimate.h"
#include "master/sched/policies/common/speculation.h"
#include "master/sched/policies/mantri/reasons.h"

namespace mr::sched {

namespace {

constexpr size_t kNearSeen = 64, kLargestSeen = 16;
constexpr double kOutlier = 1.5;  // of the median: Mantri's outlier (from memory of the paper)

}  // namespace

void StartLargest(const Launch& drafted, const State& state, Plan* plan) {
  const TaskId& id = drafted.attempt.task;
  const StageId stage_id = id.stage_id();
  const Stage& stage = *state.FindStage(stage_id);
  if (stage.waiting_by_input.empty() || drafted.reason.code == ReasonCode::kWaitingEarly) return;
  const StageSpec& spec = state.Spec(stage_id);
  const Worker& worker = *state.FindWorker(drafted.worker);
  const TaskClass& c = stage.classes[stage.tasks[id.task].task_class];
  uint32_t best = id.task;
  const auto consider = [&](uint32_t t) {
    const Task& task = stage.tasks[t];
    if (task.plan.input_bytes <= stage.tasks[best].plan.input_bytes || !c.ready.fresh.Contains(t)) return false;
    if (task.live > 0 || state.BelongsElsewhere(spec, task, worker)) return false;
    best = t;
    return true;
  };
  const auto of_place = [&](const LocalLists& lists, uint32_t place) {
    const LocalLists::List list = lists.Find(place);
    size_t seen = 0;
    for (uint32_t i = lists.NextPending(list, list.begin); i != IndexSet::kNone && seen < kNearSeen; ++seen) {
      consider(lists.task(i));
      i = lists.NextPending(list, i + 1);
    }
  };
  // The reason shows how near the drafted task is: ChooseReady and ChooseLocal found it in that list. A policy between
  // them and this one that launches for a reason of its own gets any task of the stage.
  if (drafted.reason.code == ReasonCode::kLocalInput) {
    of_place(c.ready.by_worker, worker.id.value);
  } else if (drafted.reason.code == ReasonCode::kRackInput) {
    of_place(c.ready.by_rack, worker.rack_number);
  } else {
    const IndexSet& waiting = stage.waiting_by_input;
    size_t seen = 0;
    for (uint32_t i = waiting.First(); i != IndexSet::kNone && seen < kLargestSeen; i = waiting.Next(i + 1), ++seen) {
      if (consider(stage.by_input[i])) break;
    }
  }
  if (best == id.task) return;
  const double bytes = static_cast<double>(stage.tasks[best].plan.input_bytes);
  const double waiting = stage.waiting_by_input.size();
  plan->Replace(id, {id.job, id.stage, best}, drafted.worker, drafted.cause,
                {MantriReason::kLargestInput, "", {bytes, waiting}});
}

void NoteSkew(const View& view, const Stage& stage, const AttemptId& id, Plan* plan) {
  const StageStatistics& s = stage.statistics;
  if (s.measured < NewAttempt::kLeast || s.durations.size() < NewAttempt::kLeast) return;
  const Task& task = stage.tasks[id.task.task];
  if (OwnLive(task) != 1) return;
  auto a = task.attempts.rbegin();  // mostly the last
  while (a != task.attempts.rend() && a->number != id.number) ++a;
  if (a == task.attempts.rend() || !a->rating.running || !a->rating.alone || a->spared) return;
  const double bytes = static_cast<double>(InputBytes(task, *a));
  const double usual_bytes = static_cast<double>(s.measured_bytes) / s.measured;
  if (bytes < kOutlier * usual_bytes) return;
  const double usual_cost = static_cast<double>(s.measured_work) / static_cast<double>(s.measured_bytes);
  const auto pace = PaceOf(*a);  // not Rating::cost, which lacks reports that are not counted yet
  if (!pace || pace->whole_cost == 0 || pace->whole_cost > kSkewSlack * usual_cost) return;
  const double median = Percentile(s.durations, .5);
  if (pace->whole_cost * bytes < kOutlier * median || static_cast<double>((view.now() - a->started_at).ns) < median) {
    return;
  }
  plan->Spare(id, {ReasonCode::kExplainedByInput, "", {bytes / usual_bytes, pace->whole_cost / usual_cost}});
}

}  // namespace mr::sched
