// The jobs of the shuffles benchmark, and their simulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mr::bench {

inline constexpr int kShuffleWorkers = 8, kShuffleSlots = 2;
inline constexpr double kLinkRate = 4e6;   // bytes per second of a worker's link, each way
inline constexpr double kMapBytes = 6e6;   // that a map reads, and gives to the shuffle
inline constexpr double kSpellFactor = 5;  // a worker's CPU is slower by this factor at times

struct ShuffleJob {
  double at = 0;  // seconds after the begin
  int maps = 0, reduces = 0;
};
// A period in which a worker computes slowly. Seconds.
struct SlowSpell {
  double at = 0, lasts = 0;
  int worker = 0;
};
// Both ordered by time.
struct ShuffleLoad {
  std::vector<ShuffleJob> jobs;
  std::vector<SlowSpell> spells;
};

// Measurements of jobs that ran alone, on links without a limit. Seconds.
struct ShuffleCosts {
  double map = 0;       // of an attempt
  double reduce = 0;    // of an attempt, per compressed byte of its input, once that is there
  double around = 0;    // of a job, outside of both
  double shuffled = 0;  // compressed bytes that reduces read, per byte that maps read
};

// Returns the mean seconds of the jobs under a list of policies, over some seeds.
double PredictShuffles(const ShuffleLoad& load, const std::string& policies, const ShuffleCosts& costs);

}  // namespace mr::bench
