#include "master/host/predictor.h"

#include <algorithm>
#include <cmath>

#include "common/base/text.h"
#include "master/sim/engine/predict.h"

namespace mr::master {
namespace {

// The most simulated tasks of a prediction: some ten seconds at .2 us each plus their queue (measured, predict.h).
constexpr double kMostSimulatedTasks = 25e6;
constexpr uint32_t kRuns = 20, kFewestRuns = 4;
constexpr uint64_t kMostTasks = 1'000'000;  // of a job: a run of them alone takes a second
constexpr double kTaskSeconds = .1;         // beside its bytes: a guess, the start of a process and a commit
// The spread of task times of a job that never ran: half to twice as long. A guess.
constexpr double kSpread[] = {.5, .7, 1, 1.4, 2};
std::string Times(double scale) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", scale);
  return text;
}

// In words: a quarter more or less input and three runs are what a user would call the same job.
std::string Confidence(uint32_t runs, double scale) {
  const double off = std::max(scale, 1 / std::max(scale, 1e-9));
  if (runs >= 3 && off <= 1.25) return "good";
  return runs >= 2 && off <= 3 ? "fair" : "low";
}

sched::RunProfile Bound(const sched::JobGraph& graph, const std::vector<StageSize>& sizes, double rate) {
  sched::RunProfile profile;
  profile.runs = 0;
  for (size_t s = 0; s < sizes.size(); ++s) {
    sched::StageRuns stage;
    stage.name = graph.stages[s].name;
    stage.tasks = sizes[s].tasks;
    stage.inputs = graph.stages[s].inputs;
    stage.input_bytes = sizes[s].input_bytes;
    const double each = kTaskSeconds + sizes[s].input_bytes / std::max(1u, sizes[s].tasks) / rate;
    for (const double times : kSpread) stage.run.push_back(static_cast<float>(each * times));
    profile.stages.push_back(std::move(stage));
  }
  return profile;
}

}  // namespace

double InputScale(const sched::RunProfile& profile, const std::vector<StageSize>& sizes) {
  double before = 0, now = 0;
  for (size_t s = 0; s < sizes.size(); ++s) {
    if (!sizes[s].reads_files) continue;
    before += profile.stages[s].input_bytes;
    now += sizes[s].input_bytes;
  }
  return before > 0 && now > 0 ? now / before : 1;
}

sched::RunProfile Fitted(sched::RunProfile profile, const std::vector<StageSize>& sizes) {
  const bool known = std::any_of(sizes.begin(), sizes.end(), [](const StageSize& s) { return s.input_bytes > 0; });
  std::vector<uint32_t> tasks;
  tasks.reserve(sizes.size());
  for (const StageSize& size : sizes) tasks.push_back(size.tasks);
  if (known) {
    const double scale = InputScale(profile, sizes);
    return sim::ScaledTo(std::move(profile), tasks, scale);
  }
  // Without an input each task is a piece of work of its own, and more of them are more of it.
  for (size_t s = 0; s < sizes.size(); ++s) profile.stages[s].tasks = tasks[s];
  return profile;
}

Result<Forecast> Foretell(const sched::JobGraph& graph, const std::vector<StageSize>& sizes,
                          const std::optional<sched::RunProfile>& profile, double bytes_per_slot_second,
                          uint32_t slots) {
  if (sizes.size() != graph.stages.size() || (profile && profile->stages.size() != sizes.size())) {
    return InvalidArgument("a prediction needs the size of each stage");
  }
  uint64_t tasks = 0;
  for (const StageSize& size : sizes) tasks += size.tasks;
  if (tasks > kMostTasks) {
    return Rejected("it has " + std::to_string(tasks) + " tasks; at most " + std::to_string(kMostTasks) +
                    " are predicted");
  }
  Forecast out;
  sched::RunProfile fitted;
  double scale = 1;
  if (profile) {
    scale = InputScale(*profile, sizes);
    fitted = Fitted(*profile, sizes);
    out.basis = std::to_string(profile->runs) + (profile->runs == 1 ? " earlier run" : " earlier runs");
    if (std::abs(scale - 1) > .005) out.basis += ", its input is " + Times(scale) + " times that of the last one";
    out.basis += "; confidence " + Confidence(profile->runs, scale);
  } else {
    const bool reads = std::any_of(sizes.begin(), sizes.end(), [](const StageSize& z) { return z.input_bytes > 0; });
    out.guessed = true;
    const double rate = bytes_per_slot_second <= 0 ? kGuessedBytesPerSlotSecond : bytes_per_slot_second;
    fitted = Bound(graph, sizes, rate);
    out.basis =
        "no earlier run with this name and stages: a guess, perhaps off by several times, from the size of "
        "its input at " +
        HumanBytes(static_cast<uint64_t>(rate)) +
        (bytes_per_slot_second <= 0 ? "/s per slot" : "/s per slot, the rate of other jobs here");
    if (!reads)
      out.basis =
          "no earlier run with this name and stages, and no input: a guess, perhaps off by several times, from the "
          "number of its tasks";
  }
  sim::PredictOptions options;
  options.slots = sim::SlotsToPredict(slots);
  const double each = static_cast<double>(std::max<uint64_t>(1, tasks)) * static_cast<double>(options.slots.size());
  options.runs = static_cast<uint32_t>(std::clamp(kMostSimulatedTasks / each, double{kFewestRuns}, double{kRuns}));
  MR_ASSIGN_OR_RETURN(out.prediction, sim::Predict(fitted, options));
  out.prediction.scale = scale;
  return out;
}

}  // namespace mr::master
