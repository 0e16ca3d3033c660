// mantri_restart: outliers are begun anew or copied, while their stage runs, where that pays.
//
// Ananthanarayanan et al., "Reining in the Outliers in Map-Reduce Clusters using Mantri", OSDI 2010, 5.1 and 5.5:
//   t_rem = (d - d_read) * time per byte of the last reports + t_wrapup
//   t_new = processRate * locationFactor * d + schedLag       (estimate.h; a distribution)
//   Delta = min(10 s, life / 10), between two progress reports;  c = running copies
//   Delta after a copy began: all but the fastest alpha copies are ended.
//   On a free slot, while tasks wait:
//     end and begin anew    t_rem > E(t_new) + Delta, fewer than gamma times
//     else copy             P(t_rem > t_new (c+1)/c) > delta
//     else start            the waiting task with the largest input
//   once all have begun:    copy where E(t_rem - t_new) > rho Delta
//   (the paper prints this saving with the other sign). Of several, the one that saves most. Never more than
//   three copies run, and no task gets another one within Delta of the last.
//
// An attempt that is slow for its input only has a t_new as long as its t_rem: it is left alone, and that
// is said once (Plan::Spare).
//
// Parameters: gamma, delta, alpha, rho, report (the 10 s), min_age (no attempt is judged before, if Delta
// is shorter), samples, outpaced. All follow the length of tasks through Delta.
//
// Departs from the paper:
// - processRate is of finished tasks there (from memory of it): in a stage of one wave too late, as a straggler of
//   twice the median has no more left by then than a new attempt takes. samples=running, the default, counts those that
//   run too, a straggler's own slow rate among them, once they have read a tenth; reduces in their third phase, from
//   when they had their inputs. Nothing is done before half of the stage has told so much, or three have finished.
// - outpaced, the default: the slower of two attempts is ended once it will be done more than rho Delta after the other
//   (what a copy must save). A copied straggler gives its slot back then, instead of running to the copy's end.
// - No attempt is ended for its rate before it has reported twice, or been silent for three Delta. A task gets at most
//   2 + gamma copies in its life.
// - Where the pace has nothing more to say t_rem is by the distribution of others, given how long it took already
//   (NewAttempt::Left): of wrap-ups for an attempt that has read all, as what is piped a small split does at once; of
//   whole times for one that has read nothing for longer than all of them (with d_read = 0 the paper has no estimate).
//   One that outlasted all is taken to need as much again; only while three quarters of those as old or done are done.
// - life is E(t_new) at a usual place. The free slot is at hand, so schedLag is from launch to start, and a
//   task begun anew takes this slot; it does not queue. locationFactor knows the worker, not the network.
// - "Tasks wait" on an offer on which a policy before it starts a new task of any job: its own tasks are
//   begun anew or copied in that place; of up to 8 other stages tasks are only begun anew, which gives a slot back.
// - Looked at: per stage, of the dearest per byte by prediction 32 (256 once all have begun), 16 of the
//   earliest, 8 of those with copies. At least 3 tasks have told or finished.
// - The largest input goes first among tasks that are as near to their input: of this worker or rack 64 are seen.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeMantriRestart(PolicyParams* params);

}  // namespace mr::sched
