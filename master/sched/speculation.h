// What all speculation policies share: when they may act, on which worker a copy may run, and the
// check whether an attempt is slow only because it has more to do than others.
#pragma once

#include <optional>

#include "master/sched/hopeful.h"
#include "master/sched/pipeline.h"
#include "master/sched/policy.h"

namespace mr::sched {

// Candidates that a policy looks at for one offer, the likeliest first: an offer costs the same in a
// stage of 100,000 attempts. A guess: more than a stage has slow tasks at one instant.
inline constexpr size_t kCandidatesSeen = 256;

// Its time per byte may be so much above that of finished attempts until an attempt counts as slow whatever
// its input is: half of the 1.5 x median that makes an outlier (Mantri), since its own time to the
// end is an estimate.
inline constexpr double kSkewSlack = 1.25;

// How long it ran before the last of its inputs was made: a copy begins with all of them there.
double SecondsBeforeInputs(const View& view, StageId stage, const Attempt& attempt);

class Speculation : public Policy {
 public:
  struct Options {
    Duration min_age;  // no attempt is judged before it ran so long
    bool skew_check = false;
  };
  // Reads `min_age` and `skew_check`.
  static Result<Options> ReadOptions(PolicyParams* params, Duration min_age);

  // One copy, on an idle offer with which no policy before it did anything: failed tasks first, then
  // pending ones, then speculation (LATE 2.1). Work that this worker cannot take now, since it is too
  // large for it or waits for a place near its input, keeps nobody from a copy.
  void Refine(const Trigger& trigger, const View& view, Rng& rng, Plan& plan) const final;
  bool Seeks(const View& view, SlotKind kind) const final;
  // Rates have the ends of upstream tasks, of which skew_check takes what was waited for.
  StatisticsWanted WantsStatistics() const override {
    return {.any = true, .copies = true, .rates = options_.skew_check};
  }
  std::optional<Reason> WhyAlone(const View& view, const AttemptId& attempt) const final;

 protected:
  struct Choice {
    AttemptKey slow;
    Reason reason;
  };

  explicit Speculation(Options options) : options_(options) {}

  // Which attempt of this stage is to be copied to this worker (null: to any).
  virtual std::optional<Choice> Pick(const View& view, StageId stage, const Worker* worker) const = 0;
  // Its choice is the first, in an order that is the same for all workers, of what is Eligible there: then the
  // choice for any worker is this one's, too, where it never ran the task.
  virtual bool ChoosesAlike() const { return true; }
  // This worker gets no copies of this job's tasks.
  virtual bool Shuns(const Job&, WorkerId) const { return false; }
  // What of the policy's own rules keeps this attempt, which is eligible somewhere, from a copy now.
  virtual std::optional<Reason> Keeps(const View&, const AttemptId&) const { return std::nullopt; }
  virtual bool BelowCap(const State&, SlotKind) const { return true; }

  // REQUIRES that it is there.
  static const Attempt& AttemptOf(const Stage& stage, AttemptKey key);
  // Old enough, not waiting for inputs, not kept by its input, and its task never ran on the worker.
  bool Eligible(const View& view, StageId stage, AttemptKey attempt, const Worker* worker) const;
  static Duration Age(const View& view, const Attempt& a) { return view.now() - a.started_at; }
  const Options& options() const { return options_; }

 private:
  // What one stage of speculable() had for any worker when last looked at.
  struct Seen {
    StageKey key;
    const Job* job = nullptr;
    const Stage* stage = nullptr;
    uint64_t changes = 0;
    bool looked = false;
    std::optional<Choice> best;  // for any worker
  };
  std::vector<Seen>& SeenBy(const View& view, SlotKind kind) const;
  // Of these stages the i-th that has something for any worker; null: there are fewer.
  const Seen* WithAny(const View& view, SlotKind kind, size_t i) const;
  bool HasAny(const View& view, Seen* seen) const;
  std::optional<Choice> PickFor(const View& view, const Seen& seen, const Worker& worker) const;

  // A stage that has nothing for any worker has nothing for each of them: in a round of idle offers it is
  // looked at again when it changed only. Never decides anything else than a look at the state would.
  mutable std::array<std::vector<Seen>, 2> seen_;
  mutable std::array<uint64_t, 2> round_{~uint64_t{0}, ~uint64_t{0}};
  mutable std::array<Hopeful<Seen>, 2> hopeful_;
  Options options_;
};

}  // namespace mr::sched
