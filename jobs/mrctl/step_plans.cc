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

// Returns a plan of only the operator and its config. mrtask checks these; the chain makes the rest.
Result<std::string> OperatorDocument(const JobStep& step) {
  Config config;
  for (const std::string& pair : step.config) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) return InvalidArgument("config takes a table of names and values");
    config.Set(pair.substr(0, equals), std::string_view(pair).substr(equals + 1));
  }
  return "{\"version\": 1, \"stages\": [{\"name\": \"" + JsonEscape(step.name) + "\", \"operator\": \"" +
         JsonEscape(step.op) + "\", \"config\": \"" + (step.config.empty() ? "" : sdk::Base64(config.Encode())) +
         "\", \"tasks\": " + std::to_string(step.tasks) + ", \"inputs\": [], \"ports\": []}]}";
}

bool Has(const LibraryInfo& info, const JobStep& step) {
  if (!step.job.empty()) {
    return std::any_of(info.jobs.begin(), info.jobs.end(), [&](const auto& job) { return job.name == step.job; });
  }
  return std::any_of(info.operators.begin(), info.operators.end(), [&](const auto& op) { return op.name == step.op; });
}

}  // namespace

void StepPlanning::Ask(Planned* planned, const PlanSizes& sizes) {
  planned->run.emplace(StartPlan(planned->library, planned->job, planned->args, sizes));
}

Result<StepPlanning> StepPlanning::Start(std::vector<JobStep> steps, const std::string& own_library, std::string file,
                                         const PlanSizes& sizes) {
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
    Planned& planned = planning.steps_.emplace_back();
    planned.builtin = builtin && !own_library.empty();
    planned.library = builtin ? BuiltinLibrary() : own_library;
    if (!step.job.empty()) {
      // A job that claims --format gets the option, as on the command line.
      if (builtin && !step.format.empty() && BuiltinClaims(step.job, "--format")) {
        step.args.insert(step.args.begin(), {"--format", std::exchange(step.format, "")});
      }
      planned.job = step.job;
      planned.args = step.args;
    } else {
      auto document = OperatorDocument(step);
      if (!document.ok()) faults.Add(StepText(step.name) + document.status().message());
      planned.job = kPlanDocument;
      planned.args = {document.ok() ? *document : ""};
    }
    planned.step = std::move(step);
    Ask(&planned, sizes);
  }
  MR_RETURN_IF_ERROR(faults.ToStatus(planning.file_));
  return planning;
}

void StepPlanning::Again(const PlanSizes& sizes) {
  for (Planned& planned : steps_) {
    const auto& wants = planned.plan.wants_bytes;
    const bool told =
        std::any_of(wants.begin(), wants.end(), [&](const auto& uri) { return sizes.bytes.contains(uri); });
    if (told) Ask(&planned, sizes);
  }
}

Result<Plan> StepPlanning::Finish() {
  JobFileFaults faults;
  std::vector<PlannedStep> plans;
  std::vector<std::string> notes, wants;
  for (Planned& planned : steps_) {
    const std::string who = StepText(planned.step.name);
    if (planned.run.has_value()) {
      auto json = planned.run->Finish();
      planned.run.reset();
      if (!json.ok() && json.status().code() != Code::kInvalidArgument) return json.status();
      Result<Plan> plan = json.ok() ? ParsePlan(*json) : json.status();
      if (!plan.ok()) {
        faults.Add(who + plan.status().message());
        continue;
      }
      planned.plan = *std::move(plan);
    }
    for (const std::string& note : planned.plan.notes) notes.push_back(who + note);
    for (const std::string& uri : planned.plan.wants_bytes) {
      if (!IsStepRef(uri)) wants.push_back(uri);
    }
    plans.push_back({planned.step, planned.plan, planned.builtin});
  }
  if (!faults.empty()) return faults.ToStatus(file_);
  Plan plan = ChainPlans(std::move(plans), &faults);
  if (!faults.empty()) return faults.ToStatus(file_);
  plan.notes = std::move(notes);
  plan.wants_bytes = std::move(wants);
  return plan;
}

}  // namespace mr::ctl
