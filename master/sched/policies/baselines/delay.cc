#include "master/sched/policies/baselines/delay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace mr::sched {

namespace {

constexpr char kJobScope[] = "job";
constexpr char kSince[] = "since", kLast[] = "last";

enum class Distance { kNode, kRack, kAny };

class Delay final : public Policy {
 public:
  Delay(bool paper, Duration node, Duration rack) : paper_(paper), node_(node), rack_(rack) {}

  std::string_view name() const override { return "delay"; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    const State& state = view.state();
    if (std::holds_alternative<SlotOffer>(trigger)) {
      const std::vector<Edit> edits = plan.edits();
      for (const Edit& edit : edits) {
        const auto* launch = std::get_if<Launch>(&edit);
        if (launch != nullptr && launch->cause == Cause::kFirst) Judge(*launch, view, &plan);
      }
    } else if (const auto* changed = std::get_if<AttemptsChanged>(&trigger)) {
      for (const AttemptId& id : changed->attempts) Clean(state, id.task.job, &plan);
    } else if (const auto* due = std::get_if<TimersDue>(&trigger)) {
      for (const uint64_t id : due->ids) Clean(state, JobOfFact(id), &plan);
    }
  }

  bool Refuses(const View& view, const TaskId& id, WorkerId worker) const override {
    if (at_ != view.now()) return false;
    const auto known = waits_.find(id.job);
    if (known == waits_.end()) return false;
    const State& state = view.state();
    const Task& task = *state.FindTask(id);
    if (task.plan.preferred.empty() || BelowGuarantee(*state.FindJob(id.job))) return false;
    const Distance distance = DistanceOf(state, task, *state.FindWorker(worker));
    return distance != Distance::kNode && view.now() < Until(known->second, distance);
  }

 private:
  // Returns the time until which a job that waits since `since` is refused at this distance.
  Instant Until(Instant since, Distance distance) const {
    return distance == Distance::kRack ? since + node_ : since + node_ + rack_;
  }

  std::optional<Instant> Fact(const State& state, JobId job, const char* what) const {
    const FactValue* fact = state.FindFact({std::string(name()), kJobScope, FactId(job), what});
    if (fact == nullptr) return std::nullopt;
    return Instant{std::get<int64_t>(*fact)};
  }

  void ForgetJob(const State& state, JobId job, Plan* plan) const {
    for (const char* what : {kSince, kLast}) {
      if (Fact(state, job, what)) plan->Forget(kJobScope, FactId(job), what);
    }
  }

  void Clean(const State& state, JobId id, Plan* plan) const {
    const Job* job = state.FindJob(id);
    if (job == nullptr || !job->running()) ForgetJob(state, id, plan);
  }

  // Returns kNode also if no remaining worker holds the input.
  static Distance DistanceOf(const State& state, const Task& task, const Worker& w) {
    bool alive = false, rack = false;
    for (const WorkerId id : task.plan.preferred) {
      if (id == w.id) return Distance::kNode;
      const Worker* holder = state.FindWorker(id);
      if (holder == nullptr || !holder->alive || holder->draining) continue;
      alive = true;
      rack = rack || holder->rack == w.rack;
    }
    if (!alive) return Distance::kNode;
    return rack ? Distance::kRack : Distance::kAny;
  }

  void Judge(const Launch& launch, const View& view, Plan* plan) const {
    const State& state = view.state();
    const JobId job = launch.attempt.task.job;
    const Task& task = *state.FindTask(launch.attempt.task);
    if (task.plan.preferred.empty()) return;
    if (BelowGuarantee(*state.FindJob(job))) return;  // others were evicted for its guarantee
    const Distance distance = DistanceOf(state, task, *state.FindWorker(launch.worker));
    const Instant now = view.now();
    std::optional<Instant> since = Fact(state, job, kSince);
    if (distance == Distance::kNode) {
      if (paper_)
        plan->Remember(kJobScope, FactId(job), kSince, now.ns);
      else if (since && Calm(state, job, now))
        ForgetJob(state, job, plan);
      return;
    }
    if (!since || (!paper_ && Calm(state, job, now))) {
      since = now;
      plan->Remember(kJobScope, FactId(job), kSince, now.ns);
    }
    if (!paper_) NoteRefusal(state, job, now, plan);
    if (now >= Until(*since, distance) || !plan->PassOver(job)) return;
    if (at_ != now) waits_.clear();
    at_ = now;
    waits_[job] = *since;
    const Instant rack_at = Until(*since, Distance::kRack);
    const Instant wake = now < rack_at ? rack_at : Until(*since, Distance::kAny);
    const Instant* timer = state.FindTimer(name(), FactId(job));
    if (timer == nullptr || *timer != wake) plan->WakeAt(FactId(job), wake);
  }

  // Returns whether no offer was refused for T1 + T2, nor would have been had the wait not been over.
  bool Calm(const State& state, JobId job, Instant now) const {
    const std::optional<Instant> last = Fact(state, job, kLast);
    return last && now > *last + node_ + rack_ + state.config().offer_period;
  }

  // Once per offer period, so that not every offer writes a fact.
  void NoteRefusal(const State& state, JobId job, Instant now, Plan* plan) const {
    const std::optional<Instant> last = Fact(state, job, kLast);
    if (!last || now >= *last + state.config().offer_period) plan->Remember(kJobScope, FactId(job), kLast, now.ns);
  }

  const bool paper_;
  const Duration node_, rack_;
  // Cache: jobs that were passed over at this instant, and the start of their wait. For another worker at the same
  // instant the answer is the same, and there is no fact to write.
  mutable Instant at_{-1};
  mutable std::map<JobId, Instant> waits_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeDelay(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const size_t clock, params->Choice("clock", {"offer", "paper"}));
  const double wait = clock == 1 ? 15 : 3;
  MR_ASSIGN_OR_RETURN(const double node, params->Number("node", wait, 0, 1e6));
  MR_ASSIGN_OR_RETURN(const double rack, params->Number("rack", wait, 0, 1e6));
  const auto duration = [](double seconds) { return Duration{std::llround(seconds * 1e9)}; };
  return std::unique_ptr<Policy>(std::make_unique<Delay>(clock == 1, duration(node), duration(rack)));
}

}  // namespace mr::sched
