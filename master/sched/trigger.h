// What happened, as policies are told: why they are asked now.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "common/base/ids.h"
#include "master/sched/flat_set.h"
#include "master/sched/state.h"

namespace mr::sched {

// What policies behind the one that asks are known to pass over, by what they said of the job at this instant.
class Refusals {
 public:
  virtual ~Refusals() = default;
  // Of a first attempt of this task there, if this policy drafts one.
  virtual bool Refuses(std::string_view asker, const TaskId& task, WorkerId worker) const = 0;
};

// This worker has room for one attempt at least. Launch at most one: it is offered again as long
// as launches follow. local_only: work has just appeared, and for now each worker is to take only
// what it holds the input of; an offer without this limit comes after.
struct SlotOffer {
  WorkerId worker;
  bool local_only = false;
  // Made for whom nothing pending is left that this worker could take now: once an offer period, after
  // all that is pending has been offered. Policies that place work are asked first all the same.
  bool idle = false;
  FlatSet<JobId> passed;  // of which nothing is to be launched: Plan::PassOver
  // May be asked about a launch before it is drafted for good: to pass its job over at once costs a tenth of an offer
  // that is made again.
  const Refusals* refusals = nullptr;
};

// These attempts were launched, moved on, reported or ended. Ordered as it happened; may repeat.
struct AttemptsChanged {
  std::vector<AttemptId> attempts;
};

// Timers of this policy, by the ids that it gave to WakeAt. Other policies are not told.
struct TimersDue {
  std::vector<uint64_t> ids;
};

// This stage has tasks that could run at once, found no slot, and attempts of the same job hold
// slots though they wait for inputs.
struct SlotsWanted {
  StageKey stage;
};

// Work appeared in this step, and some of it found no slot.
struct WorkWaits {};

// Jobs have come to want guaranteed slots in this step (State::wanting), and some still do.
struct GuaranteesWait {};

// A reader could not read this copy, or the host found it lost (then the state knows it no more).
struct CopySuspected {
  Copy copy;
  AttemptId reader;  // number 0: none, it was found lost
};

// The copy of `from` that this worker was asked to make is not coming; the output is still committed.
struct CopyFailed {
  Copy from;
  WorkerId to;
};

// These jobs are over: what a policy remembers of them is to be forgotten.
struct JobsEnded {
  std::vector<JobId> jobs;
};

// What is predicted of these jobs, or what users wish of them, is new; or the list of policies is.
struct ForecastChanged {
  std::vector<JobId> jobs;
};

using Trigger = std::variant<SlotOffer, AttemptsChanged, TimersDue, SlotsWanted, WorkWaits, CopySuspected, JobsEnded,
                             CopyFailed, ForecastChanged, GuaranteesWait>;

}  // namespace mr::sched
