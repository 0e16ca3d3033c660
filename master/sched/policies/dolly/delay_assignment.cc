#include "master/sched/policies/dolly/delay_assignment.h"

#include "master/sched/policies/dolly/omega.h"
#include "master/sched/policies/dolly/reads_clones.h"
#include "master/sched/policies/dolly/reasons.h"
#include "master/sched/policies/dolly/replica_assigner.h"

namespace mr::sched {

namespace {

class DelayAssignment final : public Policy {
 public:
  explicit DelayAssignment(Omega omega) : omega_(omega) {}
  std::string_view name() const override { return "delay_assignment"; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    const State& state = view.state();
    if (const auto* offer = std::get_if<SlotOffer>(&trigger)) {
      if (!offer->idle) Mark(view, &plan);
    } else if (const auto* changed = std::get_if<AttemptsChanged>(&trigger)) {
      ReplicaAssigner assigner(view, omega_, &plan);
      for (const AttemptId& id : changed->attempts) {
        const Job* job = state.FindJob(id.task.job);
        if (job != nullptr && job->running() && view.Serves(*job)) Moved(view, *job, id, &assigner, &plan);
      }
    } else if (const auto* suspected = std::get_if<ReplicaSuspected>(&trigger)) {
      const Job* job = state.FindJob(suspected->reader.task.job);
      if (job == nullptr || !job->running() || !view.Serves(*job)) return;
      ReplicaAssigner(view, omega_, &plan).ReadFailed(*job, suspected->reader, suspected->replica);
    } else if (std::holds_alternative<WorkWaits>(trigger)) {
      GiveWay(view, &plan);
    } else if (const auto* due = std::get_if<TimersDue>(&trigger)) {
      for (const uint64_t id : due->ids) {
        const Job* job = state.FindJob(JobOfFact(id));
        if (job != nullptr && job->running()) ReplicaAssigner(view, omega_, &plan).TimerDue(*job);
      }
    } else if (const auto* ended = std::get_if<JobsEnded>(&trigger)) {
      for (const JobId id : ended->jobs) plan.ForgetAll(kOpenOutputs, FactId(id));
      omega_.Learn(view, ended->jobs, &plan);
    }
  }

  std::vector<Figure> Figures(const View& view) const override { return omega_.Figures(view); }

 private:
  bool MoreReplicasHelp(const Job& job, uint32_t stage) const {
    return !omega_.zero() && !job.stages[stage].indeterminate && ReadersMayBeTold(job, stage);
  }

  // Frees slots that waiting tasks need. Walks the outputs whose readers still wait for replicas: those of small jobs,
  // each for at most omega.
  void GiveWay(const View& view, Plan* plan) const {
    ReplicaAssigner assigner(view, omega_, plan);
    const auto& facts = view.state().facts();
    const std::string mine = view.owner();
    for (auto it = facts.lower_bound({mine, kOpenOutputs, 0, ""}); it != facts.end(); ++it) {
      const FactKey& key = it->first;
      if (key.policy != mine || key.scope != kOpenOutputs) return;
      const Job* job = view.state().FindJob(JobOfFact(key.id));
      if (job != nullptr && job->running()) assigner.GiveWay(*job, ParseOpen(job->id, key.name));
    }
  }

  void Moved(const View& view, const Job& job, const AttemptId& id, ReplicaAssigner* assigner, Plan* plan) const {
    const Attempt* a = view.state().FindAttempt(id);
    // Most changes are reports of attempts that make the only replica and read by the directory.
    if (a == nullptr || (a->live() && !a->by_bind && a->cause != Cause::kOpportunistic)) return;
    const Task& task = job.stages[id.task.stage].tasks[id.task.task];
    // Mark does not see launches of clones on lent slots: they answer idle offers.
    const bool lent = a->live() && a->cause == Cause::kOpportunistic && task.state != TaskState::kCommitted;
    const bool more = lent && task.wanted_replicas < task.live && MoreReplicasHelp(job, id.task.stage);
    if (more) plan->WantReplicas(id.task, task.live);
    const bool ended = !a->holds_slot() && a->ended_at == view.now();
    // Even with one replica there may be readers that read by Bind.
    const bool matters = task.wanted_replicas > 1 || (job.by_bind > 0 && a->state == AttemptState::kCommitted);
    if (ended && matters) assigner->OutputMoved(job, id.task, task.winner == id.number);
    if (a->live() && a->by_bind && !a->inputs_done) assigner->ReaderMoved(job, id);
  }

  // Wants a replica from each clone of a drafted launch, and lets drafted readers of clones' outputs read by Bind.
  void Mark(const View& view, Plan* plan) const {
    // Only the edits so far: new ones are appended.
    for (size_t i = 0, n = plan->edits().size(); i < n; ++i) {
      const auto* launch = std::get_if<Launch>(&plan->edits()[i]);
      if (launch == nullptr) continue;
      const TaskId id = launch->attempt.task;
      const Job& job = *view.state().FindJob(id.job);
      if (!view.Serves(job)) continue;
      const Task& task = job.stages[id.stage].tasks[id.task];
      const bool wants = task.wanted > 1 && task.wanted_replicas != task.wanted && MoreReplicasHelp(job, id.stage);
      if (wants) plan->WantReplicas(id, task.wanted);
      if (ReadsClones(job, id.stage, task)) plan->ReadByBind(id);
    }
  }

  const Omega omega_;
};

}  // namespace

void DropDelayAssignment(const View& view, Plan* plan) {
  for (const auto& [id, job] : view.state().jobs()) {
    if (!job.running() || !view.Serves(job)) continue;
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      for (uint32_t t = 0; t < job.stages[s].tasks.size(); ++t) {
        const TaskId task_id{id, s, t};
        const Task& task = job.stages[s].tasks[t];
        const bool fewer_replicas = task.wanted_replicas > 1, committed = task.state == TaskState::kCommitted;
        if (fewer_replicas) plan->WantReplicas(task_id, 1);
        for (const Attempt& a : task.attempts) {
          // This policy would end them when omega is over. No other code does.
          if (fewer_replicas && committed)
            plan->Kill({task_id, a.number}, {ReasonCode::kTaskCommitted, "", {double(task.winner)}});
          else if (a.live() && a.by_bind && !a.inputs_done)
            plan->Kill({task_id, a.number}, {DollyReason::kToldNothing, "", {}});
        }
      }
    }
  }
}

Result<std::unique_ptr<Policy>> MakeDelayAssignment(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const Omega omega, Omega::Read(params));
  return std::unique_ptr<Policy>(std::make_unique<DelayAssignment>(omega));
}

}  // namespace mr::sched
