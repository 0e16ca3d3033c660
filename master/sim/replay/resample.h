// Draws other runs of recorded jobs: the same stages, bytes and edges, with other luck. The spread of such runs shows
// how far a forecast from one run can be off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/rng.h"
#include "master/sim/replay/history_model.h"

namespace mr::sim {

// Each task takes a time of another task of its stage (leave-one-out), in this run or in another run of a job with this
// name, scaled by their bytes where times of the stage follow bytes. Runs whose times differ more than by their bytes
// are not of the same job, though they have its name: two commands of `stream`, for example. A worker on which attempts
// were slow is slow again, or that was the luck of its attempts, as likely as its estimate says (SpeedEstimate::trust).
// Where a stage has too few tasks, its times get the spread of all stages.
//
// Pure; the models must outlive it. Thread: any one.
class Resampler {
 public:
  explicit Resampler(const std::vector<const HistoryModel*>& models);
  // Returns run number `draw` of the model with this index. Equal arguments give equal runs.
  Experiment Draw(size_t model, uint64_t draw) const;

 private:
  // A recorded time of a task.
  struct Record {
    size_t model = 0, job = 0;
    uint32_t task = 0, worker = 0;
    double measured = 0;  // seconds there
    double seconds = 0;   // at speed 1, by the estimate
    PhaseShares shares;
    double bytes = 0;
  };
  struct Pool {
    std::vector<Record> records;
    double by_bytes = 0;  // exponent of bytes in the time of a task, 0 to 1
  };
  using Key = std::tuple<std::string, std::string, size_t>;  // names of job and stage, and number of the group
  // Runs of a stage that took about as long.
  struct Group {
    double seconds = 0, bytes = 0;  // medians of its first run
  };
  size_t GroupOf(const StageModel& stage, std::vector<Group>* groups) const;

  // The run that is drawn: the speeds of its workers.
  struct Drawn {
    size_t model = 0;
    std::vector<double> speeds;
    Rng rng;
  };
  std::vector<double> DrawSpeeds(const HistoryModel& history, Rng* rng) const;
  void DrawStage(size_t job, size_t index, const std::string& name, StageModel* stage, Drawn* drawn) const;

  std::vector<const HistoryModel*> models_;
  std::map<Key, Pool> pools_;
  std::map<std::tuple<size_t, size_t, size_t>, size_t> groups_;  // by model, job and stage
  std::vector<double> spread_;  // logarithms: time of a task by the median of its stage, over all stages with enough
};

}  // namespace mr::sim
