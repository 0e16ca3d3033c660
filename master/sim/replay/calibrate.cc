// Derives the model's parameters from a history, for runs of other workloads on the same cluster.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/base/text.h"
#include "master/sim/replay/history_model.h"

namespace mr::sim {

namespace {

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

constexpr double kMadToSigmaOfNormal = 1.4826;
// An attempt of fewer bytes takes its time for starting, not for its bytes (a guess).
constexpr uint64_t kLeastBytes = 64 << 10;

}  // namespace

std::string CalibrationToml(const HistoryModel& model) {
  const Experiment& e = model.as_it_was;
  std::vector<double> map_cost, reduce_cost, spread;
  for (const JobModel& job : e.jobs) {
    for (const StageModel& stage : job.stages) {
      std::vector<double> seconds;
      const bool edges =
          std::any_of(stage.inputs.begin(), stage.inputs.end(), [](const auto& in) { return in.is_edge; });
      for (uint32_t t = 0; t < stage.tasks && t < stage.durations.size(); ++t) {
        seconds.push_back(stage.durations[t]);
        if (stage.task_bytes[t] < kLeastBytes) continue;
        (edges ? reduce_cost : map_cost).push_back(stage.durations[t] / static_cast<double>(stage.task_bytes[t]));
      }
      const double median = MedianOf(seconds);
      for (const double s : seconds) {
        if (median > 0 && s > 0 && seconds.size() > 2) spread.push_back(std::abs(std::log(s / median)));
      }
    }
  }
  const TaskModel standard;
  char text[1024];
  std::snprintf(text, sizeof text,
                "# From %zu jobs of a history. mrsim run --model FILE\n[task]\n"
                "map_cost = %.6g      # seconds per byte at speed 1, of %zu attempts%s\n"
                "reduce_cost = %.6g   # of %zu attempts, merge and copy included%s\n"
                "sort_cost = 1e-15\nsigma = %.4g          # of log durations within a stage\ntail = 0.0\n"
                "launch_delay = %.6g  # seconds\nreport_period = %.6g\n",
                e.jobs.size(), map_cost.empty() ? standard.map_cost : MedianOf(map_cost), map_cost.size(),
                map_cost.empty() ? ": the default" : "",
                reduce_cost.empty() ? standard.reduce_cost : MedianOf(reduce_cost), reduce_cost.size(),
                reduce_cost.empty() ? ": the default" : "", kMadToSigmaOfNormal * MedianOf(spread),
                e.tasks.launch_delay.seconds(), e.tasks.report_period.seconds());
  std::string out = text;
  for (size_t w = 0; w < e.cluster.workers.size(); ++w) {
    const WorkerSpec& spec = e.cluster.workers[w];
    std::snprintf(text, sizeof text, "[[worker]]  # %s\nslots = %u\nmap_slots = %u\nreduce_slots = %u\nspeed = %.4g\n",
                  Name(model.workers[w]).c_str(), spec.slots.total, spec.slots.map, spec.slots.reduce, spec.speed);
    out += text;
    if (const std::string& rack = e.cluster.racks[spec.rack].name; !rack.empty()) {
      out += "rack = \"" + JsonEscape(rack) + "\"\n";
    }
  }
  return out;
}

}  // namespace mr::sim
