// From a history to a simulation of it: jobs with their arrivals, stages, edges and tasks, the durations
// that their attempts had, workers and how fast they were. What the model knows and does not: README.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "master/history/history.h"
#include "master/sim/simulation.h"

namespace mr::sim {

struct HistoryModel {
  Experiment as_it_was;  // same policies, seed, queues and workers
  // By index of as_it_was.jobs and .cluster.workers.
  std::vector<const history::Job*> jobs;  // into the document, which must outlive this
  std::vector<WorkerId> workers;
  std::vector<std::string> notes;  // what was left out or is not known, for people
};

// only: this job and those that ran beside it; else all. Jobs that did not succeed are left out.
// kNotFound: no such job; kRejected: nothing that could be simulated.
Result<HistoryModel> ModelOf(const history::Document& document, std::optional<JobId> only);

struct Change {
  std::string scheduler;  // "": as it was; else also jobs' own lists are dropped
  uint32_t workers = 0;   // 0: as it was
  uint32_t slots = 0;     // of each worker, without caps per kind; 0: as it was
};
// Another number of workers is as fast as the recorded ones were: the i-th of N has the speed of the
// recorded one at the same place in their order. Blocks lie elsewhere then, and no worker comes or goes.
Experiment Changed(const HistoryModel& model, const Change& change);

// A model file (README.md): costs per byte, spread, launch delay, report period, workers and their speeds.
std::string CalibrationToml(const HistoryModel& model);

// How fast each worker is, from how long its attempts took beside those of the same stages (speeds of
// workers with few attempts are pulled towards 1). By the document's workers.
// Per attempt: the stage it is of, the worker's index, its seconds.
struct SpeedSample {
  uint32_t stage = 0, worker = 0;
  double seconds = 0;
  bool whole = true;  // false: it was stopped then, and would have taken longer
};
std::vector<double> EstimateSpeeds(const std::vector<SpeedSample>& samples, size_t workers);

// Collects a history while a journal is replayed (OnStep).
class HistoryCollector {
 public:
  void On(const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions,
          const sched::Scheduler& scheduler);
  // Jobs that ended, by submission.
  history::Document Take();

 private:
  bool begun_ = false;
  history::Document document_;
  std::map<JobId, history::Job> jobs_;
  std::set<JobId> ending_;  // ended, with attempts that still hold slots
};

}  // namespace mr::sim
