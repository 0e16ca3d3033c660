// The generator. `generate:MIX[,jobs=N][,gap=SECONDS]`.
//
// Source of its figures: papers.md 1.4. Share of jobs by number of tasks (1-10, 11-50, 51-150,
// 151-500, more): its "For a Dolly run use". Gaps: mean 14.7 s, coefficient of variation 3.7
// (FB-2009_0), as a hyperexponential of two branches with balanced means. Sizes inside a bin:
// log-uniform, a guess; in the last one Pareto with FB-2009's tail index .75, at most 5,000 tasks, so that
// one job is not all of the workload. Map-only: 75 % (FB-2009). Reduces: an eighth of the tasks, a guess.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/base/rng.h"
#include "common/base/text.h"
#include "master/sim/model.h"

namespace mr::sim {

namespace {

struct Mix {
  const char* name;
  double bins[5];
};
constexpr Mix kMixes[] = {{"facebook", {.82, .06, .08, .03, .01}}, {"bing", {.61, .10, .15, .12, .02}}};
constexpr double kFrom[] = {1, 11, 51, 151, 501}, kTo[] = {10, 50, 150, 500, 5000};
constexpr double kGap = 14.7, kVariation = 3.7, kTail = .75, kMapOnly = .75;
constexpr uint64_t kTaskBytes = uint64_t{128} << 20;

double Gap(Rng& rng, double mean) {
  const double c2 = kVariation * kVariation;
  const double p = .5 * (1 + std::sqrt((c2 - 1) / (c2 + 1)));
  const double branch = rng.Uniform() < p ? p : 1 - p;
  return rng.Exponential(mean / (2 * branch));
}

uint32_t Tasks(Rng& rng, const Mix& mix) {
  double u = rng.Uniform();
  size_t bin = 0;
  while (bin < 4 && u >= mix.bins[bin]) u -= mix.bins[bin++];
  const double size = bin == 4 ? std::min(rng.Pareto(kFrom[4], kTail), kTo[4])
                               : kFrom[bin] * std::exp(rng.Uniform() * std::log((kTo[bin] + 1) / kFrom[bin]));
  return static_cast<uint32_t>(std::min(size, kTo[bin]));
}

bool Parse(std::string_view text, double* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value > 0 && *value < 1e9;
}

}  // namespace

Result<std::vector<JobModel>> Generate(const std::string& spec, uint64_t seed) {
  const Mix* mix = &kMixes[0];
  double count = 1000, gap = kGap;
  const size_t colon = spec.find(':');
  std::string_view rest = colon == std::string::npos ? std::string_view() : std::string_view(spec).substr(colon + 1);
  if (spec.substr(0, std::min(colon, spec.size())) != "generate") {
    return InvalidArgument("'" + spec + "' is not a workload; write a file, or generate:facebook");
  }
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    const auto known = std::find_if(std::begin(kMixes), std::end(kMixes), [&](const Mix& m) { return word == m.name; });
    const bool good = known != std::end(kMixes)         ? (mix = known, true)
                      : word.substr(0, 5) == "jobs="    ? Parse(word.substr(5), &count) && count >= 1
                      : word.substr(0, 4) == "gap="     ? Parse(word.substr(4), &gap)
                                                        : false;
    if (!good) {
      constexpr std::string_view kWords[] = {"facebook", "bing", "jobs=N", "gap=SECONDS"};
      return InvalidArgument("workload '" + spec + "': what is '" + std::string(word) +
                             "'? There are facebook, bing, jobs=N and gap=SECONDS" + DidYouMean(word, kWords));
    }
  }
  Rng rng = Rng::Stream(seed, "workload");
  std::vector<JobModel> jobs;
  double at = 0;
  for (uint32_t j = 0; j < static_cast<uint32_t>(count); ++j) {
    if (j > 0) at += Gap(rng, gap);
    const uint32_t tasks = Tasks(rng, *mix);
    const uint32_t reduces = tasks > 1 && rng.Uniform() >= kMapOnly ? std::max(1u, tasks / 8) : 0;
    const uint64_t input = (tasks - reduces) * kTaskBytes;
    jobs.push_back(MapReduce(at, "g" + std::to_string(j), tasks - reduces, input, reduces, reduces * kTaskBytes,
                             reduces > 0 ? reduces * kTaskBytes : input));
  }
  return jobs;
}

}  // namespace mr::sim
