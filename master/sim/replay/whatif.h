// "What if": a history simulated as it was, which shows how far the model is from what happened, and
// under another list or number of workers, on the same luck.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "master/sim/replay/history_model.h"

namespace mr::sim {

// Seconds of a job's completion below which the model says nothing: start of processes, commits and message delays are
// drawn from what was measured, not simulated (a guess: a few times what starting a task takes).
inline constexpr double kResolution = .05;

struct Spent {
  double useful = 0, wasted = 0;  // slot-seconds: of attempts that committed, of all others
  uint64_t copies = 0;            // speculative, clones, restarts
};

struct WhatIf {
  struct Row {
    JobId id;
    std::string name;
    uint32_t tasks = 0;
    double happened = 0, model = 0, then = 0;  // seconds from submission to end
    double error() const { return happened > 0 ? model / happened - 1 : 0; }
    double change() const { return model > 0 ? then / model - 1 : 0; }
    // The change is larger than what the model gets wrong of this job, and than kResolution. Where it is not, the
    // change says nothing.
    bool tells() const { return std::abs(then - model) > std::max(std::abs(happened - model), kResolution); }
  };
  std::vector<Row> rows;
  Spent happened, model, then;
  // What was asked, filled in: list, workers, slots of them all.
  std::string was_scheduler, then_scheduler;
  std::vector<Experiment::ListChange> was;  // the lists that were in force, from the first submission on
  uint32_t was_workers = 0, was_slots = 0, then_workers = 0, then_slots = 0;
  double median_error = 0, worst_error = 0;  // of jobs, absolute
  std::vector<std::string> notes;
};

// only: the rows are this job's alone; those beside it run with it. kInvalidArgument: a list that is
// none; kRejected: jobs would never end so.
Result<WhatIf> RunWhatIf(const history::Document& document, std::optional<JobId> only, const Change& change);

std::string Table(const WhatIf& whatif);
// One document and a newline.
std::string Json(const WhatIf& whatif);

}  // namespace mr::sim
