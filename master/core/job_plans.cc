// Stages of jobs as the job table knows them, once their tasks are fixed.
#include <set>

#include "master/core/job_table.h"

namespace mr::master {
namespace {

// Returns the number of shared fat partitions as text, for a stage that may share them; else "".
std::string CutText(const JobView& job, uint32_t stage) {
  if (!job.spec.stages[stage].splits()) return "";
  std::set<uint32_t> seen, cut;
  const auto& slices = job.plan.stages[stage].slices;
  for (const auto& task : slices) {
    for (const Slice& slice : task) {
      if (!job.spec.stages[stage].inputs[slice.input].splits) continue;
      if (!seen.insert(slice.partition_begin).second) cut.insert(slice.partition_begin);
      break;
    }
  }
  if (cut.empty()) return "";
  std::string some;
  for (const uint32_t p : cut) {
    some += (some.empty() ? "" : ", ") + std::to_string(p);
    if (some.size() > 40) break;
  }
  return "stage '" + job.spec.stages[stage].name + "': " + std::to_string(cut.size()) + " of " +
         std::to_string(seen.size()) + " partitions are fat (" + some + "), so " +
         std::to_string(slices.size() - seen.size() + cut.size()) + " tasks share them";
}

}  // namespace

void JobTable::Planned(const sched::StagePlanned& e) {
  JobView* job = Find(e.job);
  if (job == nullptr || e.stage >= job->stages.size() || !e.error.empty()) return;
  StageView& stage = job->stages[e.stage];
  stage.planned = true;
  // Those of another release's plan may have been more.
  for (size_t t = e.tasks.size(); t < stage.tasks.size(); ++t) stage.done -= stage.tasks[t].committed ? 1 : 0;
  stage.tasks.resize(e.tasks.size());
  StagePlan& plan = job->plan.stages[e.stage];
  plan.tasks = static_cast<uint32_t>(e.tasks.size());
  plan.slices.clear();
  for (const sched::TaskPlan& task : e.tasks) plan.slices.push_back(task.slices);
  if (std::string text = CutText(*job, e.stage); !text.empty()) job->warnings.try_emplace(e.stage, std::move(text));
}

}  // namespace mr::master
