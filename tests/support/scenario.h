// Runs scheduler tests that are written as text: events, expected decisions, and facts that must hold
// (tests/scenarios/README.md has the grammar). It reads one file and drives one Scheduler with it.
//
// The scenario acts as the host. It answers PlanStage from the job's description, delivers timers that are due before
// each `at`, and records which outputs readers have read. It checks the whole state after each event.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "master/sched/scheduler.h"
#include "master/sched/state/state.h"

namespace mr::sched {

class Scenario {
 public:
  // name: for messages. policies: the list for a text without a `policies` line.
  Scenario(std::string name, std::string policies);

  // Runs the text. Returns "" or "name:line: what did not hold".
  std::string Run(std::string_view text);
  // Returns whether the text has a `policies` line. It then expects exact decisions and runs with that list only.
  static bool NamesPolicies(std::string_view text);

 private:
  using Words = std::vector<std::string>;
  struct StageText {
    std::string name;
    uint32_t tasks = 0, partitions = 1;
    std::vector<std::vector<WorkerId>> prefer;  // of task i: element i modulo size
    std::vector<uint64_t> bytes;                // of input, likewise
    std::string plan_error;
  };
  struct JobText {
    JobSubmitted submitted;
    std::vector<StageText> stages;
    std::vector<std::string> random;  // stages with operators that are known to be random
  };
  struct Output {
    Digest128 content;
    uint32_t generation = 0;
  };

  // scenario.cc: lines and events.
  void Line(const std::string& line);
  void Event_(const Words& words);
  void Workers(const Words& words);
  void Submit(const Words& words);
  void StageLine(const Words& words);
  void Forecast(const Words& words);
  void SendJob();
  void Register(WorkerId id, bool new_life, const std::string& running = "");
  void Finished(const Words& words);
  void Consume(const AttemptId& id);
  void FinishAll();
  void RunTimers(Instant until);
  void Send(sched::Event event);
  void Answer(const PlanStage& ask);
  void TellOfOperators(const JobText& job);
  void Note(const Decision& decision);

  // scenario_expect.cc: checks of decisions and state.
  void Expect(const std::string& text);
  void Ensure(const Words& words);
  bool Matches(const Words& words, const Decision& decision);
  void NothingLeft();
  std::string Text(const Decision& decision) const;

  // Names.
  std::string Label(const TaskId& id) const;
  WorkerId ParseWorker(const std::string& word);
  TaskId ParseTask(const std::string& word);
  AttemptId ParseAttempt(const std::string& word);  // "j1/map/0" = its last attempt; "#2" = that one
  JobId ParseJob(const std::string& word);
  void Broken(const std::string& what);

  std::string name_, policies_, error_;
  int line_ = 0;
  uint64_t seed_ = 1;  // of the policies' chance
  bool strict_ = false, configured_ = false;
  Scheduler scheduler_;
  Instant now_;
  std::map<WorkerId, WorkerRegistered> workers_;
  std::map<std::string, JobText> texts_;
  std::map<JobId, std::string> names_;
  std::string open_job_;
  std::deque<Decision> decisions_;  // since the last event, not yet matched by an `expect`
  std::vector<WakeAt> timers_;
  std::map<TaskId, Output> outputs_;
  std::map<AttemptId, std::vector<Consumed>> consumed_;
  std::map<AttemptId, AttemptFinished> reports_;
  std::map<TaskId, int> launches_, commits_;
};

// Returns the value of "k=v" in words, else `otherwise`.
std::string OptionOf(const std::vector<std::string>& words, const std::string& key, const std::string& otherwise);
std::vector<std::string> SplitWords(const std::string& line);

}  // namespace mr::sched
