#include "jobs/mrctl/trace.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/report/timeline.h"
#include "jobs/mrctl/json.h"

namespace mr::ctl {
namespace {

constexpr int kJobPid = 0;  // workers use their numbers, from 1
constexpr int kDecisionsTid = 1, kJobTid = 2, kFirstStageTid = 3;

// Writes the events of one job, with times in microseconds from its submission.
class TraceWriter {
 public:
  explicit TraceWriter(const report::JobRun& run) : run_(run), timeline_(run) {
    for (const TaskStatus& task : run.tasks) tasks_[task.id] = &task;
  }

  Json Write() {
    NameProcess(kJobPid, Name(run_.job) + " " + run_.job.name, -1);
    NameThread(kJobPid, kDecisionsTid, "decisions");
    NameThread(kJobPid, kJobTid, "job");
    Slice(kJobPid, kJobTid, Name(run_.job), "job", 0, run_.job.elapsed_us, Json::object());
    for (uint32_t s = 0; s < run_.spec.stages.size(); ++s) WriteStage(s);
    for (const report::Lanes& worker : timeline_.workers()) WriteWorker(worker);
    for (const report::Interval& at : timeline_.attempts()) WriteAttempt(at);
    for (const DecisionStatus& decision : run_.decisions) WriteDecision(decision);
    return std::move(events_);
  }

 private:
  void Meta(const char* what, int pid, int tid, Json args) {
    events_.push_back(
        Object({{"name", what}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"ts", 0}, {"args", std::move(args)}}));
  }
  void NameProcess(int pid, const std::string& name, int order) {
    Meta("process_name", pid, 0, Object({{"name", name}}));
    Meta("process_sort_index", pid, 0, Object({{"sort_index", order}}));
  }
  void NameThread(int pid, int tid, const std::string& name) {
    Meta("thread_name", pid, tid, Object({{"name", name}}));
  }
  void Slice(int pid, int tid, const std::string& name, const char* category, uint64_t from, uint64_t to, Json args) {
    events_.push_back(Object({{"name", name},
                              {"cat", category},
                              {"ph", "X"},
                              {"pid", pid},
                              {"tid", tid},
                              {"ts", from},
                              {"dur", to - from},
                              {"args", std::move(args)}}));
  }

  void WriteStage(uint32_t stage) {
    uint64_t from = UINT64_MAX, to = 0;
    for (const report::Interval& at : timeline_.attempts()) {
      if (at.id.task.stage != stage) continue;
      from = std::min(from, at.launched);
      to = std::max(to, at.ended);
    }
    const std::string& name = run_.spec.stages[stage].name;
    const int tid = kFirstStageTid + static_cast<int>(stage);
    NameThread(kJobPid, tid, "stage " + name);
    if (from != UINT64_MAX) Slice(kJobPid, tid, name, "stage", from, to, Json::object());
  }

  int PidOf(const report::Lanes& worker) const {
    const auto id = ParseWorkerId(worker.id);
    return id ? static_cast<int>(id->value) : kJobPid;
  }
  void WriteWorker(const report::Lanes& worker) {
    const int pid = PidOf(worker);
    NameProcess(pid, worker.status == nullptr ? worker.id : worker.id + " " + worker.status->name, pid);
    for (int lane = 1; lane <= static_cast<int>(worker.lanes); ++lane)
      NameThread(pid, lane, "slot " + std::to_string(lane));
  }

  void WriteAttempt(const report::Interval& at) {
    const StageSpec& stage = run_.spec.stages[at.id.task.stage];
    const auto task = tasks_.find(Name(at.id.task, stage.letter()));
    const bool known = task != tasks_.end();
    const int pid = PidOf(timeline_.workers()[at.worker]), tid = static_cast<int>(at.lane) + 1;
    Json args = Object({{"stage", stage.name},
                        {"state", at.status->state},
                        {"cause", at.status->cause},
                        {"winner", at.status->won},
                        {"input_bytes", known ? task->second->input_bytes : 0},
                        {"output_bytes", known && at.status->won ? task->second->output_bytes : 0}});
    if (!at.status->message.empty()) args["message"] = at.status->message;
    Slice(pid, tid, at.status->id, "attempt", at.launched, at.ended, std::move(args));
    // The phases that it reached: launch to child process, to having all inputs, to the end.
    const bool map = stage.is_map();
    Slice(pid, tid, "launch", "phase", at.launched, at.started, Json::object());
    if (!map && at.started < at.ended) Slice(pid, tid, "shuffle", "phase", at.started, at.inputs, Json::object());
    if (at.inputs < at.ended) Slice(pid, tid, map ? "map" : "reduce", "phase", at.inputs, at.ended, Json::object());
  }

  void WriteDecision(const DecisionStatus& decision) {
    Json args = Object({{"reason", decision.reason}});
    if (!decision.attempt.empty()) args["attempt"] = decision.attempt;
    if (!decision.worker.empty()) args["worker"] = decision.worker;
    events_.push_back(Object({{"name", decision.what},
                              {"cat", "decision"},
                              {"ph", "i"},
                              {"s", "t"},
                              {"pid", kJobPid},
                              {"tid", kDecisionsTid},
                              {"ts", decision.at_us},
                              {"args", std::move(args)}}));
  }

  const report::JobRun& run_;
  const report::Timeline timeline_;
  std::map<std::string, const TaskStatus*> tasks_;
  Json events_ = Json::array();
};

}  // namespace

std::string TraceJson(const report::JobRun& run) {
  return DumpJson(Object({{"version", 1}, {"displayTimeUnit", "ms"}, {"traceEvents", TraceWriter(run).Write()}}));
}

}  // namespace mr::ctl
