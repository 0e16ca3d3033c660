// Runs the plan function of a job for the host, through the C table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/abi/operator_table.h"
#include "paceline/plan.h"

namespace mr {

// Turns the arguments of a job into its plan. Errors: any exception; its text is shown to the user. A JobError other
// than PlanError refuses the arguments: it is no fault of the plan if they are missing.
using PlanFunction = void (*)(const std::vector<std::string>& args, JobPlan& plan);

namespace sdk {

// Runs the plan function on the host's arguments. Returns mr_plan_result; writes the plan document, or the error.
int RunPlanFunction(PlanFunction function, const mr_plan_args* sized, mr_sink plan, mr_sink error) noexcept;
// The same for a host that knows no input sizes.
int RunPlanFunction(PlanFunction function, uint32_t argc, const mr_bytes* argv, mr_sink plan, mr_sink error) noexcept;

// The entries of the C table.
template <PlanFunction kPlan>
int RunSizedPlan(const mr_plan_args* sized, mr_sink plan, mr_sink error) noexcept {
  return RunPlanFunction(kPlan, sized, plan, error);
}
template <PlanFunction kPlan>
int RunPlan(uint32_t argc, const mr_bytes* argv, mr_sink plan, mr_sink error) noexcept {
  return RunPlanFunction(kPlan, argc, argv, plan, error);
}

}  // namespace sdk
}  // namespace mr

#ifndef PACELINE_COMPILED
#include "paceline/run_plan_inl.h"
#endif
