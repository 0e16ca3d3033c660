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

inline constexpr double kLeastBudget = .001;  // not 0, which means `no limit` to some parameters

struct FittedBudget {
  double budget = 0;     // kLeastBudget to 1
  double slot_time = 0;  // of the list with it, over that of the other list
};

// The acceptance's limit: lists whose slot times differ by more are not compared at equal slot time.
inline constexpr double kEqualSlotTime = .01;

// Returns the budget from kLeastBudget to 1 for which `slot_time(budget)`, which should not fall with it, is within
// half of kEqualSlotTime of 1. If even 1 takes less, returns 1; if even kLeastBudget takes more, that. If slot time
// jumps over 1, it returns the side that is nearer. Calls slot_time up to 12 times. Errors: those of slot_time.
Result<FittedBudget> FitBudget(const std::function<Result<double>(double budget)>& slot_time);

}  // namespace mr::sim
