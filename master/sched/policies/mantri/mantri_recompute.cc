#include "master/sched/policies/mantri/mantri_recompute.h"
#include "master/sched/policies/mantri/reasons.h"

#include <algorithm>
#include <optional>

namespace mr::sched {

namespace {

constexpr char kOfWorker[] = "worker", kSuspect[] = "served";
// Workers tried for one attempt. A guess: those with a free slot mostly take it.
constexpr int kWorkersTried = 16;

bool Wanted(const View& view, const TaskId& id, WorkerId at) {
  const State& state = view.state();
  const Job* job = state.FindJob(id.job);
  if (!view.Serves(*job)) return false;
  const Task& task = *state.FindTask(id);
  return job->running() && task.state == TaskState::kCommitted && task.live == 0 && task.replicas.size() == 1 &&
         task.replicas.front().worker == at && state.Needed(*job, id);
}

Reason Because(WorkerId suspect) { return {MantriReason::kWorkerSuspected, "", {static_cast<double>(suspect.value)}}; }

class MantriRecompute final : public Policy {
 public:
  std::string_view name() const override { return "mantri_recompute"; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    const State& state = view.state();
    if (const auto* suspected = std::get_if<ReplicaSuspected>(&trigger)) {
      const Worker* w = state.FindWorker(suspected->replica.worker);
      if (w == nullptr || !w->alive || w->incarnation != suspected->replica.incarnation) return;
      if (Served(view, w->id.value)) return;
      plan.Remember(kOfWorker, w->id.value, kSuspect, static_cast<int64_t>(w->fetched_bytes));
      Remake(view, *w, &plan);
      plan.WakeAt(w->id.value, view.now() + state.config().offer_period);
    } else if (const auto* due = std::get_if<TimersDue>(&trigger)) {
      for (const uint64_t id : due->ids) LookAgain(view, id, &plan);
    } else if (const auto* offer = std::get_if<SlotOffer>(&trigger)) {
      TakeOver(view, *offer, &plan);
    }
  }

 private:
  // Returns the bytes that a worker had served when it was suspected; nothing if it is not.
  static std::optional<int64_t> Served(const View& view, uint64_t worker) {
    const FactValue* fact = view.FindFact(kOfWorker, worker, kSuspect);
    if (fact == nullptr) return std::nullopt;
    return std::get<int64_t>(*fact);
  }

  void LookAgain(const View& view, uint64_t id, Plan* plan) const {
    const std::optional<int64_t> served = Served(view, id);
    if (!served) return;
    const Worker& w = *view.state().FindWorker({static_cast<uint32_t>(id)});
    if (w.alive && static_cast<int64_t>(w.fetched_bytes) == *served && Remake(view, w, plan)) {
      plan->WakeAt(id, view.now() + view.state().config().offer_period);
    } else {
      plan->Forget(kOfWorker, id, kSuspect);
    }
  }

  // Launches attempts for the worker's wanted outputs, as many as find a place. Returns whether something is left to
  // do.
  bool Remake(const View& view, const Worker& suspect, Plan* plan) const {
    const State& state = view.state();
    bool left = false;
    std::array<WorkerId, 2> cursor{state.offer_cursor(), state.offer_cursor()};
    std::array<bool, 2> full{};
    for (const auto& [id, attempt] : suspect.replicas) {
      if (!Wanted(view, id, suspect.id)) continue;
      const SlotKind kind = state.Spec(id.stage_id()).slot_kind;
      const size_t k = KindIndex(kind);
      bool launched = false;
      const std::set<WorkerId>& free = state.free(kind);
      for (int tried = 0; tried < kWorkersTried && !launched && !full[k] && !free.empty(); ++tried) {
        auto it = free.upper_bound(cursor[k]);
        if (it == free.end()) it = free.begin();
        cursor[k] = *it;
        launched = *it != suspect.id && plan->Remake(id, *it, Because(suspect.id));
      }
      full[k] = full[k] || !launched;
      left = left || !launched;
      if (full[0] && full[1]) break;
    }
    return left;
  }

  void TakeOver(const View& view, const SlotOffer& offer, Plan* plan) const {
    const State& state = view.state();
    const std::string owner = view.owner();
    auto fact = state.facts().lower_bound({owner, kOfWorker, 0, ""});
    if (offer.local_only || fact == state.facts().end() || fact->first.policy != owner) return;
    std::optional<Launch> drafted;
    for (const Edit& e : plan->edits()) {
      if (const auto* launch = std::get_if<Launch>(&e)) drafted = *launch;
    }
    for (; fact != state.facts().end() && fact->first.policy == owner; ++fact) {
      const Worker& suspect = *state.FindWorker({static_cast<uint32_t>(fact->first.id)});
      if (suspect.id == offer.worker || !suspect.alive) continue;
      if (static_cast<int64_t>(suspect.fetched_bytes) != std::get<int64_t>(fact->second)) continue;
      for (const auto& [id, attempt] : suspect.replicas) {
        const TaskId task = id;
        if (drafted && (task.job != drafted->attempt.task.job || task.stage > drafted->attempt.task.stage)) continue;
        if (offer.passed.count(task.job) != 0 || !Wanted(view, task, suspect.id)) continue;
        if (drafted) plan->Withdraw(drafted->attempt.task);
        if (plan->Remake(task, offer.worker, Because(suspect.id))) return;
        if (drafted) plan->Launch(drafted->attempt.task, offer.worker, drafted->cause, drafted->reason);
        return;
      }
    }
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeMantriRecompute(PolicyParams*) {
  return std::unique_ptr<Policy>(std::make_unique<MantriRecompute>());
}

}  // namespace mr::sched
