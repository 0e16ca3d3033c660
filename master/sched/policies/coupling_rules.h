// When a reduce is due, and whether a map goes where its input is not: pure functions, apart from
// the policy that uses them (coupling).
//
// Coupling Scheduler (Tan, Meng, Zhang, INFOCOM 2013), algorithms 1 and 3; papers.md 5.1.
//   delta = 1 - exp(-reduces / threshold): the share of its maps by which all reduces of a job are
//   to be out unit  = delta * maps / reduces: maps for each reduce m     = (finished maps / unit -
//   (finished + running reduces + 1)) / reduces; 4 + 1 / pending reduces once no map is
//           pending: above all jobs that still have maps (which stay below 1 / delta < 4); 0
//           without pending reduces
//   beta  = .1 + .9 (1 - exp(-pending maps / max(N, 1))),  N: workers with a free map slot
//   p     = 1 - alpha * pm^beta * (1 - exp(-N)),  pm: share of workers with input of the job
#pragma once

#include <cstdint>

namespace mr::sched {

// Of one stage that reads others, which are its maps.
struct StepState {
  uint64_t maps = 0, finished_maps = 0, pending_maps = 0;
  uint64_t reduces = 0, pending_reduces = 0;  // the others run or have finished
};

// reduces >= 1; threshold > 0 (paper: 3).
double CouplingDelta(uint64_t reduces, double threshold);
// By how much its reduces are behind its maps, as a share of them; > 0: one is due.
double Mismatch(const StepState& s, double threshold);

// beta where the list fixes it (the paper's Figure 11); else by the load. pending_maps of the job;
// free_workers may be an estimate.
double PeekBeta(double pending_maps, double free_workers);
// That a map is launched where its input is not. alpha, share in [0, 1].
double PeekChance(double alpha, double beta, double share, double free_workers);

}  // namespace mr::sched
