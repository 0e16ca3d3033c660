// What the runs of a job taught about its stages: the input of Jockey's predictors (papers.md 4.1). Made of the state
// when a job succeeds, kept outside of the scheduler under the job's name and the shape of its plan. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "master/sched/entities.h"

namespace mr::sched {

// A later run counts as much as this many earlier ones together at most: what changed long ago is forgotten.
inline constexpr uint32_t kRunsRemembered = 8;

// Of one stage. Seconds; bytes.
struct StageRuns {
  std::string name;
  uint32_t tasks = 0;  // of the latest run
  std::vector<StageInput> inputs;
  std::vector<float> run,
      wait;                // of committed attempts, sorted, equally likely; wait: from having a slot to the first byte
  double queue = 0;        // that a task waited for a slot once it had its inputs, mean
  double fails = 0;        // P(an attempt fails)
  double fails_again = 0;  // P(a task fails twice or more | it failed); only told, not predicted with
  double input_bytes = 0;  // of all tasks of the latest run
  std::vector<float> means;  // of `run`, of each of the latest kRunsRemembered runs, oldest first; empty: of no run
  double ran = 0;            // seconds that a committed attempt computed (RunTime), mean
  template <class V>
  static void Fields(V&& v) {
    using T = StageRuns;
    v(&T::name, &T::tasks, &T::inputs, &T::run, &T::wait, &T::queue, &T::fails, &T::fails_again, &T::input_bytes,
      &T::means, &T::ran);
  }
};

struct RunProfile {
  std::vector<StageRuns> stages;  // in the order of the job's graph, which is topological
  uint32_t runs = 1;              // that are in it
  template <class V>
  static void Fields(V&& v) {
    v(&RunProfile::stages, &RunProfile::runs);
  }
};

// Samples of one stage that a profile keeps at most: a guess, a twentieth of the chance is known to a fifth of
// itself.
inline constexpr size_t kStageSamples = 512;

// The attempt that made the output of a committed task; null where nobody knows, as after another release took its
// job over.
const Attempt* Winner(const Task& task);
// What an attempt that ended well computed, without its waits for input as far as it said so.
Duration RunTime(const Attempt& attempt);

// Of the stages' names, edges and kinds, not of sizes: runs of one name and shape teach one profile.
uint64_t PlanShape(const JobGraph& graph);
// REQUIRES a job that succeeded. Cost: attempts of the job. Samples are at most kStageSamples, spread evenly over the
// sorted ones.
RunProfile ProfileOf(const Job& job);
// Both of one shape. Tasks and input of the later; samples of both, the earlier ones weighed by their runs up to
// kRunsRemembered - 1 to one. Deterministic: no draw.
RunProfile Merged(const RunProfile& earlier, const RunProfile& later);

}  // namespace mr::sched
