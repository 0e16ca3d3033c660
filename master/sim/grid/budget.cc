#include "master/sim/grid/budget.h"

#include <cmath>

#include "master/sim/studies/report.h"

namespace mr::sim {

namespace {

constexpr double kTolerance = kEqualSlotTime / 2;  // the rest is for seeds that were not fitted
constexpr int kSteps = 10;                         // halves a budget of 1 down to kLeastBudget

bool Fits(double slot_time) { return std::abs(slot_time - 1) <= kTolerance; }

}  // namespace

bool HasBudget(const std::string& list) { return list.find(kBudgetMark) != std::string::npos; }

std::string WithBudget(const std::string& list, double budget) {
  constexpr size_t kLength = sizeof(kBudgetMark) - 1;
  std::string filled;
  size_t from = 0;
  for (size_t at = list.find(kBudgetMark); at != std::string::npos; at = list.find(kBudgetMark, from)) {
    filled += list.substr(from, at - from) + Printed("%.6g", budget);
    from = at + kLength;
  }
  return filled + list.substr(from);
}

Result<FittedBudget> FitBudget(const std::function<Result<double>(double budget)>& slot_time) {
  FittedBudget most{1, 0}, least{kLeastBudget, 0};
  MR_ASSIGN_OR_RETURN(least.slot_time, slot_time(kLeastBudget));
  if (least.slot_time > 1 + kTolerance) return least;
  MR_ASSIGN_OR_RETURN(most.slot_time, slot_time(1));
  if (most.slot_time < 1 || Fits(most.slot_time)) return most;
  if (Fits(least.slot_time)) return least;
  for (int step = 0; step < kSteps; ++step) {
    FittedBudget middle{(least.budget + most.budget) / 2, 0};
    MR_ASSIGN_OR_RETURN(middle.slot_time, slot_time(middle.budget));
    if (Fits(middle.slot_time)) return middle;
    (middle.slot_time < 1 ? least : most) = middle;
  }
  return 1 - least.slot_time < most.slot_time - 1 ? least : most;
}

}  // namespace mr::sim
