#include <algorithm>
#include <map>
#include <optional>

#include "master/sim/traces/rows.h"

namespace mr::sim {

namespace {

constexpr size_t kJobColumns = 9, kAttemptColumns = 23;
// Columns of the table of attempts.
enum : size_t {
  kKind = 2,
  kNumber,
  kResult,
  kStart,
  kFinish,
  kNode = 8,
  kShuffled,
  kSorted,
  kRead,
  kWritten,
  kMapOutput = 16,
  kShuffle = 18,
  kNodes = 22
};

struct RumenTask {
  std::optional<int64_t> finish;  // end of the success that counts, in ms
  float seconds = 0;
  PhaseShares shares;
  uint64_t input = 0, output = 0;
  std::vector<uint32_t> nodes;
};

struct RumenJob {
  JobModel model;
  std::map<std::string, RumenTask> tasks[2];  // maps, reduces; keyed by name
};

struct Counts {
  uint64_t failed = 0, killed = 0, backwards = 0, zero = 0, without = 0, empty = 0;
};

// Numbers the nodes: first in the topology's order, then new ones as they come.
struct Nodes {
  std::map<std::string, uint32_t, std::less<>> numbers;
  uint32_t Of(std::string_view name) {
    return numbers.emplace(std::string(name), static_cast<uint32_t>(numbers.size())).first->second;
  }
};

uint64_t BytesAt(const Rows& row, size_t column) {
  int64_t n = 0;
  return row.Get(column, &n) && n > 0 ? static_cast<uint64_t>(n) : 0;
}

PhaseShares SharesOf(const Rows& row, int64_t start, int64_t finish) {
  int64_t shuffled = 0, sorted = 0;
  if (!row.Get(kShuffled, &shuffled) || !row.Get(kSorted, &sorted) || finish <= start) return {};
  // The times must be in order on one clock. Otherwise all time counts as reduce.
  if (shuffled < start || sorted < shuffled || finish < sorted) return {};
  const auto whole = static_cast<float>(finish - start);
  return {static_cast<float>(shuffled - start) / whole, static_cast<float>(sorted - shuffled) / whole};
}

Status ReadJobs(const TraceText& file, std::map<std::string, RumenJob>* jobs, std::vector<std::string>* order) {
  for (Rows row(file, '\t'); row.Next();) {
    int64_t submit = 0;
    if (row.size() != kJobColumns || !row.Get(4, &submit) || submit < 0) {
      return row.Wrong(
          "not a job of Rumen: id, user, priority, outcome, submit, launch, finish ms, maps, reduces, "
          "with tabs");
    }
    const auto [it, fresh] = jobs->try_emplace(row.Text(0));
    if (!fresh) return row.Wrong("job " + it->first + " is there twice");
    it->second.model.name = it->first;
    it->second.model.submit = static_cast<double>(submit) * 1e-3;
    order->push_back(it->first);
  }
  return Status::Ok();
}

// Attempts of SETUP create a directory and little else. Those of CLEANUP delete a job's files, which is work.
void Observe(const Rows& row, ObservedEnd end, bool timed, int64_t start, int64_t finish, Observations* observed) {
  const std::string_view kind = row[kKind];
  if (kind == "CLEANUP") return;
  ObservedAttempt attempt{row.Text(1), row.Text(kNode)};
  row.Get(kNumber, &attempt.number);
  if (timed) {
    attempt.start = static_cast<double>(start) * 1e-3;
    attempt.seconds = static_cast<double>(finish - start) * 1e-3;
  }
  attempt.bytes = BytesAt(row, kind == "M" ? kRead : kShuffle);
  attempt.end = end;
  const bool setup = kind == "SETUP";
  observed
      ->At(row.Text(0),
           setup         ? "setup"
           : kind == "M" ? "map"
                         : "reduce",
           setup ? ObservedKind::kNoWork : ObservedKind::kUsual)
      .attempts.push_back(std::move(attempt));
}

// observed: null unless asked for.
Status ReadAttempts(const TraceText& file, Nodes* nodes, std::map<std::string, RumenJob>* jobs, Counts* counts,
                    Observations* observed) {
  for (Rows row(file, '\t'); row.Next();) {
    int64_t start = 0, finish = 0;
    if (row.size() != kAttemptColumns || !row.Get(kStart, &start) || !row.Get(kFinish, &finish)) {
      return row.Wrong("not an attempt of Rumen: " + std::to_string(kAttemptColumns) +
                       " columns with tabs, as its first line says");
    }
    const auto job = jobs->find(row.Text(0));
    if (job == jobs->end()) return row.Wrong("job " + row.Text(0) + " is not in the table of jobs");
    const std::string_view kind = row[kKind], result = row[kResult];
    if (kind != "M" && kind != "R" && kind != "SETUP" && kind != "CLEANUP") {
      return row.Wrong("'" + row.Text(kKind) + "' is no kind of attempt");
    }
    if (result != "SUCCESS" && result != "FAILED" && result != "KILLED") {
      return row.Wrong("'" + row.Text(kResult) + "' is no result");
    }
    const bool zero = start <= 0 || finish <= 0, backwards = !zero && finish < start;
    counts->zero += zero;
    counts->backwards += backwards;
    counts->failed += result == "FAILED";
    counts->killed += result == "KILLED";
    if (observed != nullptr) {
      const ObservedEnd end = result == "SUCCESS"  ? ObservedEnd::kSucceeded
                              : result == "FAILED" ? ObservedEnd::kFailed
                                                   : ObservedEnd::kKilled;
      Observe(row, end, !zero && !backwards, start, finish, observed);
    }
    if (kind.size() != 1) continue;
    RumenTask& task = job->second.tasks[kind == "R"][row.Text(1)];
    if (task.nodes.empty() && row[kNodes] != "-") {
      for (std::string_view rest = row[kNodes]; !rest.empty();) {
        const size_t stop = std::min(rest.find(','), rest.size());
        task.nodes.push_back(nodes->Of(rest.substr(0, stop)));
        rest.remove_prefix(std::min(stop + 1, rest.size()));
      }
    }
    if (result != "SUCCESS" || zero || backwards || (task.finish && *task.finish <= finish)) continue;
    task.finish = finish;
    task.seconds = static_cast<float>(finish - start) * 1e-3f;
    task.shares = kind == "R" ? SharesOf(row, start, finish) : PhaseShares{};
    task.input = BytesAt(row, kind == "M" ? kRead : kShuffle);
    // Maps without reduces write files.
    task.output = BytesAt(row, kind == "M" && BytesAt(row, kMapOutput) > 0 ? kMapOutput : kWritten);
  }
  return Status::Ok();
}

// Adds a stage of the tasks that succeeded, if there are any.
void AddStage(const std::map<std::string, RumenTask>& tasks, bool reduces, JobModel* job, Counts* counts) {
  StageModel stage;
  stage.name = reduces ? "reduce" : "map";
  stage.kind = reduces ? sched::SlotKind::kReduce : sched::SlotKind::kMap;
  stage.tasks = 0;
  bool inputs_known = false, shares_known = false, nodes_known = false;
  for (const auto& [name, task] : tasks) {
    counts->without += !task.finish;
    if (!task.finish) continue;
    ++stage.tasks;
    stage.durations.push_back(task.seconds);
    stage.shares.push_back(task.shares);
    stage.task_bytes.push_back(task.input);
    stage.preferred.push_back(task.nodes);
    stage.bytes += task.input;
    stage.output_bytes += task.output;
    inputs_known = inputs_known || task.input > 0;
    shares_known = shares_known || task.shares.copy + task.shares.sort > 0;
    nodes_known = nodes_known || !task.nodes.empty();
  }
  if (stage.tasks == 0) return;
  if (!inputs_known) stage.task_bytes.clear();
  if (!shares_known) stage.shares.clear();
  if (!nodes_known) stage.preferred.clear();
  stage.inputs.push_back(job->stages.empty() ? sched::StageInput{} : EdgeFrom(0));
  job->stages.push_back(std::move(stage));
}

}  // namespace

Result<Trace> ParseRumen(const TraceText& jobs, const TraceText& attempts, const TraceText* topology, bool observe) {
  std::map<std::string, RumenJob> all;
  std::vector<std::string> order;
  Nodes nodes;
  Counts counts;
  MR_RETURN_IF_ERROR(ReadJobs(jobs, &all, &order));
  if (topology != nullptr) {
    for (Rows row(*topology, '\t'); row.Next();) {
      if (row.size() != 2) return row.Wrong("not a node of a topology: rack, node, with a tab");
      nodes.Of(row[1]);
    }
  }
  Observations observed;
  MR_RETURN_IF_ERROR(ReadAttempts(attempts, &nodes, &all, &counts, observe ? &observed : nullptr));
  Trace trace;
  trace.observed = observed.Take();
  for (const std::string& name : order) {
    RumenJob& job = all.at(name);
    AddStage(job.tasks[0], false, &job.model, &counts);
    AddStage(job.tasks[1], true, &job.model, &counts);
    counts.empty += job.model.stages.empty();
    if (!job.model.stages.empty()) trace.jobs.push_back(std::move(job.model));
  }
  MR_RETURN_IF_ERROR(SortJobs(jobs.name, &trace.jobs));
  const auto note = [&](uint64_t n, const char* what) {
    if (n > 0) trace.notes.push_back(std::to_string(n) + what);
  };
  note(counts.failed, " failed attempts are not replayed");
  note(counts.killed, " killed attempts are not replayed");
  note(counts.backwards, " attempts end before they start: not used");
  note(counts.zero, " attempts have no start or end: not used");
  note(counts.without, " tasks without a success are left out");
  note(counts.empty, " jobs without a success are left out");
  return trace;
}

}  // namespace mr::sim
