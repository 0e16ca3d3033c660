// The interface of all policies. A policy is an edit on one draft plan; the order of the list is
// the order of authority, and a later policy may take back what an earlier one put there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/rng.h"
#include "master/sched/plan.h"
#include "master/sched/trigger.h"
#include "master/sched/view.h"

namespace mr::sched {

class Policy {
 public:
  virtual ~Policy() = default;
  // Lower-case, stable: stands in --scheduler, in reasons and facts, and at the journal's head.
  virtual std::string_view name() const = 0;
  // What it needs of the state's indexes.
  virtual void Ask(Sharing*) const {}
  // Const: a policy remembers nothing itself, but for what it can work out again (caches by State::folds, what it saw
  // in a round of idle offers, refusals at one instant): no decision depends on whether it still knows it. What is
  // worth remembering is a fact, written through the plan and read through the view. Draws from rng on slot offers
  // only.
  virtual void Refine(const Trigger& trigger, const View& view, Rng& rng, Plan& plan) const = 0;
  // Whether at this instant it has passed this job over in an answer to an offer, and would again if a first attempt
  // of this task were drafted there, and would say nothing else. False where it does not know.
  virtual bool Refuses(const View&, const TaskId&, WorkerId) const { return false; }
  // Whether it may change what is drafted when a slot is offered, or draft something itself.
  virtual bool AnswersOffers() const { return true; }
  // Whether it has a use for a free slot of this kind though nothing is pending: then free workers are
  // offered every offer_period.
  virtual bool Seeks(const View&, SlotKind) const { return false; }
  // For people who ask. Why it lets this attempt, which runs, run alone now; why it gives this worker
  // less than others.
  virtual std::optional<Reason> WhyAlone(const View&, const AttemptId&) const { return std::nullopt; }
  virtual std::vector<Reason> WhyShuns(const View&, WorkerId) const { return {}; }
  virtual std::vector<Figure> Figures(const View&) const { return {}; }
  // Which statistics of attempts it reads (statistics.h); they cost a little with every report. At idle offers and
  // for people who ask all reports are counted in them; elsewhere State::Counted sees to it.
  virtual StatisticsWanted WantsStatistics() const { return {}; }
};

}  // namespace mr::sched
