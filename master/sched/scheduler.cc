#include "master/sched/scheduler.h"

#include <algorithm>

#include "common/base/check.h"
#include "master/sched/fold/core.h"
#include "master/sched/policies/dolly/dolly_facts.h"
#include "master/sched/policies/dolly/give_back.h"
#include "master/sched/policy_lists.h"
#include "master/sched/state/state.h"

namespace mr::sched {

struct Scheduler::Impl : Refusals {
  State state;
  Core core{&state};
  PolicyLists lists;
  Instant now;

  // Asks the policies about one trigger and folds their plan in.
  void Ask(const Trigger& trigger) {
    const View view(state, now);
    Plan plan(view);
    lists.Refine(trigger, state, now, &plan);
    if (!plan.edits().empty()) core.Fold(plan);
  }

  void AskTimer(const std::string& owner, uint64_t id) {
    const View view(state, now);
    Plan plan(view);
    lists.RefineTimer(owner, id, state, now, &plan);
    if (!plan.edits().empty()) core.Fold(plan);
  }

  bool WorkFor(WorkerId worker) const {
    for (const SlotKind kind : kSlotKinds) {
      if (state.ready(kind).empty() && state.early(kind).empty()) continue;
      if (state.free(kind).count(worker) != 0) return true;
    }
    return false;
  }

  bool Refuses(std::string_view asker, const TaskId& task, WorkerId worker) const override {
    return lists.Refuses(asker, state, now, task, worker);
  }

  // Returns true if the offer ended in a launch.
  bool Offer(WorkerId worker, bool local_only, bool idle = false) {
    const uint32_t before = state.FindWorker(worker)->used_total();
    Trigger trigger = SlotOffer{worker, local_only, idle, {}, this};
    SlotOffer& offer = std::get<SlotOffer>(trigger);
    bool launched = false;
    state.Look();
    while (true) {
      const View view(state, now);
      Plan plan(view);
      lists.Refine(trigger, state, now, &plan);
      if (!plan.edits().empty()) core.Fold(plan);
      launched = state.FindWorker(worker)->used_total() > before;
      const size_t passed = offer.passed.size();
      for (const JobId job : plan.passed()) offer.passed.insert(job);
      if (launched || offer.passed.size() == passed) break;
    }
    state.CountOffer(launched ? worker : WorkerId{});
    return launched;
  }

  // Moves the workers of `rest` that hold the input of a pending task to `workers`. It goes through the shorter of
  // the two lists: in a full cluster one worker is free, and thousands hold inputs of each stage.
  void MoveLocal(const LocalLists& lists, std::vector<WorkerId>* rest, std::set<WorkerId>* workers) const {
    if (!lists.AnyPending()) return;
    const std::vector<uint32_t>& places = lists.places();
    state.Look(std::min(rest->size(), places.size()));
    if (rest->size() < places.size()) {
      std::erase_if(*rest, [&](WorkerId w) {
        const bool holds = lists.CountPending(lists.Find(w.value)) > 0;
        if (holds) workers->insert(w);
        return holds;
      });
      return;
    }
    size_t l = 0;
    std::erase_if(*rest, [&](WorkerId w) {
      while (l < places.size() && places[l] < w.value) ++l;
      if (l == places.size() || places[l] != w.value) return false;
      if (lists.CountPending(lists.At(static_cast<uint32_t>(l))) == 0) return false;
      workers->insert(w);
      return true;
    });
  }

  // Offers each worker first the tasks whose input it holds, so that no other worker takes them.
  void OfferLocal() {
    std::set<WorkerId> workers;
    for (const SlotKind kind : kSlotKinds) {
      if (state.free(kind).empty() || state.ready(kind).empty()) continue;
      std::vector<WorkerId> rest(state.free(kind).begin(), state.free(kind).end());
      for (const StageKey& key : state.ready(kind)) {
        if (rest.empty()) break;
        const Stage& stage = *state.FindStage(key.stage);
        for (const TaskClass& c : stage.classes) MoveLocal(c.ready.by_worker, &rest, &workers);
      }
    }
    for (const WorkerId w : workers) {
      while (WorkFor(w) && Offer(w, true)) {
      }
    }
  }

  // Returns the next worker after `cursor` with room for a kind that has work; invalid = none.
  WorkerId NextFree(WorkerId cursor) const {
    WorkerId next;
    for (const SlotKind kind : kSlotKinds) {
      if (state.ready(kind).empty() && state.early(kind).empty()) continue;
      const auto it = state.free(kind).upper_bound(cursor);
      if (it != state.free(kind).end() && (!next.valid() || *it < next)) next = *it;
    }
    return next;
  }

  // Offers one slot per worker and round, until a round launches nothing. Begins behind the worker of the last
  // launch, so that load spreads.
  void OfferAll() {
    OfferLocal();
    WorkerId cursor = state.offer_cursor();
    WorkerId declined_first;  // the first of the latest workers in a row that launched nothing
    while (true) {
      WorkerId next = NextFree(cursor);
      if (!next.valid()) next = NextFree({});
      if (!next.valid() || next == declined_first) return;
      cursor = next;
      if (Offer(next, false))
        declined_first = {};
      else if (!declined_first.valid())
        declined_first = next;
    }
  }

  void OfferFreed() {
    const FlatSet<WorkerId> freed = core.freed;
    for (const WorkerId w : freed) {
      while (WorkFor(w) && Offer(w, false)) {
      }
    }
  }

  // Offers slots that no pending task took to policies with a use for them: one per worker and round, until each free
  // worker has declined.
  void OfferIdle() {
    if (state.free(SlotKind::kMap).empty() && state.free(SlotKind::kReduce).empty()) return;
    state.BeginIdleRound();
    state.CountReports();
    for (const SlotKind kind : kSlotKinds) {
      WorkerId cursor = state.offer_cursor();
      WorkerId declined_first;
      while (lists.Seeks(state, now, kind)) {
        auto it = state.free(kind).upper_bound(cursor);
        if (it == state.free(kind).end()) it = state.free(kind).begin();
        if (it == state.free(kind).end() || *it == declined_first) break;
        cursor = *it;
        if (Offer(cursor, false, true))
          declined_first = {};
        else if (!declined_first.valid())
          declined_first = cursor;
      }
    }
  }

  void AskForSlots() {
    if (state.starved().empty()) return;
    const std::vector<StageKey> starved(state.starved().begin(), state.starved().end());
    for (const StageKey& key : starved) Ask(SlotsWanted{key});
  }

  // Arms the core timer to look again: a policy or memory holds work back though there is room, or idle slots may
  // soon be of use.
  void ArmOfferTimer() {
    for (const SlotKind kind : kSlotKinds) {
      if (state.free(kind).empty()) continue;
      if (state.ready(kind).empty() && state.early(kind).empty() && state.speculable(kind).empty()) continue;
      core.WakeCoreAt(now + state.config().offer_period);
      return;
    }
  }

  // Gives lent slots back to waiting tasks: those that appeared in this step, and those that a freed slot did not
  // take. A lost or draining worker may have been about to give one back; one that comes back may be the first to
  // have any. No policy is asked, since the list may have changed.
  void TakeLentSlots(bool work_appeared, bool worker_moved) {
    if (state.lent().empty()) return;
    bool look = work_appeared || worker_moved || core.offer_all, waits = false;
    for (const SlotKind kind : kSlotKinds) {
      if (state.ready(kind).empty() && state.early(kind).empty()) continue;
      waits = true;
      for (const WorkerId w : core.freed) look = look || state.free(kind).count(w) != 0;
    }
    if (!waits || !look) return;
    const View view(state, now, kLender);
    Plan plan(view);
    plan.Enter(kLender);
    if (!GiveBackLentSlots(view, &plan)) core.WakeCoreAt(now + state.config().offer_period);
    if (!plan.edits().empty()) core.Fold(plan);
  }

  // Notifies jockey of the jobs that it steers by their deadlines. Without jockey in the list, ends all guarantees.
  void SteerAnew() {
    if (!lists.Has(state.lists().at(""), "jockey")) return core.EndShares();
    for (const auto& [id, job] : state.jobs()) {
      if (job.running() && job.prediction.known()) core.forecast.push_back(id);
    }
  }

  // Ends clones and binds of the list before that this one does not serve.
  void EndClones() {
    for (const auto& [id, job] : state.jobs()) {
      if (job.running()) core.EndClonesOf(id, lists.Has(*job.list, "dolly"), lists.Has(*job.list, "delay_assignment"));
    }
    const JobList& common = state.lists().at("");
    if (lists.Has(common, "dolly")) return;
    const View view(state, now, "dolly", &common);
    Plan plan(view);
    plan.Enter("dolly", &common);
    ForgetCharges(view, &plan);
    if (!plan.edits().empty()) core.Fold(plan);
  }

  void Step(const StampedEvent& event, std::vector<Decision>* out) {
    now = event.at;
    core.Begin(now, out);
    const uint64_t work = state.work_count(), wants = state.wants_count();
    core.Fold(event.event);
    if (core.config_changed) lists.TakeCluster(&state);
    lists.TakeJobs(&state);
    if (core.config_changed) EndClones();
    if (core.config_changed) SteerAnew();
    for (const auto& [owner, id] : core.due) AskTimer(owner, id);
    if (!core.changed.empty()) Ask(AttemptsChanged{core.changed});
    for (const auto& [replica, reader] : core.suspected) Ask(ReplicaSuspected{replica, reader});
    for (const ReplicaNotMade& replica : core.not_made) Ask(ReplicaFailed{replica.from, replica.worker});
    if (!core.ended.empty()) Ask(JobsEnded{core.ended});
    if (!core.forecast.empty()) Ask(ForecastChanged{core.forecast});
    if (core.offer_all || core.shares_changed || state.work_count() != work || !core.due.empty())
      OfferAll();
    else
      OfferFreed();
    if (core.offer_all) OfferIdle();
    // Readers that were launched in this step get their binds at once.
    if (!core.to_tell.empty()) Ask(AttemptsChanged{core.to_tell});
    TakeLentSlots(state.work_count() != work, std::holds_alternative<WorkerLost>(event.event) ||
                                                  std::holds_alternative<WorkerDraining>(event.event) ||
                                                  std::holds_alternative<WorkerRegistered>(event.event));
    AskForSlots();
    const bool waits = !state.ready(SlotKind::kMap).empty() || !state.ready(SlotKind::kReduce).empty();
    if (waits && (core.config_changed || core.shares_changed || state.work_count() != work))
      Ask(WorkWaits{});
    else if (state.wants_count() != wants && !state.wanting().empty())
      Ask(GuaranteesWait{});
    ArmOfferTimer();
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
