#include <map>

#include "master/sim/traces/rows.h"

namespace mr::sim {

namespace {

struct Query {
  std::map<uint32_t, uint32_t> stage_of;  // stage of each number
  std::vector<StageModel> stages;
};

}  // namespace

Result<Trace> ParseTpch(const TraceText& tasks, const TraceText& edges, uint32_t executors, bool observe) {
  Observations observed;
  std::map<uint32_t, std::map<uint32_t, Query>> recorded;  // keyed by query, executors
  std::map<uint32_t, bool> numbers;                        // recorded numbers of executors
  for (Rows row(tasks, '\t'); row.Next();) {
    uint32_t query = 0, number = 0, ran_on = 0, count = 0;
    if (row.size() != 6 || !row.Get(0, &query) || !row.Get(1, &number) || !row.Get(2, &ran_on) || !row.Get(4, &count) ||
        (row[3] != "fresh" && row[3] != "first" && row[3] != "rest")) {
      return row.Wrong(
          "not a wave of TPC-H: query, stage, executors, wave (fresh, first, rest), count, milliseconds, "
          "with tabs");
    }
    numbers[ran_on] = true;
    // Tasks of "fresh" are in "first" as well.
    const bool replayed = ran_on <= executors && row[3] != "fresh";
    // "first" is not observed: it mixes tasks of fresh executors with others.
    const bool watched = observe && row[3] != "first";
    if (!replayed && !watched) continue;
    std::vector<float> durations;
    for (std::string_view rest = row[5]; !rest.empty();) {
      const size_t stop = std::min(rest.find(' '), rest.size());
      double ms = 0;
      if (!Rows::Parse(rest.substr(0, stop), &ms) || ms < 0) {
        return row.Wrong("a duration is no number of milliseconds");
      }
      durations.push_back(static_cast<float>(ms * 1e-3));
      rest.remove_prefix(std::min(stop + 1, rest.size()));
    }
    if (durations.size() != count) {
      return row.Wrong("it says " + std::to_string(count) + " tasks and has " + std::to_string(durations.size()) +
                       " durations");
    }
    if (watched) {
      ObservedStage& stage = observed.At("q" + row.Text(0) + " on " + row.Text(2), "stage" + std::to_string(number),
                                         row[3] == "fresh" ? ObservedKind::kFresh : ObservedKind::kUsual);
      for (const float seconds : durations) stage.attempts.push_back({.seconds = seconds});
    }
    if (!replayed) continue;
    Query& q = recorded[query][ran_on];
    const auto [it, added] = q.stage_of.emplace(number, q.stages.size());
    if (added) {
      q.stages.emplace_back();
      q.stages.back().name = "stage" + std::to_string(number);
      q.stages.back().tasks = 0;
    }
    StageModel& stage = q.stages[it->second];
    stage.durations.insert(stage.durations.end(), durations.begin(), durations.end());
    stage.tasks += count;
  }
  if (!numbers.empty() && numbers.count(executors) == 0) {
    std::string known;
    for (const auto& [n, yes] : numbers) known += (known.empty() ? "" : ", ") + std::to_string(n);
    return InvalidArgument(tasks.name + ": nothing was recorded on " + std::to_string(executors) +
                           " executors; there are " + known);
  }
  Trace trace;
  trace.observed = observed.Take();
  std::map<uint32_t, Query> queries;
  for (auto& [number, by_executors] : recorded) {
    // A query of few tasks was not run on many executors. Take the largest number that it was run on.
    auto& [ran_on, query] = *by_executors.rbegin();
    queries.emplace(number, std::move(query));
    if (ran_on != executors) {
      trace.notes.push_back("query " + std::to_string(number) + " as on " + std::to_string(ran_on) + " executors");
    }
  }
  for (Rows row(edges, '\t'); row.Next();) {
    uint32_t query = 0, parent = 0, child = 0;
    if (!row.Get(0, &query) || !row.Get(1, &parent) || !row.Get(2, &child)) {
      return row.Wrong("not an edge of TPC-H: query, parent stage, child stage, with tabs");
    }
    if (queries.count(query) == 0) continue;  // its query is not in this file
    Query& q = queries.at(query);
    if (q.stage_of.count(parent) == 0 || q.stage_of.count(child) == 0) {
      return row.Wrong("query " + std::to_string(query) + " has no such stage in " + tasks.name);
    }
    q.stages[q.stage_of.at(child)].inputs.push_back(EdgeFrom(q.stage_of.at(parent)));
  }
  for (auto& [number, q] : queries) {
    for (StageModel& stage : q.stages) {
      if (stage.tasks == 0) {
        return InvalidArgument(tasks.name + ": a stage of query " + std::to_string(number) + " has no task");
      }
      if (stage.inputs.empty()) stage.inputs.push_back({});
      stage.kind = stage.inputs[0].is_edge ? sched::SlotKind::kReduce : sched::SlotKind::kMap;
    }
    MR_RETURN_IF_ERROR(OrderStages(tasks.name + ": query " + std::to_string(number), &q.stages));
    trace.jobs.push_back({0, "q" + std::to_string(number), std::move(q.stages)});
  }
  MR_RETURN_IF_ERROR(SortJobs(tasks.name, &trace.jobs));
  trace.notes.push_back("durations on " + std::to_string(executors) + " executors; all queries are submitted at once");
  return trace;
}

}  // namespace mr::sim
