#include <map>

#include "master/sim/traces/rows.h"

namespace mr::sim {

namespace {

constexpr float kShortest = 1e-3f;

// Parses "J3_1_2": number 3, parents 1 and 2. Returns false for any other name.
bool DagName(std::string_view name, uint32_t* number, std::vector<uint32_t>* parents) {
  if (name.size() < 2 || name[0] < 'A' || name[0] > 'Z') return false;
  name.remove_prefix(1);
  for (bool first = true; !name.empty(); first = false) {
    uint32_t n = 0;
    const size_t stop = std::min(name.find('_'), name.size());
    if (!Rows::Parse(name.substr(0, stop), &n)) return false;
    if (first) *number = n;
    if (!first) parents->push_back(n);
    name.remove_prefix(stop);
    if (name.size() == 1) return false;
    if (!name.empty()) name.remove_prefix(1);
  }
  return true;
}

struct AlibabaJob {
  JobModel model;
  size_t line = 0;
  std::map<uint32_t, uint32_t> stage_of;       // stage of each number
  std::vector<std::vector<uint32_t>> parents;  // numbers, per stage
};

}  // namespace

Result<Trace> ParseAlibaba(const TraceText& file) {
  std::map<std::string, AlibabaJob> jobs;
  std::vector<std::string> order;
  uint64_t zero = 0;
  for (Rows row(file, ','); row.Next();) {
    double arrival = 0, duration = 0;
    uint32_t tasks = 0;
    if (row.size() != 7 || !row.GetSeconds(0, &arrival) || !row.GetSeconds(3, &duration) || !row.Get(6, &tasks) ||
        tasks == 0 || tasks > kMaxTraceTasks) {
      return row.Wrong(
          "not a task of Alibaba's trace: arrival, job, task, duration, cpu, memory, instances, with "
          "commas");
    }
    const auto [it, fresh] = jobs.try_emplace(row.Text(1));
    AlibabaJob& job = it->second;
    if (fresh) {
      order.push_back(it->first);
      job.model.submit = arrival;
      job.model.name = it->first;
    }
    job.model.submit = std::min(job.model.submit, arrival);
    StageModel stage;
    stage.name = row.Text(2);
    stage.tasks = tasks;
    if (duration < kShortest) ++zero, duration = kShortest;
    stage.durations = {static_cast<float>(duration)};
    uint32_t number = 0;
    std::vector<uint32_t> parents;
    if (DagName(row[2], &number, &parents)) {
      if (!job.stage_of.emplace(number, job.model.stages.size()).second) {
        return row.Wrong("job " + it->first + " has two tasks of number " + std::to_string(number));
      }
      if (row[2][0] != 'M') stage.kind = sched::SlotKind::kReduce;
    } else if (row[2].substr(0, 5) != "task_") {
      return row.Wrong("'" + row.Text(2) +
                       "' names no task: a letter, its number, those it waits for (J3_1_2), or task_...");
    }
    job.model.stages.push_back(std::move(stage));
    job.parents.push_back(std::move(parents));
  }
  Trace trace;
  for (const std::string& name : order) {
    AlibabaJob& job = jobs.at(name);
    const std::string where = file.name + ": job " + name;
    for (size_t s = 0; s < job.parents.size(); ++s) {
      for (const uint32_t parent : job.parents[s]) {
        const auto up = job.stage_of.find(parent);
        if (up == job.stage_of.end() || up->second == s) {
          return InvalidArgument(where + ": " + job.model.stages[s].name + " waits for task " + std::to_string(parent) +
                                 ", which " + (up == job.stage_of.end() ? "is not there" : "is itself"));
        }
        job.model.stages[s].inputs.push_back(EdgeFrom(up->second));
      }
      if (job.parents[s].empty()) job.model.stages[s].inputs.push_back({});
    }
    MR_RETURN_IF_ERROR(OrderStages(where, &job.model.stages));
    trace.jobs.push_back(std::move(job.model));
  }
  MR_RETURN_IF_ERROR(SortJobs(file.name, &trace.jobs));
  if (zero > 0) trace.notes.push_back(std::to_string(zero) + " tasks of no duration take a millisecond");
  return trace;
}

}  // namespace mr::sim
