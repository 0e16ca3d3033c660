// Model of delay assignment: gain and loss of downstream clones that wait for upstream replicas of their own, and the
// best longest wait. Pure functions.
//
// Dolly (NSDI 2013) 5.2. r: bytes that a reader takes of one upstream output; B: bandwidth of a replica with one
// reader; alpha_m B: bandwidth of each of m readers; omega: the longest wait for a replica without a reader. Times are
// in seconds from the finish of the first upstream replica. For two clones, A first, and the second replica at `gap`:
//   gap <= omega:   T_E(A) = r/B, T_E(B) = r/B + min(r/B, gap)
//   else:           T_C(A) = omega + (r/B - omega)/alpha, T_C(B) = omega + T_C(A); for omega >= r/B: r/B and 2 r/B
// Departures: the paper prints T_E(B) with omega in place of gap, which is an upper bound. T_C, and the case of more
// than two clones, are derived here in the same spirit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mr::sched {

// Bandwidth of a replica by its number of readers.
struct Contention {
  // alpha[m - 1]: measured share of B for each of m readers; in (0, 1], not rising, alpha[0] = 1.
  std::vector<double> alpha = {1};

  // Returns alpha_m. Beyond the k measured readers it falls by the last measured ratio, alpha_k / alpha_{k-1}. All
  // readers together keep what k had, but at most B: m alpha_m >= min(1, k alpha_k). So alpha_2 >= 1/2 means a floor of
  // 1/m, and no measurement means 1/m. Requires: readers >= 1. Cost: O(m).
  double Share(uint32_t readers) const;
  // Returns alpha^(m-1) with that floor, for up to `most` readers. alpha: measured for two readers.
  static Contention Power(double alpha, uint32_t most);
};

// Returns when each reader (clone of one downstream task) has the output of one upstream task; infinity: never.
// offsets: when the replicas are finished, ascending, infinite for one that never is. read_seconds: r/B >= 0. Readers
// ask in their order. With a finite omega:
// - A finished replica without a reader goes to the first reader that waits. If no read ends before the last replica is
//   there, reader k takes replica k at offsets[k]; else they read one after another.
// - At omega the waiting readers join, one by one, the replica with the fewest readers. Later replicas are never made.
//   A read continues at the new rate as soon as a reader joins or leaves its replica.
// - omega = 0 is CC. With omega >= (readers - 1) * read_seconds no reader ever shares.
// With an infinite omega, CAC, a replica serves one reader, and a reader without one waits forever.
// Cost: O(readers (readers + replicas)).
std::vector<double> ReadEnds(const std::vector<double>& offsets, size_t readers, double read_seconds, double omega,
                             const Contention& contention);

// Sample from one downstream task of a completed job.
struct DelaySample {
  std::vector<std::vector<double>> offsets;  // by upstream task, as in ReadEnds
  double read_seconds = 0;                   // r/B
  std::vector<double> compute;               // by clone: seconds after its reads; infinite if it never ended
  // By upstream task: the clone that asks first. The others follow by number, and clone 0 comes after the last. Empty:
  // always clone 0, the order that CAC's probabilities assume (dolly_rules.h), and the best one. A clone that all
  // outputs reach first makes the task early; two clones that are each reached late by some do not.
  std::vector<uint32_t> first;
};

// How a clone reads from several upstream tasks: all at once (the longest read counts), or one by one (the sum).
enum class Fetching { kParallel, kSerial };

// Returns the seconds until the first clone has read and computed; infinity: none ever does.
double TaskSeconds(const DelaySample& sample, double omega, const Contention& contention, Fetching fetching);

// Points of the grid on which omega is sought, from 0 to the 99th percentile of gaps. A guess: a step is under 2 % of
// it, and the samples vary by more.
inline constexpr int kOmegaPoints = 64;

// Returns the omega of 0, longest/63, ..., longest with the least mean TaskSeconds; the smallest of those equal to
// within a 1e-9th. Ignores samples in which no clone ends; without any sample returns 0, so that no reader waits.
// Requires: longest is finite and >= 0. Cost: 64 reads of each output, .1 us each with 2 clones and .3 us with 3
// (measured). 200 samples of 10 upstream tasks take 14 and 38 ms, so callers keep few samples.
double BestOmega(const std::vector<DelaySample>& samples, const Contention& contention, Fetching fetching,
                 double longest);

}  // namespace mr::sched
