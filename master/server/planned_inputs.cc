// The versions of input files beside a plan, as the journal and snapshots hold them.
#include <algorithm>

#include "master/server/records.h"

namespace mr::master {

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

std::string EncodeSubmit(const SubmitExtra& extra) { return EncodeFields(extra) + EncodeFields(InputsOf(extra.plan)); }

bool DecodeSubmit(std::string_view bytes, SubmitExtra* out) {
  FieldReader reader(bytes);
  reader.Get(*out);
  if (!reader.ok()) return false;
  if (reader.AtEnd()) return true;
  PlannedInputs inputs;
  reader.Get(inputs);
  return reader.ok() && reader.AtEnd() && TakeInputs(std::move(inputs), &out->plan);
}

}  // namespace mr::master
