// Rules of mantri_restart for one task: Mantri (OSDI 2010), 5.1. The formulas are in mantri_restart.h.
#pragma once

#include <optional>

#include "master/sched/index/estimate.h"
#include "master/sched/plan.h"
#include "master/sched/policies/common/network_bound.h"

namespace mr::sched {

struct MantriRules {
  double gamma = 3;      // most restarts of a task (from notes on the paper)
  double margin = 1;     // times E(t_new) that an attempt must have left to be restarted (the paper)
  double delta = .25;    // chance of a saving above which a task gets a speculative attempt while tasks wait (the same)
  double alpha = 2;      // attempts that are kept (from memory of the paper)
  double rho = 3;        // report periods that a speculative attempt must save once all have begun (likewise)
  double report = 10;    // seconds: the longest report period
  double min_age = 0;    // seconds
  bool running = true;   // attempts that run are samples for new ones, too
  bool outpaced = true;  // the slower of two attempts is ended if it cannot win
  bool hopeful = false;  // t_rem by the better of two paces: of the last reports and of the whole life
  bool own_slot = false;        // acts while tasks wait count how slow the slot is that the waiting task gets
  NetworkBound network{false};  // where it bounds a stage, nothing is launched that adds to it
};

// An act for a task, and the seconds that it saves.
struct MantriAct {
  double saves = 0;
  AttemptId attempt;  // the one that is restarted, or that gets a speculative attempt
  bool anew = false;
  Reason reason;
};

// Returns t_rem of a running attempt in seconds, or nullopt if nothing is known of it.
std::optional<double> SecondsLeft(const MantriRules& rules, const NewAttempt& fresh, const Standing& standing,
                                  Instant now);
// Returns Delta of a task with this input, in seconds.
double ReportPeriod(const MantriRules& rules, const NewAttempt& fresh, double bytes);
// Returns why nothing may be done in this stage: the network bounds it, or all reads from other workers.
std::optional<Reason> WhyNotInStage(const MantriRules& rules, const View& view, const StageId& id);
// The same for what the stage copies only. Cost: nothing for a stage that reads no outputs.
std::optional<Reason> WhyNotCopies(const MantriRules& rules, const View& view, const StageId& id);
// Returns whether an attempt of the task, or one on this worker, reads its split from another worker while nobody knows
// how long such a read takes: its time cannot be compared with that of others. worker null: on each worker that could
// run it now.
bool ReadsUnseen(const MantriRules& rules, const View& view, const TaskId& id, const Worker* worker);
// Returns how many times as long as elsewhere a task of the stage takes in the slowest slot that this task holds, by
// other attempts on those workers. At least 1; 1 without own_slot.
double SlownessOfSlots(const MantriRules& rules, const View& view, const TaskId& id, const NewAttempt& fresh);
// Returns the best act for the task with a slot of this worker (null: of any); nothing if there is none. waiting: other
// tasks wait for the slot. speculate: a speculative attempt may start, else the task may only be restarted. location:
// the factor of the worker.
std::optional<MantriAct> JudgeTask(const MantriRules& rules, const View& view, const TaskId& id, const Worker* worker,
                                   const NewAttempt& fresh, double location, bool waiting, bool speculate);
// Returns an instant before which an idle slot gets no further attempt of a task by JudgeTask, if nothing about the
// task and its stage's statistics changes. Returns `now` if it may get one at once. Requires: the attempt is the only
// live one of its task.
Instant QuietUntil(const MantriRules& rules, const NewAttempt& fresh, const Standing& standing, Instant now);
// The same for a task with several attempts.
Instant QuietUntil(const MantriRules& rules, const View& view, const TaskId& id, const NewAttempt& fresh);
// Ends all attempts of a task but the fastest alpha, Delta after the last began, and those that are outpaced. Returns
// the seconds until then; 0: done.
double KeepFastest(const MantriRules& rules, const View& view, const TaskId& id, const NewAttempt& fresh, Plan* plan);

}  // namespace mr::sched
