// A stage whose attempts read and report at chosen instants, for the tests of mantri_restart.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "master/sched/index/estimate.h"
#include "master/sched/policies/mantri/mantri_rules.h"
#include "tests/master/sched/nodes.h"

namespace mr::sched {

inline constexpr double kNoRestarts = 0;

// A stage with finished tasks 10 to 13: they took 10 s for 100 bytes each, on workers 10 to 13, unless Begin gets other
// times. So t_new is 10 s for 100 bytes, and Delta 1 s.
class MantriRestartTest : public testing::Test {
 protected:
  MantriRestartTest() { Begin({10, 10, 10, 10}); }

  // Tasks 0 to `empty` - 1 have no input.
  void Begin(const std::vector<double>& finished, uint32_t empty = 0) {
    ConfigChanged config;
    config.policies = "fifo";
    state_.SetConfig(config, {});
    for (uint32_t w = 1; w <= 20; ++w) {
      WorkerRegistered e;
      e.worker = {w};
      e.incarnation = 1;
      e.slots.total = 2;
      state_.PutWorker(e);
    }
    JobSubmitted job;
    job.job = {1, ++jobs_};
    job.graph.stages.resize(1);
    job.graph.stages[0].inputs = {StageInput{}};
    job.graph.stages[0].is_final = true;
    state_.AddJob(job, {});
    state_.KeepStatistics(*state_.FindJob(job.job)->list, {.any = true, .costs = true});
    state_.AskPlan(stage());
    StagePlanned plan{job.job, 0, 1, std::vector<TaskPlan>(20), ""};
    for (TaskPlan& t : plan.tasks) t.input_bytes = 100;
    plan.tasks[5].input_bytes = 500;
    for (uint32_t t = 0; t < empty; ++t) plan.tasks[t].input_bytes = 0;
    state_.SetPlan(plan, {});
    for (uint32_t i = 0; i < finished.size(); ++i) {
      const AttemptId id = Start(10 + i, 10 + i, 0);
      Read(id, finished[i], 100);
      state_.Commit(id, {1, 1, {i, 1}}, Seconds2(finished[i]));
    }
  }

  static Instant Seconds2(double at) { return {std::llround(at * 1e9)}; }
  StageId stage() const { return {{1, jobs_}, 0}; }
  TaskId TaskOf(uint32_t task) const { return {{1, jobs_}, 0, task}; }

  AttemptId Start(uint32_t task, uint32_t worker, double at, Cause cause = Cause::kFirst) {
    const AttemptId id{TaskOf(task), state_.AddAttempt(TaskOf(task), {worker}, cause, Seconds2(at))};
    state_.EditAttempt(id, [&](Attempt& a) {
      a.state = AttemptState::kRunning;
      a.started_at = Seconds2(at);
    });
    return id;
  }
  // It reads a byte each `pace` s, and has reported twice when it has read a tenth.
  AttemptId Tell(uint32_t task, double pace, uint64_t total = 100) {
    const AttemptId id = Start(task, 1 + task, 0);
    for (const uint64_t read : {total / 20, total / 10}) Read(id, static_cast<double>(read) * pace, read, total);
    return id;
  }
  void Read(const AttemptId& id, double at, uint64_t taken, uint64_t total = 100) {
    state_.AddSample(id, {Seconds2(at), 0, taken, total, 0}, false);
  }
  void End(const AttemptId& id, double at) { state_.MoveAttempt(id, AttemptState::kKilled, Seconds2(at)); }

  std::optional<MantriAct> Judge(uint32_t task, double now, bool waiting, double gamma = kNoRestarts,
                                 uint32_t worker = 20) const {
    EXPECT_EQ(state_.CheckStatistics(), "");
    MantriRules rules = rules_;
    rules.gamma = gamma;
    const NewAttempt fresh(state_.Counted(stage()), running_);
    if (!fresh.known()) return std::nullopt;
    const View view(state_, Seconds2(now));
    return JudgeTask(rules, view, TaskOf(task), state_.FindWorker({worker}), fresh,
                     LocationFactor(state_, stage(), {worker}, 0), waiting, true);
  }
  // An attempt with so many seconds left at that instant, when it has read half.
  double HalfRead(uint32_t task, double left, uint32_t worker = 1, Cause cause = Cause::kFirst, double begin = 20) {
    Read(Start(task, worker, begin, cause), begin + left, 50);
    return begin + left;
  }

  State state_;
  MantriRules rules_;
  uint32_t jobs_ = 0;
  bool running_ = false;  // samples of those that run, too
};

}  // namespace mr::sched
