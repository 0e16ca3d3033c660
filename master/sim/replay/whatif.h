// Answers "what if": simulates a history twice with the same luck. The first run is as it was, which shows the model's
// error; the second has another list or number of workers.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "master/sim/replay/history_model.h"

namespace mr::sim {

// The model's resolution of a job's completion, in seconds. Process starts, commits and message delays are drawn from
// measurements, not simulated. A guess: a few times the start of a task.
inline constexpr double kResolution = .05;

// Forecasts of jobs below this many seconds mean nothing: the resolution alone is a quarter of their time.
inline constexpr double kShortestJob = 4 * kResolution;

struct Spent {
  double useful = 0, wasted = 0;  // slot-seconds of attempts that committed, and of all others
  uint64_t extra = 0;             // speculative attempts, clones and restarts
  double all() const { return useful + wasted; }
};

struct WhatIf {
  struct Row {
    std::string id;  // job_1_0001 or local_0017
    std::string name;
    uint32_t tasks = 0;
    double happened = 0, model = 0, then = 0;  // seconds from submission to end
    double error() const { return happened > 0 ? model / happened - 1 : 0; }
    double change() const { return model > 0 ? then / model - 1 : 0; }
    // Returns true if the change is larger than the model's error on this job and than kResolution. A smaller change
    // means nothing.
    bool too_short() const { return happened < kShortestJob; }
    bool significant() const { return std::abs(then - model) > std::max(std::abs(happened - model), kResolution); }
  };
  std::vector<Row> rows;
  Spent happened, model, then;
  // The question, complete: lists, workers, slots in all.
  std::string was_scheduler, then_scheduler;
  std::vector<Experiment::ListChange> was;  // the lists that were in force, from the first submission on
  uint32_t was_workers = 0, was_slots = 0, then_workers = 0, then_slots = 0;
  double median_error = 0, worst_error = 0;  // absolute, over jobs
  std::vector<std::string> notes;
};

// Simulates both. only: the rows have this job alone; jobs beside it run with it.
// Errors: kInvalidArgument: not a valid list; kRejected: a simulation does not end.
Result<WhatIf> RunWhatIf(const history::Document& document, std::optional<JobId> only, const Change& change);

// Returns what the attempts of recorded jobs took.
Spent SpentOf(const std::vector<const history::Job*>& jobs);
// Checks that this release has the lists of the history. Errors: kRejected.
Status CheckRecordedLists(const Experiment& as_it_was);

std::string Table(const WhatIf& whatif);
// Returns one JSON document and a newline.
std::string Json(const WhatIf& whatif);

}  // namespace mr::sim
