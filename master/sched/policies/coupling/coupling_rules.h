// Rules of coupling: when a reduce is due, and the chance that a map is launched away from its input. Pure functions.
//
// Coupling Scheduler (Tan, Meng, Zhang, INFOCOM 2013), algorithms 1 and 3:
//   delta = 1 - exp(-reduces / threshold): share of its maps by which all reduces of a job should be out
//   unit  = delta * maps / reduces: maps per reduce
//   m     = (finished maps / unit - (finished + running reduces + 1)) / reduces;
//           4 + 1 / pending reduces once no map is pending: above all jobs that still have maps (which stay below
//           1 / delta < 4); 0 without pending reduces
//   beta  = .1 + .9 (1 - exp(-pending maps / max(N, 1))),  N: workers with a free map slot
//   p     = 1 - alpha * pm^beta * (1 - exp(-N)),  pm: share of workers with input of the job
// The paper's text skips a heartbeat with probability p. Its algorithm 3 launches with p, and so do we.
#pragma once

#include <cstdint>

namespace mr::sched {

// Progress of a stage that reads others. The tasks of these are its maps.
struct StepState {
  uint64_t maps = 0, finished_maps = 0, pending_maps = 0;
  uint64_t reduces = 0, pending_reduces = 0;  // the others run or have finished
};

// Returns delta. Requires: reduces >= 1; threshold > 0 (paper: 3).
double CouplingDelta(uint64_t reduces, double threshold);
// Returns m, by how much the reduces are behind their maps, as a share of the reduces. Above 0 one is due.
double Mismatch(const StepState& s, double threshold);

// Returns beta by load, for lists that do not fix it (as the paper's figure 11 does). pending_maps: of the job.
// free_workers: may be an estimate.
double PeekBeta(double pending_maps, double free_workers);
// Returns p, the chance that a map is launched away from its input. alpha, share (pm): in [0, 1].
double PeekChance(double alpha, double beta, double share, double free_workers);

}  // namespace mr::sched
