// How long a job that is to be submitted would take with so many slots: from the profile of its earlier runs, by
// Jockey's offline simulator (sim/engine/predict.h); or, where it never ran, from the size of its input. The only file
// of the master that links the simulator. Pure; for a thread that may compute: at most some ten seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/sched/job_profile.h"
#include "master/sched/prediction.h"

namespace mr::master {

// The size of one stage as planned.
struct StageSize {
  uint32_t tasks = 0;
  double input_bytes = 0;  // of all tasks; of a stage that reads others: at most
  bool reads_files = false;
};

struct Forecast {
  sched::Prediction prediction;
  std::string basis;  // what it rests on and how sure it is, a phrase for people
  // No earlier run of this job is known, so nobody is refused on it: what other jobs read in a second says nothing of
  // how long this one computes.
  bool guessed = false;
};

// Bytes that a slot reads per second, where no profile has it: a guess, from counting words of text.
inline constexpr double kGuessedBytesPerSlotSecond = 20e6;

// The profile as if its job had these sizes: as many tasks, each longer as it has more of the input than those had.
// Requires as many stages.
sched::RunProfile Fitted(sched::RunProfile profile, const std::vector<StageSize>& sizes);
// Input of stages that read files over that of the profile's latest run; 1 where either has none.
double InputScale(const sched::RunProfile& profile, const std::vector<StageSize>& sizes);

// slots: of the cluster. bytes_per_slot_second: of other jobs; 0: nobody knows. kInvalidArgument, kRejected: it is
// too large to be predicted.
Result<Forecast> Foretell(const sched::JobGraph& graph, const std::vector<StageSize>& sizes,
                          const std::optional<sched::RunProfile>& profile, double bytes_per_slot_second,
                          uint32_t slots);

}  // namespace mr::master
