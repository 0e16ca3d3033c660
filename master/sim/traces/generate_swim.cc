#include "master/sim/traces/generate_swim.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace mr::sim {

namespace {

constexpr double kSwimAt[] = {0, .05, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95, .98, .99, 1};
constexpr size_t kSwimPoints = std::size(kSwimAt);

// Quantiles of the seconds between submits, which the record has in whole seconds. They leave out its one gap of an
// hour (3607 s), in which no job was submitted or recorded. With it the coefficient of variation is 6.7.
constexpr double kGaps[kSwimPoints] = {0, 0, 0, 0, 1, 1, 2, 2, 3, 5, 8, 12, 18, 24, 120};

// Quantiles of tasks, for map-only jobs and for jobs with reduces; for the latter also tenths of reduces / tasks.
struct SizesOfBin {
  double only_maps;  // share of jobs
  double maps[kSwimPoints], both[kSwimPoints], reduces[11];
};
constexpr SizesOfBin kSizes[kDollyBins] = {
    {.376,
     {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 6, 8, 10},
     {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 6, 8, 9, 10},
     {.1, .333, .5, .5, .5, .5, .5, .5, .5, .5, .714}},
    {.183,
     {11, 12, 13, 15, 20, 25, 29, 34, 49, 49, 49, 50, 50, 50, 50},
     {11, 13, 14, 19, 22, 22, 25, 26, 28, 28, 33, 36, 45, 47, 50},
     {.02, .0357, .0385, .04, .0435, .0455, .0455, .0588, .0833, .143, .523}},
    {.310,
     {51, 52, 52, 52, 53, 58, 61, 71, 78, 104, 124, 136, 148, 148, 150},
     {51, 53, 57, 65, 72, 78, 89, 97, 108, 117, 133, 141, 146, 148, 150},
     {.0067, .0083, .0108, .0139, .0196, .0515, .0806, .118, .189, .258, .983}},
    {.248,
     {153, 161, 183, 214, 248, 286, 317, 354, 364, 398, 452, 466, 487, 497, 499},
     {151, 163, 173, 207, 242, 254, 284, 343, 406, 423, 463, 481, 494, 498, 500},
     {.002, .0024, .0029, .004, .0041, .0051, .0066, .0267, .105, .206, .549}},
    {.318,
     {502, 601, 701, 1014, 1401, 1412, 1444, 1545, 2877, 2941, 7900, 19561, 28724, 41637, 86465},
     {501, 560, 595, 732, 916, 1183, 1661, 2321, 3662, 7905, 12822, 20329, 26760, 42297, 89889},
     {.0, .0003, .001, .0017, .0065, .0129, .0258, .0615, .108, .245, .999}}};

// Interpolates at a random point between the quantiles beside it.
double Draw(const double (&at)[kSwimPoints], Rng& rng) {
  const double u = rng.Uniform();
  size_t i = 1;
  while (i + 1 < kSwimPoints && kSwimAt[i] < u) ++i;
  return at[i - 1] + (at[i] - at[i - 1]) * (u - kSwimAt[i - 1]) / (kSwimAt[i] - kSwimAt[i - 1]);
}

}  // namespace

double SwimGap(Rng& rng) { return Draw(kGaps, rng); }

SwimSize SwimSizeIn(size_t bin, Rng& rng) {
  const SizesOfBin& sizes = kSizes[bin];
  const bool only_maps = rng.Uniform() < sizes.only_maps;
  const auto tasks = static_cast<uint32_t>(std::lround(Draw(only_maps ? sizes.maps : sizes.both, rng)));
  const double tenth = rng.Uniform() * 10;
  if (only_maps) return {tasks, 0};
  const auto i = std::min<size_t>(static_cast<size_t>(tenth), 9);
  const double share = sizes.reduces[i] + (sizes.reduces[i + 1] - sizes.reduces[i]) * (tenth - static_cast<double>(i));
  const auto reduces = static_cast<uint32_t>(std::lround(share * tasks));
  const uint32_t some = std::clamp(reduces, 1u, tasks - 1);
  return {tasks - some, some};
}

}  // namespace mr::sim
