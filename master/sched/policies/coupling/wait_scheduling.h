// Wait scheduling: chooses the next reduce and its worker. Coupling Scheduler (Tan, Meng, Zhang, INFOCOM 2013),
// algorithm 2:
//
//   candidate   the stage with the largest mismatch, if that is above 0
//   L1, L2, L3  of the workers with a free slot, by centrality (centrality.h): the cheapest, the two next, the four
//               next
//   in period i = 1, 2, 3 after the choice a task of the candidate may start on a worker of Li that runs none of its
//               job's reduces, from period 4 on any; one that is refused there is dropped, and chosen again only if
//               there is no other
// Facts (scope "wait", by queue and slot kind): the candidate, since when, and L.
// Departures:
// - There is a candidate for each queue, so that the queue uses what fairness gives it. With one queue it is the
//   paper's.
// - L has only workers on which no reduce of the job runs; if there are none, any may start one. Otherwise L may name
//   workers that have to refuse: a job of 27 reduces waits three periods for most of them. 200 jobs on 62 nodes then
//   end 9 % later than under fair instead of 16 % sooner.
#pragma once

#include <optional>

#include "master/sched/plan.h"
#include "master/sched/policies/coupling/least_slots.h"
#include "master/sched/policy.h"

namespace mr::sched {

struct WaitRules {
  double threshold = 3;
  bool at_once = true;  // a launch may come with the offer that chose the candidate
  LeastSlots least;
  // Jobs of a queue that are compared for one choice, of those with inputs and of the others. A guess, above what the
  // paper's clusters ran at a time.
  size_t jobs_seen = 128;
};

// Launches a reduce of a job of this queue on the offered worker if one is due there. The worker has a free slot of
// this kind. Cost of a choice: jobs_seen, the maps of the candidate and some hundred workers; else the facts.
bool LaunchDueReduce(const SlotOffer& offer, const View& view, const Queue& queue, SlotKind kind,
                     const WaitRules& rules, Rng& rng, Plan* plan);
// Forgets the candidates of these jobs.
void ForgetCandidates(const View& view, const std::vector<JobId>& jobs, Plan* plan);

}  // namespace mr::sched
