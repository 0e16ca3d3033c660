// The jobs of the stragglers benchmark, and their simulation.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace mr::bench {

// Slowdown of each worker.
inline constexpr std::array<double, 8> kFactors = {1, 1, 1, 1.5, 1.5, 1.5, 3, 10};

// The job of LATE 5.4, twenty times as fast, on 8 workers of 2 slots instead of 40. It has one wave of maps of 15 s,
// and reduces of 100 naps of U(0, 2t), 70 s together, on 95 % of the slots.
inline constexpr double kScale = 20;
inline constexpr int kNapSlots = 2 /* of each kind */, kNapMaps = 16, kNapReduces = 15, kNapSteps = 100;
inline constexpr double kNapMapSeconds = 15 / kScale, kNapReduceSeconds = 70 / kScale;

// Measurements of an undisturbed word count on other input, per attempt.
struct Calibration {
  double map_bytes = 0, map_seconds = 0;  // means
  double reduce_seconds = 0;
  double around_seconds = 0;  // of the job, outside of maps and reduces
};

// Both return the median seconds over 25 seeds.
double PredictNaps(const std::string& policies, double around_seconds);
double PredictWords(const std::string& policies, const Calibration& from, double map_bytes, int maps, int reduces);

}  // namespace mr::bench
