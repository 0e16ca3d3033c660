// Which part of the spread of durations belongs to the machine, and which to the task: covariances of residuals over
// pairs of attempts (method of moments). Two attempts that share nothing but a machine have in common what the machine
// did to both; so with x the centred body of a residual (sample.h)
//
//   machine  E[x_i x_j | same machine, lag] - E[x_i x_j | two machines, lag] = k^2 sigma_m^2 exp(-lag / machine_lasts)
//   task     E[x_i x_j | same task in two runs] - E[x_i x_j | two tasks in the same two runs] = k^2 sigma_s^2
//
// Source: the variance components of a one-way random model (Searle, Casella, McCulloch, Variance Components, 1992),
// estimated from pairs, as the difference of two variograms (Matheron, Principles of Geostatistics, 1963). The second
// term is the *control*. It is taken from the same two stages and the same range of lags, so what happens to the whole
// cluster at one time cancels out. So does the -sigma_m^2/K that centring a stage of K machines puts into both terms.
// k = P(1/2 < factor < 2) undoes the clamping of normal variables, to first order in their correlation (Bussgang 1952:
// E[g(X) Y] = E[g'(X)] E[X Y]).
//
// Standard errors take each machine (task) as one independent observation, whatever number of pairs it has (the
// cluster-robust variance; Liang and Zeger 1986).
#pragma once

#include <cstdint>
#include <vector>

#include "master/sim/calibrate/sample.h"

namespace mr::sim {

struct PairMean {
  uint64_t pairs = 0;     // that share the machine or the task
  uint32_t clusters = 0;  // machines or tasks with a pair
  double value = 0;       // same minus control
  double error = 0;       // standard error of value
  double control = 0;     // mean over pairs that share nothing, weighted as `value` is
  double tail = 0;        // P(both factors above 2): same minus control
  double tail_error = 0;
  uint64_t tail_pairs = 0;  // same, both above 2
};

struct LagBin {
  double lag = 0;  // mean seconds between the two starts
  PairMean pairs;
};

struct MachinePairs {
  PairMean all;
  std::vector<LagBin> bins;  // lags in ranges that double from kFirstLag; empty if starts are not recorded
  double span = 0;           // largest lag
};

inline constexpr double kFirstLag = 15;

// Pairs of all attempts with a named worker; without starts, those within one job. Cost: quadratic in the attempts.
MachinePairs PairsOnMachines(const Sample& sample);

// Pairs of one task in two runs of a workflow. Where workers are named, bodies are first centred on the mean of their
// stage and worker, so that a task that returns to its machine does not pass for skew. Attempts on a worker with few
// others of the stage are then left out.
PairMean PairsOfTasks(const Sample& sample);

// How long a machine's factor lasts: weighted least squares of value = a exp(-lag / lasts) over the bins.
struct Decay {
  bool fitted = false;       // false: too few bins
  double variance = 0;       // a: the covariance at lag 0
  double lasts = 0;          // best fit, seconds
  double low = 0, high = 0;  // interval of one standard error (the sum of squares rises by one)
  bool bounded = false;      // false: no decay within the record; `low` is all that is known
};
Decay DecayOf(const MachinePairs& pairs);

}  // namespace mr::sim
