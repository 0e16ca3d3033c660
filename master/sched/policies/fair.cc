#include "master/sched/policies/fair.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "master/sched/policies/place.h"

namespace mr::sched {

namespace {

constexpr char kQueueScope[] = "queue";
constexpr const char* kBelow[] = {"below_min_since", "below_share_since"};
constexpr double kNearly = 1e-6;  // shares come from a bisection

class Fair final : public Policy {
 public:
  Fair(bool greedy, double slow_start, std::array<Duration, 2> timeouts)
      : greedy_(greedy), slow_start_(slow_start), timeouts_(timeouts) {}

  std::string_view name() const override { return "fair"; }
  void Ask(Sharing* sharing) const override {
    sharing->slow_start = slow_start_;
    sharing->by_kind = greedy_;
    sharing->max_shares = true;
  }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    const State& state = view.state();
    if (const auto* offer = std::get_if<SlotOffer>(&trigger)) {
      Offer(*offer, state, &plan);
    } else if (const auto* wanted = std::get_if<SlotsWanted>(&trigger)) {
      TakeBackFor(wanted->stage.stage, state, &plan);
    } else if (!greedy_ && (!std::holds_alternative<AttemptsChanged>(trigger) || AnyBelow(state))) {
      Review(view, &plan);
    }
  }

 private:
  uint32_t Held(const Queue& q) const { return greedy_ ? q.held[KindIndex(SlotKind::kMap)] : q.held_total(); }

  void Offer(const SlotOffer& offer, const State& state, Plan* plan) const {
    if (LaunchFair(offer, state, true, offer.local_only ? &ChooseLocal : &ChooseReady, plan)) return;
    if (!greedy_) {
      if (!offer.local_only) LaunchFair(offer, state, false, &ChooseEarly, plan);
      return;
    }
    if (LaunchInOrder(state, offer, true, false, offer.local_only ? &ChooseLocal : &ChooseReady, plan)) return;
    if (offer.local_only || LaunchFair(offer, state, false, &ChooseEarly, plan)) return;
    LaunchInOrder(state, offer, false, false, &ChooseEarly, plan);
  }

  // Queues that may launch something of these kinds, the most deserving first.
  std::vector<const Queue*> InOrder(const State& state, bool ready, const std::array<bool, 2>& kinds) const {
    std::vector<std::tuple<bool, double, uint64_t, const Queue*>> order;
    for (const auto& [name, q] : state.queues()) {
      const auto& jobs = ready ? q.ready : q.early;
      const uint32_t held = Held(q);
      if (!(kinds[0] && !jobs[0].empty()) && !(kinds[1] && !jobs[1].empty())) continue;
      if (q.max_share != 0 && held >= q.max_share) continue;
      const bool enough = held >= q.min_share;
      order.emplace_back(enough, held / (enough ? q.weight : q.min_share), q.number, &q);
    }
    std::sort(order.begin(), order.end());
    std::vector<const Queue*> queues;
    for (const auto& entry : order) queues.push_back(std::get<3>(entry));
    return queues;
  }

  bool LaunchFair(const SlotOffer& offer, const State& state, bool ready, Choose choose, Plan* plan) const {
    const std::array<bool, 2> kinds{state.free(SlotKind::kMap).count(offer.worker) != 0,
                                    !greedy_ && state.free(SlotKind::kReduce).count(offer.worker) != 0};
    static const std::set<JobRank> kNone;
    for (const Queue* q : InOrder(state, ready, kinds)) {
      const auto& jobs = ready ? q->ready : q->early;
      const std::set<JobRank>& maps = kinds[0] ? jobs[0] : kNone;
      const std::set<JobRank>& reduces = kinds[1] ? jobs[1] : kNone;
      auto m = maps.begin();
      auto r = reduces.begin();
      const JobRank* first = nullptr;
      while (m != maps.end() || r != reduces.end()) {
        const bool map = r == reduces.end() || (m != maps.end() && *m <= *r);
        const JobRank& rank = map ? *m : *r;
        if (map && r != reduces.end() && *r == rank) ++r;
        map ? ++m : ++r;
        if (first == nullptr) first = &rank;
        // A slot that is offered for its data only is not for a job that deserves it less.
        const bool equal = rank.rank == first->rank && rank.held == first->held;
        if (offer.local_only && !equal) return false;
        if (offer.passed.count(rank.job) != 0) continue;
        const Job& job = *state.FindJob(rank.job);
        for (uint32_t s = 0; s < job.stages.size(); ++s) {
          if (!(ready ? job.stages[s].in_ready : job.stages[s].in_early)) continue;
          if (!kinds[KindIndex(job.graph.stages[s].slot_kind)]) continue;
          if (!LaunchOf(state, {job.id, s}, offer, choose, plan)) continue;
          NoteLaunch(state, *q, plan);
          return true;
        }
      }
      if (offer.local_only) return false;
    }
    return false;
  }

  // By queue number, in Queue order.
  static std::map<uint64_t, double> Shares(const State& state) {
    const double total = state.slots().total;
    const auto share = [&](const Queue& q, double ratio) {
      double most = q.has_ready() ? total : q.live.size();
      if (q.max_share != 0) most = std::min<double>(most, q.max_share);
      return std::clamp(ratio * q.weight, std::min<double>(q.min_share, most), most);
    };
    double low = 0, high = 1;
    const auto sum = [&](double ratio) {
      double slots = 0;
      for (const auto& [name, q] : state.queues()) slots += share(q, ratio);
      return slots;
    };
    for (int i = 0; i < 64 && sum(high) < total && high < 1e12; ++i) high *= 2;
    for (int i = 0; i < 44; ++i) (sum((low + high) / 2) < total ? low : high) = (low + high) / 2;
    std::map<uint64_t, double> shares;
    for (const auto& [name, q] : state.queues()) shares[q.number] = share(q, high);
    return shares;
  }

  // How many slots would end this kind of want.
  static uint32_t Enough(const Queue& q, double share, size_t kind) {
    if (kind == 0) return q.min_share;
    return static_cast<uint32_t>(std::floor(share / 2 + kNearly));
  }

  bool AnyBelow(const State& state) const {
    const auto it = state.facts().lower_bound({std::string(name()), "", 0, ""});
    return it != state.facts().end() && it->first.policy == name();
  }

  const FactValue* Since(const State& state, const Queue& q, size_t kind) const {
    return state.FindFact({std::string(name()), kQueueScope, q.number, kBelow[kind]});
  }

  // A queue that comes to its share, be it for a moment, waits anew.
  void NoteLaunch(const State& state, const Queue& q, Plan* plan) const {
    if (!AnyBelow(state) || (Since(state, q, 0) == nullptr && Since(state, q, 1) == nullptr)) return;
    const double share = Shares(state)[q.number];
    for (const size_t kind : {0, 1}) {
      if (Since(state, q, kind) != nullptr && Held(q) + 1 >= Enough(q, share, kind)) {
        plan->Forget(kQueueScope, q.number, kBelow[kind]);
      }
    }
  }

  void Review(const View& view, Plan* plan) const {
    const State& state = view.state();
    const std::map<uint64_t, double> shares = Shares(state);
    for (const auto& [name, q] : state.queues()) {
      const double share = shares.at(q.number);
      for (const size_t kind : {0, 1}) {
        const FactValue* since = Since(state, q, kind);
        const bool below = q.has_ready() && timeouts_[kind].ns > 0 && Held(q) < Enough(q, share, kind) &&
                           Held(q) + kNearly < share;
        if (!below) {
          if (since != nullptr) plan->Forget(kQueueScope, q.number, kBelow[kind]);
          continue;
        }
        Instant from = view.now();
        if (since != nullptr) from.ns = std::get<int64_t>(*since);
        if (since != nullptr && view.now() >= from + timeouts_[kind]) {
          const double target = kind == 0 ? std::min<double>(q.min_share, share) : share;
          Preempt(state, q, static_cast<uint32_t>(target + kNearly), shares, plan);
          from = view.now();
        } else if (since != nullptr) {
          continue;
        }
        plan->Remember(kQueueScope, q.number, kBelow[kind], from.ns);
        plan->WakeAt(2 * q.number + kind, from + timeouts_[kind]);
      }
    }
  }

  // Ends attempts until q would hold `target` slots or has a slot for each of its tasks.
  void Preempt(const State& state, const Queue& q, uint32_t target, const std::map<uint64_t, double>& shares,
               Plan* plan) const {
    std::vector<StageId> stages;
    uint32_t tasks = 0, need = target - std::min(target, Held(q));
    for (const auto& jobs : q.ready) {
      for (auto it = jobs.begin(); it != jobs.end() && tasks < need; ++it) {
        const Job& job = *state.FindJob(it->job);
        for (uint32_t s = 0; s < job.stages.size(); ++s) {
          if (!job.stages[s].in_ready) continue;
          stages.push_back({job.id, s});
          for (const TaskClass& c : job.stages[s].classes) tasks += c.ready.size();
        }
      }
    }
    need = std::min(need, tasks);
    std::vector<std::pair<double, const Queue*>> above;
    for (const auto& [name, other] : state.queues()) {
      const double over = other.live.size() - shares.at(other.number);
      if (over > kNearly && &other != &q) above.emplace_back(-over, &other);
    }
    std::sort(above.begin(), above.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first, a.second->number) < std::tie(b.first, b.second->number);
    });
    for (const auto& [over, other] : above) {
      double left = other->live.size();
      const double share = shares.at(other->number);
      other->live.WalkBack([&](const LaunchKey& live) {
        if (need == 0 || left - 1 + kNearly < share) return false;
        const AttemptId& id = live.attempt;
        if (state.Spec(id.task.stage_id()).side_effects) return true;
        const auto helps = [&](const StageId& stage) { return SlotHelps(state, id, stage); };
        if (std::none_of(stages.begin(), stages.end(), helps)) return true;
        if (!plan->Kill(id, {ReasonCode::kPreempted, "", {static_cast<double>(other->held_total()), share}})) return true;
        --left;
        --need;
        return true;
      });
    }
  }

  const bool greedy_;
  const double slow_start_;
  const std::array<Duration, 2> timeouts_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeFair(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const size_t reduces, params->Choice("reduces", {"fair", "greedy"}));
  MR_ASSIGN_OR_RETURN(const double slow_start, params->Number("slowstart", 0.05, 0, 1));
  // Guesses: a queue's guarantee within some tasks' length; more patience where it only lags behind.
  MR_ASSIGN_OR_RETURN(const double min_share, params->Number("min_share_timeout", 15, 0, 1e6));
  MR_ASSIGN_OR_RETURN(const double fair_share, params->Number("fair_share_timeout", 60, 0, 1e6));
  const auto duration = [](double seconds) { return Duration{std::llround(seconds * 1e9)}; };
  return std::unique_ptr<Policy>(
      std::make_unique<Fair>(reduces == 1, slow_start, std::array{duration(min_share), duration(fair_share)}));
}

}  // namespace mr::sched
