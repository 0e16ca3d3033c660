#include "jobs/mrctl/type_check.h"

#include <algorithm>

namespace mr::ctl {
namespace {

// Returns whether the reader gets records as the operator emitted them, not as lines of files.
bool IsTyped(const PlanInput& input) { return !input.files && input.format.empty() && !input.quotes; }

// Returns whether files of this format consist of lines. A suffix names the compression.
bool HasLines(const std::string& format) { return format.starts_with("text") || format.starts_with("csv"); }

// Returns whether the bytes of a type are those of its text, or unknown.
bool IsLineText(const std::string& tag) { return tag == "str" || tag == "none" || tag == kUnknownType; }

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

std::vector<std::string> BinaryLines(const Plan& plan, const std::string& output_format) {
  std::vector<std::string> warnings;
  for (const PlanStage& stage : plan.stages) {
    for (uint32_t p = 0; p < stage.ports.size(); ++p) {
      const PlanPort& port = stage.ports[p];
      const bool replaced = port.name.empty() && !output_format.empty();
      if (!port.files || !HasLines(replaced ? output_format : port.format)) continue;
      const RecordType type = plan.TypesOf(stage).Port(p);
      if (IsLineText(type.key) && IsLineText(type.value)) continue;
      warnings.push_back("stage '" + stage.name + "' writes " + TypeText(type) +
                         " to a file of lines: their bytes are binary, not text. Let the operator emit mr::Text, or " +
                         "write another format: --output-format record");
    }
  }
  return warnings;
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
