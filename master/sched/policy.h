// The interface of all policies. A policy edits one draft plan. The order of the list is the order of authority: a
// later policy may undo what an earlier one drafted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/rng.h"
#include "common/base/status.h"
#include "master/sched/plan.h"
#include "master/sched/trigger.h"
#include "master/sched/view.h"

namespace mr::sched {

// Needs of the policies of a list. Each adds its part.
struct Needs {
  Sharing sharing;              // indexes of the state
  StatisticsWanted statistics;  // statistics of attempts (statistics.h); they cost a little with every report
};

class Policy {
 public:
  virtual ~Policy() = default;
  // Returns the policy's lower-case, stable name. It is used in --scheduler, in reasons and facts, and at the
  // journal's head.
  virtual std::string_view name() const = 0;
  // Adds what the policy needs from the state. At idle offers, and in answers to users, the statistics contain all
  // reports; elsewhere State::Counted counts them.
  virtual void AddNeeds(Needs*) const {}
  // Checks the list in which the policy stands. Errors: kInvalidArgument if it lacks a policy that this one builds on.
  virtual Status CheckList(const std::vector<std::string>&) const { return Status::Ok(); }
  // Adds the jobs that the policy must judge again, since a list with it has just come into force. They come back as
  // ForecastChanged in the same step.
  virtual void OnConfig(const View&, std::vector<JobId>*) const {}
  // Edits the plan in answer to the trigger. Const: a policy keeps only caches that it can compute again. Each is valid
  // for a State::folds, a round of idle offers or an instant. No decision depends on what they hold. Anything that must
  // be remembered is a fact, written through the plan and read through the view.
  //
  // rng: this policy's own stream of chance. The seed, the policy's name and the number of offers so far name it. Use
  // it for SlotOffer only: between two offers every call gets the same numbers.
  virtual void Refine(const Trigger& trigger, const View& view, Rng& rng, Plan& plan) const = 0;
  // Returns true if the policy has passed this job over at this instant, and would pass it over again for a first
  // attempt of this task on this worker. It must make no other edit in that answer. Returns false if it does not know.
  virtual bool Refuses(const View&, const TaskId&, WorkerId) const { return false; }
  // Returns true if the policy may change the draft for a slot offer, or add to it.
  virtual bool AnswersOffers() const { return true; }
  // Returns true if the policy has a use for a free slot of this kind while nothing is pending. Free workers are then
  // offered every offer_period.
  virtual bool Seeks(const View&, SlotKind) const { return false; }
  // Answers to users. WhyAlone: why the policy leaves this running attempt alone now. WhyShuns: why it gives this
  // worker less than others. Figures: the numbers that it works with now.
  virtual std::optional<Reason> WhyAlone(const View&, const AttemptId&) const { return std::nullopt; }
  virtual std::vector<Reason> WhyShuns(const View&, WorkerId) const { return {}; }
  virtual std::vector<Figure> Figures(const View&) const { return {}; }
};

}  // namespace mr::sched
