// mantri_restart: outliers are begun anew or get a speculative attempt, while their stage runs, if that pays.
//
// Mantri (Ananthanarayanan et al., "Reining in the Outliers in Map-Reduce Clusters using Mantri", OSDI 2010), 5.1, 5.5:
//   t_rem = (d - d_read) * time per byte of the last reports + t_wrapup
//   t_new = processRate * locationFactor * d + schedLag       (estimate.h; a distribution)
//   Delta = min(10 s, life / 10), between two progress reports;  c = running attempts
//   Delta after an attempt began: all but the fastest alpha attempts are ended.
//   On a free slot, while tasks wait:
//     end and begin anew    t_rem > E(t_new) + Delta, fewer than gamma times
//     else speculate        P(t_rem > t_new (c+1)/c) > delta
//     else start            the waiting task with the largest input
//   once all have begun:    speculate where E(t_rem - t_new) > rho Delta
// The paper misprints this saving with the other sign. Of several acts the one that saves most is chosen. Never more
// than three attempts of a task run, and no task gets another one within Delta of the last.
//
// An attempt that is slow for its input only has a t_new as long as its t_rem. It is left alone, which is reported once
// (Plan::Spare).
//
// Parameters: gamma, delta, alpha, rho, report (the 10 s), min_age (no attempt is judged before, if Delta is shorter),
// samples, outpaced. All follow the length of tasks through Delta.
//
// Departures:
// - samples=running, the default: attempts that run count for processRate, too, once they have read a tenth, a
//   straggler's own slow rate among them. Reduces count in their third phase, from when they had their inputs. Nothing
//   is done before half of the stage has reported so much, or three have finished. The paper (from memory) takes
//   finished attempts only. In a stage of one wave that is too late. A straggler of twice the median has no more left
//   by then than a new attempt takes.
// - outpaced, the default: the slower of two attempts is killed once it would end more than rho Delta after the other.
//   That is what a speculative attempt must save. So the straggler gives its slot back early.
// - No attempt is ended for its rate before it has reported twice, or been silent for three Delta. A task gets at most
//   2 + gamma speculative attempts in its life.
// - If the pace has nothing more to say, t_rem comes from the distribution of others, given the time taken so far
//   (NewAttempt::Left). It is that of wrap-ups for an attempt that has read all, as one that is piped a small split
//   does at once. It is that of whole times for one that has read nothing for longer than all of them (with d_read = 0
//   the paper has no estimate). One that outlasted all is expected to need as much again, but only while three quarters
//   of those as old or done are done.
// - life is E(t_new) at a usual place. The free slot is at hand, so schedLag is from launch to start. A task begun anew
//   takes this slot and does not queue. locationFactor knows the worker, not the network.
// - "Tasks wait" on an offer on which an earlier policy starts a new task of any job. Tasks of that job are begun anew
//   or get a speculative attempt in its place. Those of up to 8 other stages are only begun anew, which gives a slot
//   back.
// - Examined per stage: the 32 dearest per byte by prediction (256 once all have begun), the 16 earliest, 8 with
//   several attempts. At least 3 tasks must have reported or finished.
// - The largest input goes first among tasks that are as near to their input; 64 of this worker or rack are examined.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeMantriRestart(PolicyParams* params);

}  // namespace mr::sched
