#include "jobs/mrctl/step_plans.h"

#include <algorithm>
#include <utility>

#include "common/base/text.h"
#include "jobs/mrctl/argv_split.h"
#include "jobs/mrctl/chain.h"
#include "paceline/config.h"
#include "paceline/json_text.h"

namespace mr::ctl {
namespace {

// A plan of nothing but the operator and its config: mrtask asks the operator about it, the chain makes the rest.
Result<std::string> OperatorDocument(const JobStep& step) {
  Config config;
  for (const std::string& pair : step.config) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) return InvalidArgument("config takes a table of names and values");
    config.Set(pair.substr(0, equals), std::string_view(pair).substr(equals + 1));
  }
  return "{\"version\": 1, \"stages\": [{\"name\": \"" + JsonEscape(step.name) + "\", \"operator\": \"" + JsonEscape(step.op) +
         "\", \"config\": \"" + (step.config.empty() ? "" : sdk::Base64(config.Encode())) +
         "\", \"tasks\": " + std::to_string(step.tasks) + ", \"inputs\": [], \"ports\": []}]}";
}

bool Has(const LibraryInfo& info, const JobStep& step) {
  if (!step.job.empty()) {
    return std::any_of(info.jobs.begin(), info.jobs.end(), [&](const auto& job) { return job.name == step.job; });
  }
  return std::any_of(info.operators.begin(), info.operators.end(), [&](const auto& op) { return op.name == step.op; });
}

}  // namespace

Result<StepPlanning> StepPlanning::Start(std::vector<JobStep> steps, const std::string& own_library, std::string file) {
  StepPlanning planning;
  planning.file_ = std::move(file);
  LibraryInfo own;
  if (!own_library.empty()) {
    MR_ASSIGN_OR_RETURN(const std::string json, StartCheck(own_library).Finish());
    MR_ASSIGN_OR_RETURN(own, ParseLibraryInfo(json));
  }
  JobFileFaults faults;
  for (JobStep& step : steps) {
    const bool builtin = !Has(own, step);
    planning.uses_library_ |= !builtin;
    planning.builtin_.push_back(builtin && !own_library.empty());
    const std::string library = builtin ? BuiltinLibrary() : own_library;
    if (!step.job.empty()) {
      // A job that has a --format of its own decides what it makes of it, as on the command line.
      if (builtin && !step.format.empty() && BuiltinClaims(step.job, "--format")) {
        step.args.insert(step.args.begin(), {"--format", std::exchange(step.format, "")});
      }
      planning.runs_.push_back(StartPlan(library, step.job, step.args));
      continue;
    }
    auto document = OperatorDocument(step);
    if (!document.ok()) faults.Add(StepText(step.name) + document.status().message());
    planning.runs_.push_back(StartPlan(library, kPlanDocument, {document.ok() ? *document : ""}));
  }
  MR_RETURN_IF_ERROR(faults.ToStatus(planning.file_));
  planning.steps_ = std::move(steps);
  return planning;
}

Result<Plan> StepPlanning::Finish() {
  JobFileFaults faults;
  std::vector<PlannedStep> planned;
  for (size_t i = 0; i < steps_.size(); ++i) {
    auto json = runs_[i].Finish();
    if (!json.ok() && json.status().code() != Code::kInvalidArgument) return json.status();
    Result<Plan> plan = json.ok() ? ParsePlan(*json) : json.status();
    if (plan.ok()) {
      planned.push_back({steps_[i], *std::move(plan), builtin_[i]});
    } else {
      faults.Add(StepText(steps_[i].name) + plan.status().message());
    }
  }
  if (!faults.empty()) return faults.ToStatus(file_);
  Plan plan = ChainPlans(std::move(planned), &faults);
  if (!faults.empty()) return faults.ToStatus(file_);
  return plan;
}

}  // namespace mr::ctl
