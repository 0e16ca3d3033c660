#include "master/sched/policies/baselines/blacklist.h"
#include "master/sched/policies/baselines/reasons.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace mr::sched {

namespace {

constexpr char kWorkerScope[] = "worker", kClusterScope[] = "cluster";
constexpr char kEnded[] = "ended", kFailed[] = "failed", kScore[] = "score", kListed[] = "listed";
constexpr int64_t kEvidence = 5;  // ended attempts; a guess: one bad record must not list a worker
constexpr double kForgotten = 0.01;
constexpr char kName[] = "blacklist";

int64_t Integer(const State& state, const char* scope, uint64_t id, const char* what) {
  const FactValue* fact = state.FindFact({kName, scope, id, what});
  return fact == nullptr ? 0 : std::get<int64_t>(*fact);
}

class Blacklist final : public Policy {
 public:
  Blacklist(Duration window, double threshold, double most) : window_(window), threshold_(threshold), most_(most) {}

  std::string_view name() const override { return kName; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    if (const auto* offer = std::get_if<SlotOffer>(&trigger)) Filter(*offer, view.state(), &plan);
    if (const auto* changed = std::get_if<AttemptsChanged>(&trigger)) Count(*changed, view, &plan);
    if (const auto* due = std::get_if<TimersDue>(&trigger)) {
      for (const uint64_t id : due->ids) Close(id, view, &plan);
    }
  }

  std::vector<Reason> WhyShuns(const View& view, WorkerId worker) const override {
    if (!IsListed(view.state(), worker)) return {};
    return {{BaselineReason::kListed, "", {Score(view.state(), worker.value), threshold_}}};
  }

 private:
  double Score(const State& state, uint64_t id) const {
    const FactValue* fact = state.FindFact({kName, kWorkerScope, id, kScore});
    return fact == nullptr ? 0 : std::get<double>(*fact);
  }
  void Filter(const SlotOffer& offer, const State& state, Plan* plan) const {
    if (plan->edits().empty() || !IsListed(state, offer.worker)) return;
    const std::vector<Edit> edits = plan->edits();
    for (const Edit& edit : edits) {
      const auto* launch = std::get_if<Launch>(&edit);
      if (launch == nullptr || launch->worker != offer.worker) continue;
      const TaskId& task = launch->attempt.task;
      if (!state.FindTask(task)->failed_on.empty()) continue;
      const StageSpec& spec = state.Spec(task.stage_id());
      const auto other = [&](const auto& entry) {
        return !IsListed(state, entry.first) && state.MayEverRun(spec, entry.second);
      };
      if (std::any_of(state.workers().begin(), state.workers().end(), other)) plan->Withdraw(task);
    }
  }

  void Count(const AttemptsChanged& changed, const View& view, Plan* plan) const {
    const State& state = view.state();
    struct Ends {
      int64_t ended = 0, failed = 0;
    };
    // Most changed attempts have only reported.
    std::vector<AttemptId> ended;
    for (const AttemptId& id : changed.attempts) {
      const Attempt* a = state.FindAttempt(id);
      if (a != nullptr && a->ended_at == view.now()) ended.push_back(id);
    }
    std::sort(ended.begin(), ended.end());
    ended.erase(std::unique(ended.begin(), ended.end()), ended.end());
    std::map<WorkerId, Ends> ends;
    for (const AttemptId& id : ended) {
      const Attempt* a = state.FindAttempt(id);
      const bool failed = a->state == AttemptState::kFailed &&
                          (a->failure == FailureKind::kUser || a->failure == FailureKind::kEnvironment);
      if (!failed && a->state != AttemptState::kCommitted) continue;
      ++ends[a->worker].ended;
      ends[a->worker].failed += failed ? 1 : 0;
    }
    for (const auto& [worker, e] : ends) {
      const uint64_t id = worker.value;
      plan->Remember(kWorkerScope, id, kEnded, Integer(state, kWorkerScope, id, kEnded) + e.ended);
      if (e.failed > 0) {
        plan->Remember(kWorkerScope, id, kFailed, Integer(state, kWorkerScope, id, kFailed) + e.failed);
      }
      if (state.FindTimer(name(), id) == nullptr) plan->WakeAt(id, SliceEnd(view.now()));
    }
  }

  // Returns the end of the slice, the same instant for all workers.
  Instant SliceEnd(Instant now) const { return {(now.ns / window_.ns + 1) * window_.ns}; }

  void Close(uint64_t id, const View& view, Plan* plan) const {
    const State& state = view.state();
    const int64_t ended = Integer(state, kWorkerScope, id, kEnded);
    const bool listed = Integer(state, kWorkerScope, id, kListed) != 0;
    double score = Score(state, id);
    if (ended >= kEvidence) {
      const double failed = static_cast<double>(Integer(state, kWorkerScope, id, kFailed));
      score = (failed / static_cast<double>(ended) + score) / 2;
      plan->Forget(kWorkerScope, id, kEnded);
      plan->Forget(kWorkerScope, id, kFailed);
    } else if (listed) {
      score /= 2;
    }
    const bool list = score >= threshold_ && (listed || MayList(state));
    if (list != listed) {
      const int64_t count = Integer(state, kClusterScope, 0, kListed);
      plan->Remember(kClusterScope, 0, kListed, count + (list ? 1 : -1));
      if (list)
        plan->Remember(kWorkerScope, id, kListed, int64_t{1});
      else
        plan->Forget(kWorkerScope, id, kListed);
    }
    if (score >= kForgotten)
      plan->Remember(kWorkerScope, id, kScore, score);
    else
      plan->Forget(kWorkerScope, id, kScore);
    if (list || score >= threshold_) plan->WakeAt(id, SliceEnd(view.now()));
  }

  bool MayList(const State& state) const {
    const auto live = std::count_if(state.workers().begin(), state.workers().end(),
                                    [](const auto& entry) { return entry.second.alive && !entry.second.draining; });
    const int64_t least = live >= 3 ? 1 : 0;
    const int64_t room = std::max(least, static_cast<int64_t>(most_ * static_cast<double>(live)));
    return Integer(state, kClusterScope, 0, kListed) < std::min<int64_t>(room, live - 1);
  }

  const Duration window_;
  const double threshold_, most_;
};

}  // namespace

bool AnyListed(const State& state) { return Integer(state, kClusterScope, 0, kListed) != 0; }

bool IsListed(const State& state, WorkerId worker) {
  return AnyListed(state) && Integer(state, kWorkerScope, worker.value, kListed) != 0;
}

Result<std::unique_ptr<Policy>> MakeBlacklist(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const double window, params->Number("window", 300, 0.001, 1e6));
  MR_ASSIGN_OR_RETURN(const double threshold, params->Number("threshold", 0.5, 0.01, 1));
  MR_ASSIGN_OR_RETURN(const double most, params->Number("most", 0.1, 0, 1));
  return std::unique_ptr<Policy>(std::make_unique<Blacklist>(Duration{std::llround(window * 1e9)}, threshold, most));
}

}  // namespace mr::sched
