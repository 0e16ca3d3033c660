// The budget with which one list of policies takes as much slot time as another: lists that pay with slot time are
// comparable only if they pay the same. Pure.
#pragma once

#include <functional>
#include <string>

#include "common/base/status.h"

namespace mr::sim {

// Stands for the budget in a list, such as "fair,dolly(beta={budget})".
inline constexpr char kBudgetMark[] = "{budget}";

bool HasBudget(const std::string& list);
// Returns the list with `budget` in place of each mark.
std::string WithBudget(const std::string& list, double budget);

struct FittedBudget {
  double budget = 0;     // 0 to 1
  double slot_time = 0;  // of the list with it, over that of the other list
};

// Returns the budget in [0, 1] for which `slot_time(budget)`, which should not fall with it, is within .5 % of 1. If
// even 1 takes less, returns 1; if even 0 takes more, 0. If slot time jumps over 1, it returns the side that is nearer.
// Calls slot_time up to 12 times. Errors: those of slot_time.
Result<FittedBudget> FitBudget(const std::function<Result<double>(double budget)>& slot_time);

}  // namespace mr::sim
