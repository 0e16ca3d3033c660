// How many clones a job needs, whether the budget has room for them, and what can be expected of them. Pure
// functions, apart from the policy that uses them (dolly).
//
// Dolly (NSDI 2013) 3 and 4; papers.md 1.1 and 1.2. p: the chance that one copy of a task straggles, measured over
// the whole cluster; n: tasks of the phase; c: copies of each task, the first included; copies are independent.
//   c = ceil(log(1 - (1 - eps)^(1/n)) / log p), the smallest with 1 - (1 - p^c)^n <= eps
//   Psi(d) = (sum_{i=0..c-d} C(c,i) p^i (1-p)^(c-i))^n: every group has at least d copies that do not straggle
//   P_CAC = 1 - sum_{d=1..c} (Psi(d) - Psi(d+1)) (1 - p^d)^n, with Psi(c+1) = 0     P_CC = 1 - Psi(1) (1 - p^c)^n
// Departures: the paper prints Psi(d) - Psi(d-1), with which the "probability" passes 1. Chances of failure are
// computed themselves, not as 1 minus a success, and without log and pow: nothing cancels, and each machine finds
// the same count. REQUIRES of all: p in [0, 1], c <= kMostCopies. Cost: O(c (log c + log n)), CacStraggles c
// times that.
#pragma once

#include <cstdint>

namespace mr::sched {

// Where counting ends. A guess beyond use: p is the share of tasks slower than half the median, so below a half,
// and 64 copies of p = .5 are enough for any number of tasks.
inline constexpr uint32_t kMostCopies = 64;

// Copies of each task, all counted, so that P(the job straggles) <= epsilon: 1 (no clone needed) to kMostCopies
// (also where that is not enough). epsilon is met to within a 1e-9th of it, for counts at which the two are equal.
uint32_t CloneCount(double p, uint32_t n, double epsilon);
// Job-level cloning: copies of the job as a whole. 1 to `most` (also where that is not enough); most >= 1.
uint32_t StrandCount(double p, uint32_t n, double epsilon, uint32_t most);

// P(the job straggles) with c copies of each task: 1 - (1 - p^c)^n.
double TaskLevelStraggles(double p, uint32_t n, uint32_t c);
// With c copies of the whole job: (1 - (1 - p)^n)^c.
double JobLevelStraggles(double p, uint32_t n, uint32_t c);
// Two phases of n tasks with c copies of each and all-to-all reads between them. CAC: each upstream copy feeds one
// clone of every downstream task. c >= 1.
double CacStraggles(double p, uint32_t n, uint32_t c);
// CC: all clones read the upstream copy that is finished first.
double CcStraggles(double p, uint32_t n, uint32_t c);

// What cloning may take of a cluster with C slots.
struct Budget {
  double beta = .05;      // of C, held by cloned jobs (papers.md 1.1)
  double tau = .8;        // of C, held by everybody once the clones are made (the same)
  uint64_t floor = 0;     // slots: the budget where beta * C is less; 5 % of 16 slots is not one clone
  bool originals = true;  // a first copy counts against the budget too: the pseudocode. Else clones alone
};

// What one job asks for, in slots.
struct Demand {
  uint64_t charge = 0;  // against the budget: c*n, or (c-1)*n without the originals; 0 for c = 1
  uint64_t slots = 0;   // that it will hold: c*n
};
Demand DemandOf(uint32_t copies, uint64_t tasks, const Budget& budget);

// All tasks or none: whether used_budget + charge <= max(floor, beta*C) and used_slots + slots <= tau*C. What
// charges nothing is always admitted. used_slots: without the job's own.
bool Admits(uint64_t used_budget, const Demand& demand, uint64_t used_slots, uint64_t all_slots, const Budget& budget);

}  // namespace mr::sched
