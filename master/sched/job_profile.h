// Profile of a job's stages from its runs: the input of Jockey's predictors (EuroSys'12, 4.1). Made from the state
// when a job succeeds, and kept outside the scheduler under the job's name and plan shape. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "master/sched/state/entities.h"

namespace mr::sched {

// A merged profile weighs the latest run at least one part in this many, so that old behaviour is forgotten.
inline constexpr uint32_t kRunsRemembered = 8;

// Runs of one stage. Times in seconds, sizes in bytes.
struct StageRuns {
  std::string name;
  uint32_t tasks = 0;  // of the latest run
  std::vector<StageInput> inputs;
  // Samples of committed attempts, sorted, equally likely. wait: from getting a slot to the first byte, which
  // may come from a shuffle.
  std::vector<float> run, wait;
  double queue = 0;          // mean time that a task waited for a slot once it had its inputs
  double fails = 0;          // P(an attempt fails)
  double fails_again = 0;    // P(a task fails twice or more | it failed); reported only, not used to predict
  double input_bytes = 0;    // of all tasks of the latest run
  std::vector<float> means;  // means of `run`, one for each of the latest kRunsRemembered runs, oldest first
  double ran = 0;            // mean seconds that a committed attempt computed (RunTime)
  template <class V>
  static void Fields(V&& v) {
    using T = StageRuns;
    v(&T::name, &T::tasks, &T::inputs, &T::run, &T::wait, &T::queue, &T::fails, &T::fails_again, &T::input_bytes,
      &T::means, &T::ran);
  }
};

struct RunProfile {
  std::vector<StageRuns> stages;  // in the order of the job's graph, which is topological
  uint32_t runs = 1;              // number of runs in it
  template <class V>
  static void Fields(V&& v) {
    v(&RunProfile::stages, &RunProfile::runs);
  }
};

// Most samples of one stage in a profile. A guess: enough to estimate a probability of 5 % to within a fifth of it.
inline constexpr size_t kStageSamples = 512;

// Returns the attempt that made the output of a committed task. Null if it is not known, for example after another
// release took the job over.
const Attempt* Winner(const Task& task);
// Returns the computing time of a committed attempt: its run time without the waits for input that it reported.
Duration RunTime(const Attempt& attempt);

// Returns a hash of the stages' names, edges and kinds, without sizes. Runs of one name and shape share a profile.
uint64_t PlanShape(const JobGraph& graph);
// Returns the profile of one run. Requires: a job that succeeded. Cost: attempts of the job. Keeps at most
// kStageSamples samples, spread evenly in rank.
RunProfile ProfileOf(const Job& job);
// Returns both profiles merged. Requires: equal shapes. Tasks and input are the later one's. Samples come from both;
// the earlier ones weigh by their runs, up to kRunsRemembered - 1 to one. Deterministic: no draw.
RunProfile Merged(const RunProfile& earlier, const RunProfile& later);

}  // namespace mr::sched
