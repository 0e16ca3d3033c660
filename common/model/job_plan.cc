#include "common/model/job_plan.h"

#include <utility>

namespace mr {

PlannedInputs InputsOf(const JobPlan& plan) {
  PlannedInputs inputs{plan.pin, plan.view, plan.files, {}};
  for (const StagePlan& stage : plan.stages) {
    auto& of_splits = inputs.of_splits.emplace_back();
    for (const Split& split : stage.splits) of_splits.push_back(split.file);
  }
  return inputs;
}

bool TakeInputs(PlannedInputs inputs, JobPlan* plan) {
  if (inputs.of_splits.size() != plan->stages.size()) return false;
  for (size_t s = 0; s < plan->stages.size(); ++s) {
    auto& splits = plan->stages[s].splits;
    const auto& files = inputs.of_splits[s];
    if (files.size() != splits.size()) return false;
    for (size_t i = 0; i < splits.size(); ++i) {
      if (files[i] != Split::kNoFile && files[i] >= inputs.files.size()) return false;
      splits[i].file = files[i];
    }
  }
  plan->pin = inputs.pin;
  plan->view = inputs.view;
  plan->files = std::move(inputs.files);
  return true;
}

void FillSplits(JobPlan* plan) {
  for (StagePlan& stage : plan->stages) {
    stage.first_split.clear();
    for (uint32_t i = 0; i < stage.splits.size(); ++i) {
      if (!stage.splits[i].joined()) stage.first_split.push_back(i);
    }
    if (!stage.splits.empty()) stage.first_split.push_back(static_cast<uint32_t>(stage.splits.size()));
  }
}

}  // namespace mr
