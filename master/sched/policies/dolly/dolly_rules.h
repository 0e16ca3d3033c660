// Rules of dolly: how many clones a job needs, whether the budget has room for them, and how likely the job then
// straggles. Pure functions.
//
// Dolly (NSDI 2013) 3, 4 and 5.1. p: chance that one clone of a task straggles, measured over the whole cluster; n:
// tasks of the phase; c: clones of each task, the first attempt included; clones are independent.
//   c = ceil(log(1 - (1 - eps)^(1/n)) / log p), the smallest with 1 - (1 - p^c)^n <= eps
//   Psi(d) = (sum_{i=0..c-d} C(c,i) p^i (1-p)^(c-i))^n: every task has at least d clones that do not straggle
//   P_CAC = 1 - sum_{d=1..c} (Psi(d) - Psi(d+1)) (1 - p^d)^n, with Psi(c+1) = 0     P_CC = 1 - Psi(1) (1 - p^c)^n
// Departures: the paper misprints Psi(d) - Psi(d-1), with which the "probability" exceeds 1. Chances of failure are
// computed directly, not as 1 minus a success, and without log and pow: nothing cancels, and each machine finds the
// same count.
// Requires, for all: p in [0, 1], c <= kMostClones. Cost: O(c (log c + log n)), CacStraggles c times that.
#pragma once

#include <cstdint>

namespace mr::sched {

// Upper bound of CloneCount. A guess beyond use: p is the share of tasks slower than half the median, so below a half.
// 64 clones with p = .5 are enough for any number of tasks.
inline constexpr uint32_t kMostClones = 64;

// Returns the number of attempts per task, the first one included, with which P(the job straggles) <= epsilon. 1: no
// clone is needed. At most kMostClones, even if that is not enough. The comparison allows a relative error of 1e-9.
uint32_t CloneCount(double p, uint32_t n, double epsilon);
// Returns the number of clones of the whole job (job-level cloning): 1 to `most`, which may not be enough. Requires:
// most >= 1.
uint32_t StrandCount(double p, uint32_t n, double epsilon, uint32_t most);

// Returns P(the job straggles) with c clones of each task: 1 - (1 - p^c)^n.
double TaskLevelStraggles(double p, uint32_t n, uint32_t c);
// Returns P(the job straggles) with c clones of the whole job: (1 - (1 - p)^n)^c.
double JobLevelStraggles(double p, uint32_t n, uint32_t c);
// Returns P(the job straggles) for two phases of n tasks with c clones of each and all-to-all reads. This is under CAC:
// each upstream clone feeds one clone of every downstream task. Requires: c >= 1.
double CacStraggles(double p, uint32_t n, uint32_t c);
// Returns the same under CC: all clones read the output of the upstream clone that finishes first.
double CcStraggles(double p, uint32_t n, uint32_t c);

// Limits of cloning in a cluster with C slots.
struct Budget {
  double beta = .05;      // of C, held by cloned jobs (Dolly 4.2)
  double tau = .8;        // of C, held by all jobs once the clones run (the same)
  uint64_t floor = 0;     // slots: the budget if beta * C is less; 5 % of 16 slots is not one clone
  bool originals = true;  // first attempts count against the budget, too, as in the pseudocode
};

// Slots that one job asks for.
struct Demand {
  uint64_t charge = 0;  // against the budget: c*n, or (c-1)*n without the originals; 0 for c = 1
  uint64_t slots = 0;   // that it will hold: c*n
};
Demand DemandOf(uint32_t clones, uint64_t tasks, const Budget& budget);

// Returns whether all tasks may be cloned: used_budget + charge <= max(floor, beta*C) and used_slots + slots <= tau*C.
// A demand without a charge is always admitted. used_slots: without the job's own.
bool Admits(uint64_t used_budget, const Demand& demand, uint64_t used_slots, uint64_t all_slots, const Budget& budget);

}  // namespace mr::sched
