// The command line of mrsim.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/sched/defaults.h"
#include "master/sim/calibrate/command.h"
#include "master/sim/grid/command.h"
#include "master/sim/replay/command.h"

namespace mr::sim {

struct Options {
  std::string verb;  // "run", "swarm", "replay", "reproduce", "calibrate" or "schedulers"
  std::string help;  // if not empty, print it and stop
  std::string workload, cluster, model, scheduler = sched::kPlainPolicies, data, format, form = "table", report_period;
  uint64_t seed = 1;
  uint32_t count = 100;
  std::string figure;  // of reproduce: STUDY[:FIGURE]
  uint32_t seeds = 5;
  // run: in place of a single --scheduler.
  std::vector<std::string> compare;
  std::string ablate, plot;
  uint32_t run_seeds = 1, plot_job = 0;
  bool check = false;
  bool master = false;  // swarm: the whole master, not the scheduler alone
  bool first = false;   // swarm: ends at the first broken configuration
  bool no_progress = false;
  ReplayCommand replay;
  CalibrateCommand calibrate;
  GridCommand grid;  // run, in place of a workload
};

// Parses the arguments without the program's name. Errors: kInvalidArgument: usage.
Result<Options> ParseOptions(std::vector<std::string> args);

}  // namespace mr::sim
