// Makes a simulation from a history: jobs with their arrivals, stages, edges, tasks and recorded durations, and workers
// with their speeds. Its limits: README.md.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "master/history/history.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

// One attempt for EstimateSpeeds: the number of its stage, its worker's index, its seconds.
struct SpeedSample {
  uint32_t stage = 0, worker = 0;
  double seconds = 0;
  bool whole = true;  // false: it was stopped then, and would have taken longer
};

// The speed of a worker. Slow attempts there may also have been bad luck.
struct SpeedEstimate {
  double log = 0;    // logarithm of its speed, if it is no luck
  double error = 0;  // standard error of `log`
  double trust = 0;  // 0 to 1: how far it is no luck
  double speed() const { return std::exp(log * trust); }
};

inline constexpr uint32_t kUnknownWorker = ~0u;

struct HistoryModel {
  Experiment as_it_was;  // the history's policies, seed, queues and workers
  // By the index of as_it_was.jobs and .cluster.workers.
  std::vector<const history::Job*> jobs;  // point into the document, which must outlive this
  std::vector<WorkerId> workers;
  std::vector<SpeedEstimate> speeds;
  // By job, stage, and index of StageModel::durations: the index of the worker on which it was measured.
  std::vector<std::vector<std::vector<uint32_t>>> ran_on;
  uint32_t without_record = 0;     // tasks whose times are not known
  std::vector<std::string> notes;  // what else was left out or is unknown, for people
};

// Makes the model. only: this job and those that ran beside it; else all jobs. Jobs that did not succeed are left out.
// Errors: kNotFound: no such job; kRejected: nothing can be simulated.
Result<HistoryModel> ModelOf(const history::Document& document, std::optional<JobId> only);

// Returns the note on this many tasks without a record, for people.
std::string WithoutRecordNote(uint32_t tasks);

struct Change {
  std::string scheduler;  // "": unchanged; a list also replaces the jobs' own lists
  uint32_t workers = 0;   // 0: unchanged
  uint32_t slots = 0;     // per worker, without caps per kind; 0: unchanged
};
// Returns the experiment with the change. With another number N of workers, the i-th has the speed of the recorded
// worker at the same place in the order of speeds. Then blocks have other places, and no worker comes or goes.
Experiment Changed(const Experiment& was, const Change& change);

// Returns a model file (README.md): costs per byte, spread, launch delay, report period, workers and their speeds.
std::string CalibrationToml(const HistoryModel& model);

// Estimates the speed of each of the document's workers from its attempts' times and those of the same stages. Workers
// with few attempts get a speed near 1.
std::vector<SpeedEstimate> EstimateSpeeds(const std::vector<SpeedSample>& samples, size_t workers);

// Collects a history while a journal is replayed (OnStep).
class HistoryCollector {
 public:
  void On(const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions,
          const sched::Scheduler& scheduler);
  // Returns the history. Jobs that ended are ordered by submission.
  history::Document Take();

 private:
  bool begun_ = false;
  history::Document document_;
  std::map<JobId, history::Job> jobs_;
  std::set<JobId> ending_;  // ended jobs whose attempts still hold slots
};

}  // namespace mr::sim
