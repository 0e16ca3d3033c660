#include <algorithm>
#include <map>

#include "master/sim/traces/rows.h"

namespace mr::sim {

namespace {

constexpr float kBriefest = 1e-3f;

struct WfTask {
  std::string id, category, machine;
  float seconds = 0;
  uint64_t in = 0, out = 0;
  std::vector<std::string> parent_names;
  std::vector<uint32_t> parents;
  uint32_t depth = 0, waits = 0;
};

struct WfRun {
  std::vector<WfTask> tasks;
  std::map<std::string, uint32_t> number_of;
};

// Sets depths: 0 without parents, else one more than the deepest parent. Returns false for a cycle.
bool SetDepths(std::vector<WfTask>* tasks) {
  std::vector<std::vector<uint32_t>> children(tasks->size());
  std::vector<uint32_t> open;
  for (uint32_t t = 0; t < tasks->size(); ++t) {
    WfTask& task = (*tasks)[t];
    task.waits = static_cast<uint32_t>(task.parents.size());
    for (const uint32_t p : task.parents) children[p].push_back(t);
    if (task.waits == 0) open.push_back(t);
  }
  for (size_t i = 0; i < open.size(); ++i) {
    for (const uint32_t c : children[open[i]]) {
      WfTask& child = (*tasks)[c];
      child.depth = std::max(child.depth, (*tasks)[open[i]].depth + 1);
      if (--child.waits == 0) open.push_back(c);
    }
  }
  return open.size() == tasks->size();
}

// Groups tasks into stages by depth and category. An edge is one-to-one where each task has a parent of its own, and
// the stage is in the order of these parents. Otherwise it is all-to-all.
std::vector<StageModel> StagesOf(const std::vector<WfTask>& tasks) {
  std::map<std::pair<uint32_t, std::string>, std::vector<uint32_t>> groups;
  for (uint32_t t = 0; t < tasks.size(); ++t) groups[{tasks[t].depth, tasks[t].category}].push_back(t);
  std::vector<StageModel> stages;
  std::vector<uint32_t> stage_of(tasks.size()), place(tasks.size());
  for (auto& [key, members] : groups) {
    const auto number = static_cast<uint32_t>(stages.size());
    std::map<uint32_t, std::map<uint32_t, uint32_t>> parent_in;  // upper stage -> member -> its only parent there
    std::map<uint32_t, uint64_t> edges;
    for (const uint32_t t : members) {
      for (const uint32_t p : tasks[t].parents) {
        parent_in[stage_of[p]][t] = p;
        ++edges[stage_of[p]];
      }
    }
    StageModel stage;
    stage.name = key.second;
    stage.kind = key.first == 0 ? sched::SlotKind::kMap : sched::SlotKind::kReduce;
    stage.tasks = static_cast<uint32_t>(members.size());
    bool paired = false;
    for (const auto& [upper, parents] : parent_in) {
      std::vector<uint32_t> used;
      for (const auto& [t, p] : parents) used.push_back(p);
      std::sort(used.begin(), used.end());
      const bool own = edges[upper] == members.size() && parents.size() == members.size() &&
                       stages[upper].tasks == members.size() &&
                       std::adjacent_find(used.begin(), used.end()) == used.end();
      if (own && !paired) {
        std::sort(members.begin(), members.end(),
                  [&, &by = parents](uint32_t x, uint32_t y) { return place[by.at(x)] < place[by.at(y)]; });
      }
      stage.inputs.push_back(EdgeFrom(upper, own && !paired ? sched::EdgeKind::kOneToOne : sched::EdgeKind::kAllToAll));
      paired = paired || own;
    }
    if (stage.inputs.empty()) stage.inputs.push_back({});
    for (uint32_t i = 0; i < members.size(); ++i) {
      const WfTask& task = tasks[members[i]];
      stage_of[members[i]] = number;
      place[members[i]] = i;
      stage.durations.push_back(std::max(task.seconds, kBriefest));
      stage.task_bytes.push_back(task.in);
      stage.bytes += task.in;
      stage.output_bytes += task.out;
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

void Observe(const std::string& run, const std::vector<WfTask>& tasks, Observations* observed) {
  const size_t dash = run.find_last_of('-');
  const bool numbered = dash != std::string::npos && run.find_first_not_of("0123456789", dash + 1) == std::string::npos;
  for (const WfTask& task : tasks) {
    ObservedStage& stage = observed->At(run, task.category + "@" + std::to_string(task.depth));
    stage.family = run.substr(0, run.find('-'));
    if (numbered) stage.workflow = run.substr(0, dash);
    stage.attempts.push_back({.task = task.id,
                              .worker = task.machine == "-" ? "" : task.machine,
                              .seconds = task.seconds,
                              .bytes = task.in});
  }
}

}  // namespace

Result<Trace> ParseWfInstances(const TraceText& file, const TraceText* runs, bool observe) {
  std::map<std::string, WfRun> all;
  std::vector<std::string> order;
  uint64_t brief = 0;
  for (Rows row(file, '\t'); row.Next();) {
    double seconds = 0;
    if (row.size() != 11 || !row.GetSeconds(3, &seconds)) {
      return row.Wrong(
          "not a task of WfInstances: run, id, category, run time s, machine, cores, bytes in, out, read, "
          "written, "
          "parents, with tabs");
    }
    if (all.count(row.Text(0)) == 0) order.push_back(row.Text(0));
    WfRun& run = all[row.Text(0)];
    if (!run.number_of.emplace(row.Text(1), run.tasks.size()).second) {
      return row.Wrong("task " + row.Text(1) + " is there twice");
    }
    WfTask task;
    task.id = row.Text(1);
    task.category = row.Text(2);
    task.machine = row.Text(4);
    task.seconds = static_cast<float>(seconds);
    brief += task.seconds < kBriefest;
    row.Get(6, &task.in);  // "-": not recorded
    row.Get(7, &task.out);
    for (std::string_view rest = row[10] == "-" ? std::string_view() : row[10]; !rest.empty();) {
      const size_t stop = std::min(rest.find(','), rest.size());
      task.parent_names.emplace_back(rest.substr(0, stop));
      rest.remove_prefix(std::min(stop + 1, rest.size()));
    }
    run.tasks.push_back(std::move(task));
  }
  std::map<std::string, std::pair<double, uint32_t>> recorded;  // run -> makespan, tasks
  if (runs != nullptr) {
    for (Rows row(*runs, '\t'); row.Next();) {
      double makespan = 0;
      uint32_t tasks = 0;
      if (!row.GetSeconds(1, &makespan) || !row.Get(3, &tasks)) {
        return row.Wrong("not a run of WfInstances: run, makespan s, date, tasks, machines");
      }
      recorded[row.Text(0)] = {makespan, tasks};
    }
  }
  Trace trace;
  Observations observed;
  double at = 0;
  for (const std::string& name : order) {
    WfRun& run = all.at(name);
    const std::string where = file.name + ": run " + name;
    for (WfTask& task : run.tasks) {
      for (const std::string& parent : task.parent_names) {
        const auto p = run.number_of.find(parent);
        if (p == run.number_of.end()) {
          return InvalidArgument(where + ": a task waits for " + parent + ", which is not there");
        }
        task.parents.push_back(p->second);
      }
    }
    if (!SetDepths(&run.tasks)) return InvalidArgument(where + ": its tasks wait for each other in a circle");
    const auto said = recorded.find(name);
    if (said != recorded.end() && said->second.second != run.tasks.size()) {
      return InvalidArgument(where + ": " + std::to_string(run.tasks.size()) + " tasks, and " + runs->name + " says " +
                             std::to_string(said->second.second));
    }
    if (observe) Observe(name, run.tasks, &observed);
    trace.jobs.push_back({at, name, StagesOf(run.tasks)});
    if (said != recorded.end()) at += said->second.first;
  }
  trace.observed = observed.Take();
  MR_RETURN_IF_ERROR(SortJobs(file.name, &trace.jobs));
  if (brief > 0) trace.notes.push_back(std::to_string(brief) + " tasks of less than a millisecond take one");
  return trace;
}

}  // namespace mr::sim
