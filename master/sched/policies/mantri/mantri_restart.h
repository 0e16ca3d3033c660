// mantri_restart: restarts outliers or launches speculative attempts of them, while their stage runs, if that pays.
//
// Mantri (Ananthanarayanan et al., "Reining in the Outliers in Map-Reduce Clusters using Mantri", OSDI 2010), 5.1, 5.5:
//   t_rem = (d - d_read) * time per byte of the last reports + t_wrapup
//   t_new = processRate * locationFactor * d + schedLag       (estimate.h; a distribution)
//   Delta = min(10 s, life / 10), between two progress reports;  c = running attempts
//   Delta after an attempt began: all but the fastest alpha attempts are ended.
//   On a free slot, while tasks wait:
//     restart               t_rem > E(t_new) + Delta, fewer than gamma times
//     else speculate        P(t_rem > t_new (c+1)/c) > delta
//     else start            the waiting task with the largest input
//   once all have begun:    speculate where E(t_rem - t_new) > rho Delta
// The paper misprints this saving with the other sign. Of several acts the one that saves most is chosen. Never more
// than three attempts of a task run, and no task gets another one within Delta of the last.
//
// If an attempt is slow only because of its input, its t_new is as long as its t_rem. It is left alone, which is
// reported once (Plan::Spare).
//
// Parameters: gamma, margin, delta, alpha, rho, report (the 10 s), min_age (no attempt is judged before, if Delta is
// shorter), samples, outpaced, pace, own_slot, network. All but network follow the length of tasks through Delta.
//
// Departures:
// - samples=running, the default: attempts that run count for processRate, too, once they have read a tenth, a
//   straggler's own slow rate among them. Reduces count in their third phase, from when they had their inputs. Nothing
//   is done before half of the stage has reported so much, or three have finished. The paper (from memory) takes
//   finished attempts only. In a stage of one wave that is too late: by then, a straggler of twice the median ends no
//   later than a new attempt would. samples=finished: only these, once half of the attempts that began have finished:
//   the first to finish are fast, and reports of running ones may be wrong.
// - outpaced, the default: the slower of two attempts is killed once it would end more than rho Delta after the other,
//   the time that a speculative attempt must save. So the straggler gives its slot back early.
// - margin (1). G: restarts only where t_rem > G E(t_new) + Delta. Both times are estimates, and Delta is a tenth of
//   them: in a stage of equal tasks with noisy reports, attempts are restarted in vain.
// - pace. recent: t_rem by the last reports. hopeful: by the better of these and of the attempt's whole life, and not
//   before it has read a quarter, or has run for E(t_new). One late or wrong report makes the first wrong, a slow start
//   both, and a restart loses what was done. Where a report is overdue, only the last reports count: it may hang.
// - own_slot (off). on: counts that the waiting task, whose slot an act takes, later gets the slot of the slow attempt.
//   k is the largest locationFactor of the task's workers, by other attempts there, and at least 1. A restart needs
//   t_rem > G E(t_new) + Delta with the factor k, too. A speculative attempt needs P(t_rem > t_new (c+k)/c) > delta. So
//   work on a slow worker is not thrown away for a task that would be as slow there.
// - network (off). on: each act moves an input once more. So nothing is done in a stage whose copies the network
//   bounds, nor anywhere while the network is narrow (network_bound.h). Until reads from other workers have been seen,
//   tasks whose split has a place are judged only where they run beside it, for workers that have it, too. Until copies
//   of stages of its size have been seen, nothing is done in a stage that copies.
// - No attempt is ended for its rate before it has reported twice, or been silent for three Delta. A task gets at most
//   2 + gamma speculative attempts in its life.
// - If the pace is of no more use, t_rem comes from the distribution of others, given the time taken so far
//   (NewAttempt::Left). An attempt that has read all, such as one with a small split in a pipe, is compared with
//   wrap-ups. One that has read nothing for longer than all others took is compared with whole times (with d_read = 0
//   the paper has no estimate). One that outlasted all is expected to need as much again, but only if three quarters of
//   the attempts that began no later, or have finished, have finished.
// - life is E(t_new) at a usual place. The slot is already free, so schedLag is from launch to start. A restarted task
//   takes this slot and does not queue. locationFactor covers the worker, not the network.
// - "Tasks wait" on an offer on which an earlier policy starts a new task of any job. Tasks of that job are restarted
//   or get a speculative attempt in its place. Tasks of up to 8 other stages are only restarted, which gives a slot
//   back.
// - Examined per stage: the 32 attempts with the highest predicted cost per byte (256 once all have begun), the 16
//   earliest, 8 tasks with several attempts. At least 3 tasks must have reported or finished.
// - The largest input goes first among tasks that are as near to their input; 64 of this worker or rack are examined.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeMantriRestart(PolicyParams* params);

}  // namespace mr::sched
