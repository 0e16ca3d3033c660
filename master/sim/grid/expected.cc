#include "master/sim/grid/expected.h"

#include <algorithm>
#include <cmath>

namespace mr::sim {

namespace {
constexpr double kTailFrom = 2;  // where a tail begins (FactorModel)
}  // namespace

double MeanFactor(const FactorModel& m) {
  const double body = std::exp(m.sigma * m.sigma / 2);
  double tail = m.tail_cap;
  if (m.tail_cap > kTailFrom) {
    const double a = m.tail_alpha, over = m.tail_cap / kTailFrom;
    tail = kTailFrom * (1 + (a == 1 ? std::log(over) : (std::pow(over, 1 - a) - 1) / (1 - a)));
  }
  return body * (1 - m.tail + m.tail * tail);
}

double ExpectedSeconds(const StageModel& stage, const TaskModel& m, const Surroundings& around) {
  const double machine = MeanFactor(m.machine);
  if (!stage.durations.empty()) {
    double sum = 0;
    for (const float seconds : stage.durations) sum += seconds;
    return sum / static_cast<double>(stage.durations.size()) * machine + m.launch_delay.seconds();
  }
  const double factor = machine * MeanFactor(m.luck) * MeanFactor(m.skew);
  const double disk = around.disk / around.neighbours, network = around.network / around.neighbours;
  const double bytes = static_cast<double>(stage.bytes) / stage.tasks;
  const double out = static_cast<double>(stage.output_bytes) / stage.tasks;
  double seconds = m.launch_delay.seconds() + m.startup * machine;
  const bool reads_stage = !stage.inputs.empty() && stage.inputs[0].is_edge;
  if (!reads_stage) {
    return seconds + std::max(bytes * m.map_cost * factor, (bytes * m.read_disk + out * m.map_disk) / disk);
  }
  seconds += std::max(bytes / network, bytes * (m.copy_disk + m.serve_disk) / disk);
  seconds += std::max(bytes * m.sort_cost * factor, bytes * m.sort_disk / disk);
  return seconds + std::max(bytes * m.reduce_cost * factor, (bytes * m.reduce_disk + out * m.output_disk) / disk);
}

double ExpectedSlotSeconds(const JobModel& job, const TaskModel& tasks, const Surroundings& around) {
  double sum = 0;
  for (const StageModel& stage : job.stages) sum += stage.tasks * ExpectedSeconds(stage, tasks, around);
  return sum;
}

}  // namespace mr::sim
