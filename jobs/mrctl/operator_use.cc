#include "jobs/mrctl/operator_use.h"

#include <algorithm>
#include <utility>

namespace mr::ctl {
namespace {

// Returns whether several tasks read this port of stage number `from`, each a partition of it.
bool IsPartitioned(const Plan& plan, uint32_t from, uint32_t port) {
  return std::any_of(plan.stages.begin(), plan.stages.end(), [&](const PlanStage& reader) {
    return reader.tasks != 1 && std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](const PlanInput& input) {
             return !input.files && input.from == from && input.port == port && input.kind == "all_to_all";
           });
  });
}

bool IsGrouped(const Plan& plan, uint32_t from, uint32_t port) {
  return std::any_of(plan.stages.begin(), plan.stages.end(), [&](const PlanStage& reader) {
    return std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](const PlanInput& input) {
      return !input.files && input.from == from && input.port == port && input.grouped;
    });
  });
}

}  // namespace

std::optional<OperatorCalls> Plan::CallsOf(const PlanStage& stage) const {
  if (stage.calls.has_value()) return stage.calls;
  const auto at = operator_calls.find(stage.op);
  return at == operator_calls.end() ? std::nullopt : std::optional(at->second);
}

std::vector<std::string> UseFaults(const Plan& plan) {
  std::vector<std::string> faults;
  const auto add = [&](std::string fault) {
    if (!fault.empty()) faults.push_back(std::move(fault));
  };
  for (const PlanStage& stage : plan.stages) {
    const auto calls = plan.CallsOf(stage);
    if (!calls.has_value()) continue;
    for (uint32_t p = 0; p < stage.ports.size(); ++p) {
      const PlanPort& port = stage.ports[p];
      add(PortFault({stage.name, stage.op, *calls, p, port.combine, port.custom_partition}));
    }
    std::vector<InputUse> uses;
    for (uint32_t i = 0; i < stage.inputs.size(); ++i) {
      const PlanInput& input = stage.inputs[i];
      InputUse use{stage.name, stage.op, *calls, stage.tasks, i, static_cast<uint32_t>(stage.inputs.size())};
      use.grouped = input.grouped;
      if (!input.files) {
        const PlanStage& from = plan.stages[input.from];
        use.all_to_all = input.kind == "all_to_all";
        use.writer = from.name;
        use.writer_op = from.op;
        use.writes = plan.CallsOf(from).value_or(OperatorCalls());
        use.port = input.port;
        use.custom_partition = input.port < from.ports.size() && from.ports[input.port].custom_partition;
      }
      add(InputFault(use));
      uses.push_back(std::move(use));
    }
    add(PartitionFault(uses));
  }
  return faults;
}

Status CheckUse(const Plan& plan) {
  std::string text;
  for (const std::string& fault : UseFaults(plan)) text += (text.empty() ? "" : "\n  ") + fault;
  return text.empty() ? Status::Ok() : InvalidArgument(text);
}

std::vector<std::string> UnusedFunctions(const Plan& plan) {
  std::vector<std::string> texts;
  for (uint32_t s = 0; s < plan.stages.size(); ++s) {
    const PlanStage& stage = plan.stages[s];
    const OperatorCalls calls = plan.CallsOf(stage).value_or(OperatorCalls());
    bool partitions = false, combines = false, partitioned = false, grouped = false;
    for (uint32_t p = 0; p < stage.ports.size(); ++p) {
      partitions |= stage.ports[p].custom_partition;
      combines |= stage.ports[p].combine;
      partitioned |= IsPartitioned(plan, s, p);
      grouped |= IsGrouped(plan, s, p);
    }
    const std::string who = "stage '" + stage.name + "' does not use the ";
    if (calls.partition && !partitions && partitioned) {
      texts.push_back("warning: " + who + "partitioner of its operator '" + stage.op +
                      "': its records are spread by a hash of the whole key. Set `custom_partition` for the port, as "
                      "in Shuffle({.custom_partition = true})");
    }
    if (calls.combine && !combines && grouped) {
      texts.push_back("note: " + who + "combiner of its operator '" + stage.op +
                      "', so it shuffles more records: set `combine` for the port, as in Shuffle({.combine = true})");
    }
  }
  return texts;
}

}  // namespace mr::ctl
