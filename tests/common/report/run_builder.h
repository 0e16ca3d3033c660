// Builds the run of a job for tests of reports: job_1_0001, with times in milliseconds since the submission.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/report/job_run.h"

namespace mr::report {

// An attempt for RunBuilder::Add. launched, started, inputs, ended: milliseconds; 0: not reached.
struct Made {
  uint32_t stage = 0, task = 0;
  std::string worker = "w1";
  uint64_t launched = 0, started = 0, inputs = 0, ended = 0;
  std::string cause = "first";
  std::string state = "committed";  // "failed", "killed", "running"
  std::string failure;
  double progress = 1;
  uint32_t number = 1;
};

class RunBuilder {
 public:
  RunBuilder() {
    run_.job.id = {1, 1};
    run_.job.name = "words";
    run_.job.state = JobState::kSucceeded;
  }

  RunBuilder& Workers(uint32_t workers, uint32_t slots) {
    for (uint32_t w = 1; w <= workers; ++w) {
      WorkerStatus status;
      status.id = Name(WorkerId{w});
      status.name = "host-" + std::to_string(w);
      status.state = "live";
      status.slots = slots;
      run_.workers.push_back(status);
    }
    return *this;
  }
  // A stage that reads files, where upstream is empty; else the outputs of these stages, all to all.
  RunBuilder& Stage(const std::string& name, const std::vector<uint32_t>& upstream, uint64_t output_bytes = 1000) {
    StageSpec stage;
    stage.name = stage.operator_name = name;
    if (upstream.empty()) stage.inputs.emplace_back();
    for (const uint32_t from : upstream) {
      InputSpec input;
      input.is_edge = true;
      input.stage = from;
      stage.inputs.push_back(input);
    }
    run_.spec.stages.push_back(stage);
    StageStatus status;
    status.name = name;
    status.planned = true;
    status.input_bytes = 64 << 20;
    status.output_bytes = output_bytes;
    run_.job.stages.push_back(status);
    return *this;
  }
  RunBuilder& Add(const Made& made, uint64_t input_bytes = 100) {
    const TaskLetter letter = run_.spec.stages.at(made.stage).letter();
    const TaskId task{run_.job.id, made.stage, made.task};
    AttemptStatus a;
    a.id = Name(AttemptId{task, made.number}, letter);
    a.state = made.state;
    a.cause = made.cause;
    a.worker = made.worker;
    a.progress = made.progress;
    a.failure = made.failure;
    a.won = made.state == "committed";
    a.launched_us = made.launched * 1000;
    a.started_us = made.started * 1000;
    a.inputs_us = made.inputs * 1000;
    a.ended_us = made.ended * 1000;
    run_.attempts.push_back(a);
    if (tasks_.insert(task).second) {
      TaskStatus t;
      t.id = Name(task, letter);
      t.stage = made.stage;
      t.input_bytes = input_bytes;
      run_.tasks.push_back(t);
      ++run_.job.stages[made.stage].tasks;
    }
    return *this;
  }
  RunBuilder& Elapsed(uint64_t ms) {
    run_.job.elapsed_us = ms * 1000;
    return *this;
  }
  JobRun& run() { return run_; }

 private:
  JobRun run_;
  std::set<TaskId> tasks_;
};

}  // namespace mr::report
