#include "master/sched/scheduler.h"

#include <tuple>

#include "common/base/check.h"
#include "master/sched/fold/core.h"
#include "master/sched/offers.h"
#include "master/sched/policies/list.h"
#include "master/sched/policy_lists.h"
#include "master/sched/state/state.h"

namespace mr::sched {

namespace {

// A row of a step: what happens, and under which condition.
template <class When, class Then>
struct Row {
  When when;
  Then then;
  template <class Impl>
  void Run(Impl& impl) const {
    if (when(impl)) then(impl);
  }
};
// C++20 deduces aggregates, but clang before 17 does not.
template <class When, class Then>
Row(When, Then) -> Row<When, Then>;

}  // namespace

struct Scheduler::Impl {
  State state;
  Core core{&state};
  PolicyLists lists;
  Instant now;
  OfferRounds offers{&state, &core, &lists, &now};
  // The step's event, and State::work_count and wants_count before it.
  const Event* event = nullptr;
  uint64_t work = 0, wants = 0;

  bool work_appeared() const { return state.work_count() != work; }

  // Folds the event in and goes through the rows, from the first to the last. A row's condition is judged when it is
  // its turn, since each row folds in what the policies answer.
  void Step(const StampedEvent& stamped, std::vector<Decision>* out) {
    static constexpr auto kRows = std::make_tuple(
        // When                                                    Then
        Row{[](Impl& s) { return s.core.config_changed; }, [](Impl& s) { s.lists.TakeCluster(&s.state); }},
        Row{[](Impl&) { return true; }, [](Impl& s) { s.lists.TakeJobs(&s.state); }},
        Row{[](Impl& s) { return s.core.config_changed; }, [](Impl& s) { s.TakeConfig(); }},
        Row{[](Impl& s) { return !s.core.due.empty(); }, [](Impl& s) { s.AskTimers(); }},
        Row{[](Impl& s) { return !s.core.changed.empty(); }, [](Impl& s) { s.Ask(AttemptsChanged{s.core.changed}); }},
        Row{[](Impl& s) { return !s.core.suspected.empty(); }, [](Impl& s) { s.AskOfSuspected(); }},
        Row{[](Impl& s) { return !s.core.not_made.empty(); }, [](Impl& s) { s.AskOfNotMade(); }},
        Row{[](Impl& s) { return !s.core.ended.empty(); }, [](Impl& s) { s.Ask(JobsEnded{s.core.ended}); }},
        Row{[](Impl& s) { return !s.core.forecast.empty(); }, [](Impl& s) { s.Ask(ForecastChanged{s.core.forecast}); }},
        Row{[](Impl&) { return true; }, [](Impl& s) { s.AnyWork() ? s.offers.All() : s.offers.Freed(); }},
        Row{[](Impl& s) { return s.core.offer_all; }, [](Impl& s) { s.offers.Idle(); }},
        // Readers that were launched in this step get their binds at once.
        Row{[](Impl& s) { return !s.core.to_tell.empty(); }, [](Impl& s) { s.Ask(AttemptsChanged{s.core.to_tell}); }},
        Row{[](Impl& s) { return s.LentSlotsAreDue(); }, [](Impl& s) { s.GiveBack(); }},
        Row{[](Impl& s) { return !s.state.starved().empty(); }, [](Impl& s) { s.AskForSlots(); }},
        Row{[](Impl&) { return true; }, [](Impl& s) { s.AskOfWaiting(); }},
        // Behind the policies, which may have had an output replicated on a worker that stays.
        Row{[](Impl& s) { return s.MovesAreDue(); }, [](Impl& s) { s.MoveOutputs(); }},
        Row{[](Impl&) { return true; }, [](Impl& s) { s.offers.ArmTimer(); }});
    now = stamped.at;
    event = &stamped.event;
    work = state.work_count();
    wants = state.wants_count();
    core.Begin(now, out);
    core.Fold(stamped.event);
    std::apply([this](const auto&... row) { (row.Run(*this), ...); }, kRows);
  }

  // Asks the policies about one trigger and folds their plan in.
  void Ask(const Trigger& trigger) {
    const View view(state, now);
    Plan plan(view);
    lists.Refine(trigger, state, now, &plan);
    Take(plan);
  }

  void Take(const Plan& plan) {
    if (!plan.edits().empty()) core.Fold(plan);
  }

  void TakeConfig() {
    lists.Drop(state, now, [this](const Plan& plan) { Take(plan); });
    lists.OnConfig(state, now, &core.forecast);
  }

  void AskTimers() {
    for (const auto& [owner, id] : core.due) {
      const View view(state, now);
      Plan plan(view);
      lists.RefineTimer(owner, id, state, now, &plan);
      Take(plan);
    }
  }

  void AskOfSuspected() {
    for (const auto& [replica, reader] : core.suspected) Ask(ReplicaSuspected{replica, reader});
  }

  void AskOfNotMade() {
    for (const ReplicaNotMade& replica : core.not_made) Ask(ReplicaFailed{replica.from, replica.worker});
  }

  bool MovesAreDue() const { return core.moves.any() || !core.not_made.empty() || !core.ended.empty(); }

  void MoveOutputs() {
    const View view(state, now);
    Plan plan(view);
    sched::MoveOutputs(view, core.moves, core.not_made, core.ended, &plan);
    Take(plan);
  }

  bool AnyWork() const { return core.offer_all || core.shares_changed || work_appeared() || !core.due.empty(); }

  void AskForSlots() {
    const std::vector<StageKey> starved(state.starved().begin(), state.starved().end());
    for (const StageKey& key : starved) Ask(SlotsWanted{key});
  }

  // Lent slots go back to tasks that appeared in this step, and to those that a freed slot did not take. A lost or
  // draining worker may have been about to give one back; one that comes back may be the first to have any.
  bool LentSlotsAreDue() const {
    if (state.lent().empty()) return false;
    const bool worker_moved = std::holds_alternative<WorkerLost>(*event) ||
                              std::holds_alternative<WorkerDraining>(*event) ||
                              std::holds_alternative<WorkerRegistered>(*event);
    bool look = work_appeared() || worker_moved || core.offer_all, waits = false;
    for (const SlotKind kind : kSlotKinds) {
      if (state.ready(kind).empty() && state.early(kind).empty()) continue;
      waits = true;
      for (const WorkerId w : core.freed) look = look || state.free(kind).count(w) != 0;
    }
    return waits && look;
  }

  void GiveBack() {
    lists.GiveBack(state, now, [this](const Plan& plan, bool all_seen) {
      if (!all_seen) core.WakeCoreAt(now + state.config().offer_period);
      Take(plan);
    });
  }

  void AskOfWaiting() {
    const bool waits = !state.ready(SlotKind::kMap).empty() || !state.ready(SlotKind::kReduce).empty();
    if (waits && (core.config_changed || core.shares_changed || work_appeared()))
      Ask(WorkWaits{});
    else if (state.wants_count() != wants && !state.wanting().empty())
      Ask(GuaranteesWait{});
  }
};

Scheduler::Scheduler() : impl_(std::make_unique<Impl>()) {}
Scheduler::~Scheduler() = default;

Status Scheduler::CheckPolicies(const std::string& list) { return Pipeline::Parse(list).status(); }

Status Scheduler::CheckJobPolicies(const std::string& list) { return Pipeline::ParseOfJob(list).status(); }

Result<std::vector<std::string>> Scheduler::PoliciesOfJob(const std::string& cluster,
                                                          const std::vector<std::string>& own, Wish speculation,
                                                          Wish clones) {
  return Pipeline::ForJob(cluster, own, speculation, clones);
}

bool Scheduler::Steers(const std::string& list) { return Pipeline::AnyIs(list, kSteers); }

bool Scheduler::SharesQueues(const std::string& list) { return Pipeline::AnyIs(list, kSharesQueues); }

void Scheduler::SetProbe(PolicyProbe* probe) { impl_->lists.SetProbe(probe); }

std::vector<Decision> Scheduler::Step(const StampedEvent& event) {
  MR_CHECK(impl_->state.config().known || std::holds_alternative<ConfigChanged>(event.event),
           "the first event is ConfigChanged");
  std::vector<Decision> out;
  impl_->Step(event, &out);
  return out;
}

uint64_t Scheduler::Digest() const { return impl_->state.Digest(); }

void Scheduler::Save(const std::function<void(std::string)>& part) const { impl_->state.Save(part); }

Status Scheduler::RestorePart(std::string_view part) { return impl_->state.RestorePart(part); }

Status Scheduler::FinishRestore() {
  MR_RETURN_IF_ERROR(impl_->state.FinishRestore());
  MR_RETURN_IF_ERROR(CheckPolicies(impl_->state.config().policies));
  impl_->lists.TakeCluster(&impl_->state);
  impl_->lists.TakeJobs(&impl_->state);
  return Status::Ok();
}

std::vector<Reason> Scheduler::WhyAlone(const AttemptId& attempt, Instant now) const {
  impl_->state.CountReports();
  return impl_->lists.WhyAlone(attempt, impl_->state, now);
}

std::vector<Figure> Scheduler::Figures(JobId job, Instant now) const {
  return impl_->lists.Figures(job, impl_->state, now);
}

std::vector<Reason> Scheduler::WhyShuns(WorkerId worker, Instant now) const {
  impl_->state.CountReports();
  return impl_->lists.WhyShuns(worker, impl_->state, now);
}

const State& Scheduler::state() const { return impl_->state; }

}  // namespace mr::sched
