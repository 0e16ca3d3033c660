#include <algorithm>
#include <map>

#include "master/sim/traces/rows.h"

namespace mr::sim {

namespace {

// Columns of the table of tasks.
struct BdbColumn {
  enum : size_t { kRun, kStage, kTid, kType, kStatus, kStart = 7, kFinish, kWritten = 10, kInput = 19, kAll = 24 };
};

constexpr int64_t kLastMs = 1'000'000'000'000'000;  // the year 33,658: larger times are damage

struct BdbTask {
  float seconds = 0;
  uint64_t input = 0, output = 0;
};

struct BdbStage {
  uint32_t number = 0, tasks = 0;
  std::vector<uint32_t> parents;     // numbers
  std::map<uint64_t, BdbTask> done;  // keyed by tid: Spark counts it up at each launch
};

struct BdbRun {
  std::string name;
  std::vector<BdbStage> stages;
  std::map<uint32_t, uint32_t> stage_of;  // stage of each number
  int64_t start = kLastMs, finish = 0;    // ms, of all tasks
};

struct BdbRuns {
  std::vector<BdbRun> all;  // in the order of the table of stages
  std::map<std::string, size_t, std::less<>> number_of;
  uint64_t failed = 0;  // attempts
};

// Parses "9,8"; "-" is no parent.
bool ParseParents(std::string_view field, std::vector<uint32_t>* parents) {
  if (field == "-") return true;
  while (true) {
    const size_t stop = field.find(',');
    if (!Rows::Parse(field.substr(0, stop), &parents->emplace_back())) return false;
    if (stop == std::string_view::npos) return true;
    field.remove_prefix(stop + 1);
  }
}

Status ReadBdbStages(const TraceText& file, BdbRuns* runs) {
  for (Rows row(file, '\t'); row.Next();) {
    BdbStage stage;
    if (row.size() != 6 || !row.Get(1, &stage.number) || !ParseParents(row[2], &stage.parents) ||
        !row.Get(3, &stage.tasks) || stage.tasks == 0 || stage.tasks > kMaxTraceTasks) {
      return row.Wrong(
          "not a stage of the Big Data Benchmark: run, stage, parents (9,8 or -), tasks, submitted, completed, with "
          "tabs");
    }
    const auto [it, added] = runs->number_of.emplace(row.Text(0), runs->all.size());
    if (added) runs->all.emplace_back().name = it->first;
    BdbRun& run = runs->all[it->second];
    if (!run.stage_of.emplace(stage.number, run.stages.size()).second) {
      return row.Wrong("run " + run.name + " has two stages of number " + std::to_string(stage.number));
    }
    run.stages.push_back(std::move(stage));
  }
  return Status::Ok();
}

// Parses a number of bytes; "-" is 0: not recorded.
bool ParseBytes(const Rows& row, size_t column, uint64_t* bytes) {
  return row[column] == "-" || row.Get(column, bytes);
}

// Reads the row of an attempt that succeeded.
Status ReadBdbTask(const Rows& row, uint64_t tid, BdbRun* run, BdbStage* stage) {
  BdbTask task;
  int64_t start = 0, finish = 0;
  if (!row.Get(BdbColumn::kStart, &start) || !row.Get(BdbColumn::kFinish, &finish) || start <= 0 || finish < start ||
      finish > kLastMs) {
    return row.Wrong("task " + std::to_string(tid) + " starts at " + row.Text(BdbColumn::kStart) + " ms and ends at " +
                     row.Text(BdbColumn::kFinish) + " ms");
  }
  if (!ParseBytes(row, BdbColumn::kInput, &task.input) || !ParseBytes(row, BdbColumn::kWritten, &task.output)) {
    return row.Wrong("the input or the shuffle output of task " + std::to_string(tid) + " is no number of bytes");
  }
  // The run time is shorter: it lacks the launch and the return of the result, which keep the slot as well.
  task.seconds = static_cast<float>(static_cast<double>(finish - start) * 1e-3);
  if (!stage->done.emplace(tid, task).second) return row.Wrong("task " + std::to_string(tid) + " is there twice");
  run->start = std::min(run->start, start);
  run->finish = std::max(run->finish, finish);
  return Status::Ok();
}

Status ReadBdbTasks(const TraceText& file, const std::string& stages, BdbRuns* runs) {
  for (Rows row(file, '\t'); row.Next();) {
    uint32_t number = 0;
    uint64_t tid = 0;
    if (row.size() != BdbColumn::kAll || !row.Get(BdbColumn::kStage, &number) || !row.Get(BdbColumn::kTid, &tid)) {
      return row.Wrong("not a task of the Big Data Benchmark: " + std::to_string(BdbColumn::kAll) +
                       " columns with tabs: run, stage, tid and so on");
    }
    const auto found = runs->number_of.find(row[BdbColumn::kRun]);
    BdbRun* run = found == runs->number_of.end() ? nullptr : &runs->all[found->second];
    if (run == nullptr || run->stage_of.count(number) == 0) {
      return row.Wrong("stage " + std::to_string(number) + " of run " + row.Text(BdbColumn::kRun) + " is not in " +
                       stages);
    }
    BdbStage& stage = run->stages[run->stage_of.at(number)];
    if (row[BdbColumn::kType] != "SHUFFLE_MAP_TASK" && row[BdbColumn::kType] != "RESULT_TASK") {
      return row.Wrong("'" + row.Text(BdbColumn::kType) + "' is no type of task");
    }
    const std::string_view status = row[BdbColumn::kStatus];
    if (status == "SUCCESS") {
      MR_RETURN_IF_ERROR(ReadBdbTask(row, tid, run, &stage));
    } else if (status == "FAILURE" || status == "FETCHFAILED") {
      ++runs->failed;
    } else if (status == "RESUBMITTED") {
      // The output of this success was lost. The task ran again under another tid, and that success counts.
      stage.done.erase(tid);
      ++runs->failed;
    } else {
      return row.Wrong("'" + std::string(status) + "' is no status of a task");
    }
  }
  return Status::Ok();
}

StageModel ModelOfStage(const BdbStage& stage) {
  StageModel model;
  model.name = "stage" + std::to_string(stage.number);
  model.kind = stage.parents.empty() ? sched::SlotKind::kMap : sched::SlotKind::kReduce;
  model.tasks = stage.tasks;
  for (const auto& [tid, task] : stage.done) {
    model.durations.push_back(task.seconds);
    model.task_bytes.push_back(task.input);
    model.bytes += task.input;
    model.output_bytes += task.output;
  }
  // With parents, the input of a task is more than the recorded bytes.
  if (model.bytes == 0 || !stage.parents.empty()) model.task_bytes.clear();
  return model;
}

// Returns the stages of a run, each behind its parents.
Result<std::vector<StageModel>> StagesOfRun(const BdbRun& run, const std::string& tasks, const std::string& stages) {
  std::vector<StageModel> models;
  for (const BdbStage& stage : run.stages) {
    if (stage.done.size() != stage.tasks) {
      return InvalidArgument(tasks + ": run " + run.name + ": " + std::to_string(stage.done.size()) +
                             " tasks of stage " + std::to_string(stage.number) + " succeeded, and " + stages +
                             " says " + std::to_string(stage.tasks));
    }
    models.push_back(ModelOfStage(stage));
  }
  const std::string where = stages + ": run " + run.name;
  for (size_t s = 0; s < models.size(); ++s) {
    if (run.stages[s].parents.empty()) models[s].inputs.push_back({});
    for (const uint32_t parent : run.stages[s].parents) {
      const auto up = run.stage_of.find(parent);
      if (up == run.stage_of.end()) {
        return InvalidArgument(where + ": " + models[s].name + " reads stage " + std::to_string(parent) +
                               ", which is not there");
      }
      models[s].inputs.push_back(EdgeFrom(up->second));
      // A shuffle is read whole. The recorded remote bytes lack the local ones, and those of a join's other input.
      models[s].bytes += models[up->second].output_bytes;
    }
  }
  MR_RETURN_IF_ERROR(OrderStages(where, &models));
  return models;
}

}  // namespace

Result<Trace> ParseBdb(const TraceText& tasks, const TraceText& stages) {
  BdbRuns runs;
  MR_RETURN_IF_ERROR(ReadBdbStages(stages, &runs));
  MR_RETURN_IF_ERROR(ReadBdbTasks(tasks, stages.name, &runs));
  Trace trace;
  double at = 0;
  uint64_t without = 0;
  for (const BdbRun& run : runs.all) {
    if (run.finish == 0) {  // a file with a part of the runs is read as well
      ++without;
      continue;
    }
    MR_ASSIGN_OR_RETURN(std::vector<StageModel> models, StagesOfRun(run, tasks.name, stages.name));
    trace.jobs.push_back({at, run.name, std::move(models)});
    at += static_cast<double>(run.finish - run.start) * 1e-3;
  }
  MR_RETURN_IF_ERROR(SortJobs(tasks.name, &trace.jobs));
  if (runs.failed > 0) trace.notes.push_back(std::to_string(runs.failed) + " failed attempts are not replayed");
  if (without > 0) trace.notes.push_back(std::to_string(without) + " runs without a success are left out");
  trace.notes.push_back("a run is submitted when the run before it would have ended; the recorded gaps are left out");
  return trace;
}

}  // namespace mr::sim
