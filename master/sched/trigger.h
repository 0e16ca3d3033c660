// Triggers: the events of a step on which policies run.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "common/base/ids.h"
#include "master/sched/state/flat_set.h"
#include "master/sched/state/state.h"

namespace mr::sched {

// Launches that later policies will pass over, since they have already refused the job at this instant.
class Refusals {
 public:
  virtual ~Refusals() = default;
  // Returns true for a first attempt of this task on this worker, if this policy drafts one.
  virtual bool Refuses(std::string_view asker, const TaskId& task, WorkerId worker) const = 0;
};

// This worker has room for at least one attempt. Launch at most one: the worker is offered again while launches
// follow. local_only: work has just appeared, and each worker takes only tasks whose input it holds. An offer without
// this limit comes later.
struct SlotOffer {
  WorkerId worker;
  bool local_only = false;
  // An idle offer: no pending task can run on this worker now. Sent once per offer period, after all pending work was
  // offered. Policies that place work still see it first.
  bool idle = false;
  FlatSet<JobId> passed;  // jobs that must not launch: Plan::PassOver
  // Predicts whether later policies will refuse a drafted launch. To pass its job over at once costs a tenth of a
  // repeated offer.
  const Refusals* refusals = nullptr;
};

// Attempts that were launched, made progress, reported or ended, in the order of events; entries may repeat.
struct AttemptsChanged {
  std::vector<AttemptId> attempts;
};

// Timers of this policy, by the ids that it gave to WakeAt. Other policies do not see them.
struct TimersDue {
  std::vector<uint64_t> ids;
};

// This stage has tasks that could run at once and found no slot. Attempts of the same job hold slots and wait for
// inputs.
struct SlotsWanted {
  StageKey stage;
};

// Work appeared in this step, and some of it found no slot.
struct WorkWaits {};

// Jobs began to want guaranteed slots in this step (State::wanting), and some still do.
struct GuaranteesWait {};

// A reader could not read this replica, or the host found it lost (it is then no longer in the state).
struct ReplicaSuspected {
  Replica replica;
  AttemptId reader;  // number 0: none, the host found it lost
};

// This worker will not make the replica of `from` that it was asked for. The output is still committed.
struct ReplicaFailed {
  Replica from;
  WorkerId to;
};

// Jobs that have ended. Policies forget their facts about them.
struct JobsEnded {
  std::vector<JobId> jobs;
};

// The prediction or the user settings of these jobs are new, or the list of policies is.
struct ForecastChanged {
  std::vector<JobId> jobs;
};

using Trigger = std::variant<SlotOffer, AttemptsChanged, TimersDue, SlotsWanted, WorkWaits, ReplicaSuspected, JobsEnded,
                             ReplicaFailed, ForecastChanged, GuaranteesWait>;

}  // namespace mr::sched
