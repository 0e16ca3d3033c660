#include "jobs/mrctl/csv_stages.h"

#include <algorithm>

#include "common/abi/engine_operators.h"
#include "common/base/file_format.h"

namespace mr::ctl {
namespace {

bool SameFiles(const PlanInput& a, const PlanInput& b) {
  return a.uris == b.uris && a.max_split_bytes == b.max_split_bytes && (!a.uris.empty() || a.input == b.input);
}

bool HasStage(const Plan& plan, const std::string& name) {
  return std::any_of(plan.stages.begin(), plan.stages.end(),
                     [&](const PlanStage& stage) { return stage.name == name; });
}

// Returns whether reading `format` needs the stage: csv with quotes does.
bool HasQuotes(const std::string& format) {
  const auto dialect = ParseCsvFormat(format);
  return dialect && dialect->quotes;
}

PlanStage ReadQuotes(const PlanInput& files, const std::string& format, const Plan& plan, size_t number) {
  PlanStage stage;
  stage.name = "csv_quotes" + (number == 0 ? "" : "_" + std::to_string(number + 1));
  while (HasStage(plan, stage.name)) stage.name += "_";  // the plan or a step may use the name
  stage.op = kCsvQuotesOperator;
  stage.config = format;
  PlanInput input = files;
  input.format = "raw";
  input.sample_bytes = 0;
  stage.inputs.push_back(std::move(input));
  stage.ports.emplace_back();
  return stage;
}

}  // namespace

const std::string& FormatOf(const PlanInput& input, const std::string& format) {
  // The plan's own csv may have another separator.
  if (format == "csv" && ParseCsvFormat(input.format)) return input.format;
  return format.empty() || !input.uris.empty() || input.format == "raw" ? input.format : format;
}

Plan WithCsvStages(Plan plan, const std::string& format) {
  std::vector<PlanStage> counting;
  std::vector<std::vector<uint32_t>> read(plan.stages.size());  // by stage: indexes in `counting`
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    for (const PlanInput& input : plan.stages[s].inputs) {
      const std::string& read_as = FormatOf(input, format);
      if (!input.files || !HasQuotes(read_as)) continue;
      auto at = std::find_if(counting.begin(), counting.end(),
                             [&](const PlanStage& c) { return SameFiles(c.inputs[0], input) && c.config == read_as; });
      if (at == counting.end()) at = counting.insert(counting.end(), ReadQuotes(input, read_as, plan, counting.size()));
      read[s].push_back(static_cast<uint32_t>(at - counting.begin()));
    }
  }
  if (counting.empty()) return plan;
  plan.operator_flags[kCsvQuotesOperator] = kCsvQuotesFlags;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    for (PlanInput& input : plan.stages[s].inputs) {
      if (!input.files) input.from += static_cast<uint32_t>(counting.size());
    }
    // Appended after the operator's inputs, so that the operator does not see them.
    for (const uint32_t from : read[s]) {
      PlanInput edge;
      edge.kind = "broadcast";
      edge.from = from;
      edge.quotes = true;
      plan.stages[s].inputs.push_back(std::move(edge));
    }
  }
  plan.stages.insert(plan.stages.begin(), counting.begin(), counting.end());
  return plan;
}

}  // namespace mr::ctl
