// What the clones of a downstream task gain and lose by waiting for upstream copies of their own, and how long
// they should. Pure functions, apart from the policy that uses them (delay_assignment).
//
// Dolly (NSDI 2013) 4; papers.md 1.3. r: bytes that a reader takes of one upstream output; B: bandwidth of a copy
// with one reader; alpha_m B: that of each of m readers; omega: the longest wait for a copy without a reader.
// Times are in seconds from the first upstream copy's finish. For two clones, A first, and the second copy at gap:
//   gap <= omega:   T_E(A) = r/B, T_E(B) = r/B + min(r/B, gap)
//   else:           T_C(A) = omega + (r/B - omega)/alpha, T_C(B) = omega + T_C(A); for omega >= r/B: r/B and 2 r/B
// Departures: the paper has these for two clones and prints T_E(B) with omega for the gap, which bounds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mr::sched {

// How the bandwidth of a copy is divided.
struct Contention {
  // alpha[m - 1]: the share of B that each of m readers has, as measured; in (0, 1], not rising, alpha[0] = 1.
  std::vector<double> alpha = {1};

  // alpha_m. Beyond what is measured (k readers) it falls by the last measured ratio, alpha_k / alpha_{k-1}, but
  // all readers together keep what k had, or B if that was more: m alpha_m >= min(1, k alpha_k). So for
  // alpha_2 >= 1/2 papers.md's floor of 1/m holds, and nothing measured means 1/m. O(m). readers >= 1.
  double Share(uint32_t readers) const;
  // papers.md's default, alpha^(m-1) with that floor, for up to `most` readers; alpha: measured for two.
  static Contention Power(double alpha, uint32_t most);
};

// When each reader (clone of one downstream task) has the output of one upstream task. offsets: when its copies
// are finished, ascending, infinite for one that never is. Readers ask in their order. omega finite:
// - whichever finished copy has no reader goes to the first reader that waits. Where no read ends before the last
//   copy is there, this is papers.md's rule, reader k takes copy k at offsets[k]; else, reading one after another.
// - at omega those who wait join, one by one, the copy with the fewest readers; later copies are never made. A
//   read goes on at the new rate as soon as a reader joins or leaves its copy.
//   omega = 0 is CC; omega >= (readers - 1) * read_seconds: nobody ever shares.
// omega infinite is CAC: a copy serves one reader, and a reader without one waits for ever.
// Returns ends by reader; infinite: never. read_seconds: r/B >= 0. O(readers (readers + copies)).
std::vector<double> ReadEnds(const std::vector<double>& offsets, size_t readers, double read_seconds, double omega,
                             const Contention& contention);

// What one downstream task of a completed job tells.
struct DelaySample {
  std::vector<std::vector<double>> offsets;  // by upstream task, as above
  double read_seconds = 0;                   // r/B
  std::vector<double> compute;               // by clone: seconds after its reads; infinite: it never ended
  // By upstream task: the clone that asks first; the others follow by number, and after the last clone 0. Empty:
  // clone 0 always: the order that CAC's chances suppose (dolly_rules.h), and the best, as one clone that is fed
  // first by all makes the task early, and two that are each fed late by some do not.
  std::vector<uint32_t> first;
};

// How a clone reads from several upstream tasks: all at once (the longest counts), or one by one (the sum).
enum class Fetching { kParallel, kSerial };

// Seconds until the first clone has read and computed; infinite: none ever does.
double TaskSeconds(const DelaySample& sample, double omega, const Contention& contention, Fetching fetching);

// Points of the grid on which omega is sought: papers.md has a grid up to the 99th percentile of gaps and no
// number; with 64 (a guess) a step is under 2 % of it, where omega is refreshed from samples that vary by more.
inline constexpr int kOmegaPoints = 64;

// The omega of 0, longest/63, ..., longest with the least mean of TaskSeconds; the smallest of those equal to
// within a 1e-9th. Samples in which no clone ends are left out; without any: 0, which waits for nobody.
// longest: finite, >= 0. Cost: 64 reads of each output: .1 us each with 2 clones, .3 with 3 (measured), so 200 samples
// of 10 upstream tasks take 14 and 38 ms: whoever keeps samples keeps few.
double BestOmega(const std::vector<DelaySample>& samples, const Contention& contention, Fetching fetching,
                 double longest);

}  // namespace mr::sched
