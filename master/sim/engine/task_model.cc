#include "master/sim/engine/task_model.h"

#include <algorithm>
#include <cmath>

namespace mr::sim {

namespace {
constexpr double kTwoPi = 6.283185307179586;
}  // namespace

double Draw(const FactorModel& model, Rng rng) {
  if (model.none()) return 1;
  const double radius = std::sqrt(-2 * std::log(1 - rng.Uniform()));
  double factor = std::exp(model.sigma * radius * std::cos(kTwoPi * rng.Uniform()));
  if (rng.Uniform() < model.tail) factor *= std::min(rng.Pareto(2, model.tail_alpha), model.tail_cap);
  return factor;
}

TaskModel Steady(TaskModel m) {
  m.luck = m.skew = m.machine = {};
  m.startup_sigma = m.stall_every = 0;
  m.report_noise = m.report_lost = m.report_late = 0;
  return m;
}

std::vector<std::pair<std::string_view, double>> NumbersOf(TaskModel model) {
  std::vector<std::pair<std::string_view, double>> numbers;
  VisitNumbers(
      &model, [&](std::string_view name, auto& value, double, double) { numbers.emplace_back(name, AsNumber(value)); });
  return numbers;
}

TaskModel Exact() {
  TaskModel m = Steady({});
  m.launch_delay = m.kill_delay = Duration{};
  return m;
}

}  // namespace mr::sim
