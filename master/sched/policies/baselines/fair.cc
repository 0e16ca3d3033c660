#include "master/sched/policies/baselines/fair.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "master/sched/policies/baselines/fair_preemption.h"
#include "master/sched/policies/baselines/guarantees.h"
#include "master/sched/policies/common/fair_share.h"
#include "master/sched/policies/common/place.h"

namespace mr::sched {

namespace {

class Fair final : public Policy {
 public:
  Fair(bool greedy, bool spare_last, double slow_start, std::array<Duration, 3> timeouts)
      : greedy_(greedy), spare_last_(spare_last), slow_start_(slow_start), preemption_(kFair, greedy, timeouts) {}

  std::string_view name() const override { return kFair; }
  void AddNeeds(Needs* needs) const override {
    needs->sharing.slow_start = slow_start_;
    needs->sharing.by_held = true;
    needs->sharing.by_kind = greedy_;
    needs->sharing.max_shares = true;
    needs->sharing.spare_last = spare_last_;
  }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    const State& state = view.state();
    if (const auto* offer = std::get_if<SlotOffer>(&trigger)) {
      Offer(*offer, state, view.now(), &plan);
    } else if (const auto* wanted = std::get_if<SlotsWanted>(&trigger)) {
      TakeBackFor(wanted->stage.stage, state, &plan);
    } else if (!greedy_ && (!std::holds_alternative<AttemptsChanged>(trigger) || preemption_.AnyBelow(state))) {
      preemption_.Review(view, std::holds_alternative<AttemptsChanged>(trigger), &plan);
    }
  }

 private:
  uint32_t Held(const Queue& q) const { return greedy_ ? q.held[KindIndex(SlotKind::kMap)] : q.held_total(); }

  void Offer(const SlotOffer& offer, const State& state, Instant now, Plan* plan) const {
    if (!state.wanting().empty()) {
      const Choose choose = offer.local_only ? &ChooseLocal : &ChooseReady;
      if (!spare_last_ && NextFits(offer, state) && !preemption_.EvictedForGuarantee(state)) {
        if (LaunchFair(offer, state, true, choose, plan, true) || offer.local_only) return;
      }
      const Served served = LaunchGuaranteed(offer, state, now, choose, plan);
      if (served == Served::kLaunched || (offer.local_only && served == Served::kWaits)) return;
    }
    if (OfferToQueues(offer, state, plan) || offer.local_only || !spare_last_) return;
    LaunchSpare(offer, state, &ChooseReady, plan);
  }

  // Returns whether the job that is next in its turn asks for no more than its fair share.
  bool NextFits(const SlotOffer& offer, const State& state) const {
    const std::array<bool, 2> kinds = FreeKinds(offer, state);
    for (const Queue* q : InOrder(state, true, kinds)) {
      const JobRank* next = nullptr;
      for (size_t kind = 0; kind < kinds.size(); ++kind) {
        if (!kinds[kind]) continue;
        const auto& jobs = q->ready[kind];
        auto first = jobs.begin();
        while (first != jobs.end() && offer.passed.count((*first).job) != 0) ++first;
        if (first != jobs.end() && (next == nullptr || *first < *next)) next = &*first;
      }
      if (next != nullptr) return FitsInShare(state, *state.FindJob(next->job));
    }
    return false;
  }

  // Kinds of slots that the worker has free for queues in their turn.
  std::array<bool, 2> FreeKinds(const SlotOffer& offer, const State& state) const {
    const Worker& worker = *state.FindWorker(offer.worker);
    return {worker.is_free[KindIndex(SlotKind::kMap)], !greedy_ && worker.is_free[KindIndex(SlotKind::kReduce)]};
  }

  bool OfferToQueues(const SlotOffer& offer, const State& state, Plan* plan) const {
    if (LaunchFair(offer, state, true, offer.local_only ? &ChooseLocal : &ChooseReady, plan)) return true;
    if (!greedy_) return !offer.local_only && LaunchFair(offer, state, false, &ChooseEarly, plan);
    if (LaunchInOrder(state, offer, true, false, offer.local_only ? &ChooseLocal : &ChooseReady, plan)) return true;
    if (offer.local_only) return false;
    return LaunchFair(offer, state, false, &ChooseEarly, plan) ||
           LaunchInOrder(state, offer, false, false, &ChooseEarly, plan);
  }

  // Returns the queues that may launch something of these kinds, the most deserving first.
  std::vector<const Queue*> InOrder(const State& state, bool ready, const std::array<bool, 2>& kinds) const {
    std::vector<std::tuple<bool, double, uint64_t, const Queue*>> order;
    for (const auto& [number, queue] : state.busy_queues()) {
      const Queue& q = *queue;
      const auto any = [&](size_t kind) { return ready ? q.has_ready(kind) : q.has_early(kind); };
      if (!(kinds[0] && any(0)) && !(kinds[1] && any(1))) continue;
      if (q.max_share != 0 && Held(q) >= q.max_share) continue;
      const uint32_t held = Held(q) - std::min(Held(q), q.guaranteed);
      const bool enough = held >= q.min_share;
      order.emplace_back(enough, held / (enough ? q.weight : q.min_share), q.number, &q);
    }
    std::sort(order.begin(), order.end());
    std::vector<const Queue*> queues;
    queues.reserve(order.size());
    for (const auto& entry : order) queues.push_back(std::get<3>(entry));
    return queues;
  }

  // Returns whether a later policy has already refused the launch that was drafted last.
  static bool Refused(const SlotOffer& offer, const Plan& plan) {
    const auto* launch = std::get_if<Launch>(&plan.edits().back());
    if (offer.refusals == nullptr || launch == nullptr || launch->cause != Cause::kFirst) return false;
    return offer.refusals->Refuses(kFair, launch->attempt.task, launch->worker);
  }

  // fitting: only of jobs whose fair share is enough for all that they ask for, up to the first other one.
  bool LaunchFair(const SlotOffer& offer, const State& state, bool ready, Choose choose, Plan* plan,
                  bool fitting = false) const {
    const std::array<bool, 2> kinds = FreeKinds(offer, state);
    static const Ranked<JobRank> kNone;
    const Worker& worker = *state.FindWorker(offer.worker);
    if (!ready && !plan->Launches() && walks_.Kept(state, worker)) return false;
    bool all_keep = true;
    for (const Queue* q : InOrder(state, ready, kinds)) {
      const auto& jobs = ready ? q->ready : q->early;
      const Ranked<JobRank>& maps = kinds[0] ? jobs[0] : kNone;
      const Ranked<JobRank>& reduces = kinds[1] ? jobs[1] : kNone;
      auto m = maps.begin();
      auto r = reduces.begin();
      const JobRank* first = nullptr;
      bool noted = false;
      while (m != maps.end() || r != reduces.end()) {
        const bool map = r == reduces.end() || (m != maps.end() && *m <= *r);
        const JobRank& rank = map ? *m : *r;
        if (map && r != reduces.end() && *r == rank) ++r;
        map ? ++m : ++r;
        const Job& job = *state.FindJob(rank.job);
        if (first == nullptr) first = &rank;
        // In a local-only offer only jobs that rank like the first may launch: the first may use the slot in a later
        // offer.
        const bool equal = rank.rank == first->rank && rank.held == first->held;
        if (offer.local_only && !equal) return false;
        if (offer.passed.count(rank.job) != 0) {
          all_keep = false;
          continue;
        }
        if (fitting && !FitsInShare(state, job)) return !plan->passed().empty();
        for (uint32_t s = 0; s < job.stages.size(); ++s) {
          if (!(ready ? job.stages[s].in_ready : job.stages[s].in_early)) continue;
          if (!kinds[KindIndex(job.graph.stages[s].slot_kind)]) continue;
          if (!ready && KeepsRoom(state, {job.id, s}, worker)) continue;
          all_keep = false;
          if (!LaunchOf(state, {job.id, s}, offer, choose, plan)) continue;
          const bool refused = Refused(offer, *plan);
          if (!noted) preemption_.NoteLaunch(state, *q, plan);
          noted = true;
          if (!refused || !plan->PassOver(job.id)) return true;
          break;
        }
      }
      if (offer.local_only) return false;
    }
    // In a repeated offer, jobs that were passed over launch nothing here, not even early reduces.
    if (!plan->passed().empty()) return true;
    if (!ready && all_keep) walks_.NoteKept(state, worker);
    return false;
  }

  const bool greedy_, spare_last_;
  const double slow_start_;
  const FairPreemption preemption_;
  mutable Walks walks_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeFair(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const size_t reduces, params->Choice("reduces", {"fair", "greedy"}));
  MR_ASSIGN_OR_RETURN(const double slow_start, params->Number("slowstart", 0.05, 0, 1));
  // Guesses: a queue's min share within some tasks' length; more patience for one that only lags behind.
  MR_ASSIGN_OR_RETURN(const double min_share, params->Number("min_share_timeout", 15, 0, 1e6));
  MR_ASSIGN_OR_RETURN(const double fair_share, params->Number("fair_share_timeout", 60, 0, 1e6));
  // Chosen on a cell of the grid with 90 % load and tasks of 3 s. With 1 s, jobs of up to 50 tasks took 1.06 of fair's
  // time, with 10 s 1.03, and as many deadlines were met.
  MR_ASSIGN_OR_RETURN(const double guarantee, params->Number("guarantee_timeout", 10, 0, 1e6));
  MR_ASSIGN_OR_RETURN(const size_t spare, params->Choice("spare", {"fair", "last"}));
  const auto duration = [](double seconds) { return Duration{std::llround(seconds * 1e9)}; };
  return std::unique_ptr<Policy>(
      std::make_unique<Fair>(reduces == 1, spare == 1, slow_start,
                             std::array{duration(min_share), duration(fair_share), duration(guarantee)}));
}

}  // namespace mr::sched
