#include "jobs/mrctl/type_check.h"

#include <algorithm>

namespace mr::ctl {
namespace {

// Returns whether the reader gets records as the operator emitted them, not as lines of files.
bool IsTyped(const PlanInput& input) { return !input.files && input.format.empty() && !input.quotes; }

}  // namespace

const OperatorTypes& Plan::TypesOf(const PlanStage& stage) const {
  static const OperatorTypes unknown;
  if (stage.types.has_value()) return *stage.types;
  const auto at = operator_types.find(stage.op);
  return at == operator_types.end() ? unknown : at->second;
}

std::vector<std::string> TypeFaults(const Plan& plan) {
  std::vector<std::string> faults;
  for (const PlanStage& stage : plan.stages) {
    for (uint32_t i = 0; i < stage.inputs.size(); ++i) {
      const PlanInput& input = stage.inputs[i];
      if (!IsTyped(input)) continue;
      const PlanStage& from = plan.stages[input.from];
      TypedEdge edge{from.name, plan.TypesOf(from), input.port, false, stage.name, plan.TypesOf(stage)};
      edge.combine = input.port < from.ports.size() && from.ports[input.port].combine;
      edge.input = i;
      edge.inputs = static_cast<uint32_t>(stage.inputs.size());
      edge.grouped = input.grouped;
      std::string fault = EdgeFault(edge);
      if (!fault.empty() && std::find(faults.begin(), faults.end(), fault) == faults.end())
        faults.push_back(std::move(fault));
    }
  }
  return faults;
}

Status CheckTypes(const Plan& plan) {
  std::string text;
  for (const std::string& fault : TypeFaults(plan)) text += (text.empty() ? "" : "\n  ") + fault;
  return text.empty() ? Status::Ok() : InvalidArgument(text);
}

std::string TypeListText(const std::vector<RecordType>& types) {
  std::string text;
  for (const RecordType& type : types) {
    if (!text.empty()) text += "; ";
    text += type.known() ? type.key + ", " + type.value : std::string(kUnknownType);
  }
  return text.empty() ? kUnknownType : text;
}

}  // namespace mr::ctl
