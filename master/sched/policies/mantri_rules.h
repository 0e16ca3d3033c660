// The rules of mantri_restart for one task; the formulas are in mantri_restart.h.
#pragma once

#include <optional>

#include "master/sched/estimate.h"
#include "master/sched/plan.h"

namespace mr::sched {

struct MantriRules {
  double gamma = 3;      // times that a task is begun anew (papers.md 2.1)
  double delta = .25;    // chance that a copy saves something, from which it is made while tasks wait (the same)
  double alpha = 2;      // copies that are kept (the same, from memory of the paper)
  double rho = 3;        // report periods that a copy must save once all have begun (likewise)
  double report = 10;    // seconds: the longest report period
  double min_age = 0;    // seconds
  bool running = true;   // attempts that run tell of new ones, too
  bool outpaced = true;  // the slower of two copies is ended where it cannot win
};

// What is to be done with a task, and the seconds that it saves.
struct MantriAct {
  double saves = 0;
  AttemptId attempt;  // the one that is begun anew, or one that is copied
  bool anew = false;
  Reason reason;
};

// Delta of a task with so much input.
double ReportPeriod(const MantriRules& rules, const NewAttempt& fresh, double bytes);
// On a slot of this worker (null: of any). waiting: other tasks wait for it. copies: a copy may be made,
// else it is only begun anew. location: of the worker.
std::optional<MantriAct> JudgeTask(const MantriRules& rules, const View& view, const TaskId& id, const Worker* worker,
                                   const NewAttempt& fresh, double location, bool waiting, bool copies);
// Ends all attempts of a task but the fastest alpha, Delta after the last began, and such as are outpaced. Seconds
// until then; 0: done.
double KeepFastest(const MantriRules& rules, const View& view, const TaskId& id, const NewAttempt& fresh, Plan* plan);

}  // namespace mr::sched
