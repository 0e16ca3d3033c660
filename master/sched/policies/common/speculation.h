// Base of all speculation policies: when they may act, and on which worker a speculative attempt may run. It also
// checks whether an attempt is slow only because it has more to do than others.
#pragma once

#include <limits>
#include <optional>

#include "master/sched/pipeline.h"
#include "master/sched/policies/common/hopeful.h"
#include "master/sched/policies/common/network_bound.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Most candidates that a policy looks at for one offer, the likeliest first. An offer then costs the same in a stage
// of 100,000 attempts. A guess: more than a stage has slow tasks at one instant.
inline constexpr size_t kCandidatesSeen = 256;

// If an attempt's time per byte exceeds that of finished ones by this factor, it counts as slow, however large its
// input is. The excess is half of that of an outlier, 1.5 x median (Mantri, OSDI'10), since its own time to the end is
// an estimate.
inline constexpr double kSkewSlack = 1.25;

// An attempt that reads its split over a slow network must gain this many times what the reads cost it, since other
// attempts wait for its bytes, too. Chosen on two cells of the grid with links of 12.5 MB/s. At 97 % load the default
// took 1.054 of fair's slot time with 1, and 1.046 with 2.5. At 61 % jobs of more than 500 tasks took 1.02 of LATE's
// time with 1.5, and 1.06 with 2.5. 1.5 was not measured alone at 97 %.
inline constexpr double kGainElsewhere = 1.5;

// Returns how long the attempt ran before the last of its inputs was made. A speculative attempt starts with all
// inputs made.
double SecondsBeforeInputs(const View& view, StageId stage, const Attempt& attempt);

class Speculation : public Policy {
 public:
  struct Options {
    Duration min_age;  // no attempt is judged before it ran so long
    bool skew_check = false;
    NetworkBound network{false};  // where reads of splits are slow, a Choice must gain much more on other workers
  };
  // Reads `min_age` and `skew_check`.
  static Result<Options> ReadOptions(PolicyParams* params, Duration min_age);

  // Launches one speculative attempt on an idle offer that no earlier policy used: failed tasks first, then pending
  // ones, then speculation (LATE, OSDI'08, 2.1). Pending work prevents it only if this worker could
  // take that work now: it may be too large, or wait for a place near its input.
  void Refine(const Trigger& trigger, const View& view, Rng& rng, Plan& plan) const final;
  bool Seeks(const View& view, SlotKind kind) const final;
  // Rates include the ends of upstream tasks, from which skew_check knows the wait for inputs.
  void AddNeeds(Needs* needs) const override {
    needs->statistics |= StatisticsWanted{.any = true, .speculation = true, .rates = options_.skew_check};
  }
  std::optional<Reason> WhyAlone(const View& view, const AttemptId& attempt) const final;

 protected:
  struct Choice {
    AttemptKey slow;
    Reason reason;
    // Seconds that the slow attempt has left, over those that a new one takes.
    double gain = std::numeric_limits<double>::infinity();
  };

  explicit Speculation(Options options) : options_(options) {}

  // Returns the attempt of this stage to speculate on, with the new attempt on this worker (null: any worker).
  virtual std::optional<Choice> Pick(const View& view, StageId stage, const Worker* worker) const = 0;
  // Returns true if Pick returns the first Eligible attempt, in an order that is the same for all workers. The choice
  // for any worker is then also right for one that never ran the task.
  virtual bool ChoosesAlike() const { return true; }
  // Returns true if this worker gets no speculative attempts of this job's tasks.
  virtual bool Shuns(const Job&, WorkerId) const { return false; }
  // Returns true if the task gets a second speculative attempt beside this attempt, after one that was killed.
  virtual bool Again(const View&, StageId, const Task&, const Attempt&) const { return false; }
  // Returns the policy's own rule that denies this attempt, which is eligible somewhere, a speculative attempt now.
  virtual std::optional<Reason> Keeps(const View&, const AttemptId&) const { return std::nullopt; }
  // Called with the attempts that reported or ended.
  virtual void Review(const AttemptsChanged&, const View&, Plan*) const {}
  // Called with jobs that have ended, once each.
  virtual void Learn(const View&, const std::vector<JobId>&, Plan*) const {}
  virtual bool BelowCap(const State&, SlotKind) const { return true; }

  // Requires: the attempt exists.
  static const Attempt& AttemptOf(const Stage& stage, AttemptKey key);
  // Returns true if the attempt is old enough, does not wait for inputs, and is not slow only because of its input.
  // Its task must never have run on the worker.
  bool Eligible(const View& view, StageId stage, AttemptKey attempt, const Worker* worker) const;
  static Duration Age(const View& view, const Attempt& a) { return view.now() - a.started_at; }
  const Options& options() const { return options_; }

 private:
  // Result of the last look at one stage of speculable(), for any worker.
  struct Seen {
    StageKey key;
    const Job* job = nullptr;
    const Stage* stage = nullptr;
    uint64_t changes = 0;
    bool looked = false;
    std::optional<Choice> best;  // for any worker
  };
  std::vector<Seen>& SeenBy(const View& view, SlotKind kind) const;
  // Returns the next of these stages that has a choice for any worker, or null (Hopeful::Next).
  const Seen* NextWithAny(const View& view, SlotKind kind, size_t* position) const;
  bool HasAny(const View& view, Seen* seen) const;
  std::optional<Choice> PickFor(const View& view, const Seen& seen, const Worker& worker) const;

  // Caches. A stage without a choice for any worker has none for each of them. In a round of idle offers it is looked
  // at again only when it changed. Decisions equal those of a look at the state.
  mutable std::array<std::vector<Seen>, 2> seen_;
  mutable std::array<uint64_t, 2> round_{~uint64_t{0}, ~uint64_t{0}};
  mutable std::array<Hopeful<Seen>, 2> hopeful_;
  Options options_;
};

}  // namespace mr::sched
