// The cells of a grid, as a file describes them: each is a cluster, a load and a workload. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "master/sim/engine/task_model.h"

namespace mr::sim {

// A source of jobs: `generate:NAME`, or a recorded trace.
struct GridSource {
  std::string workload, format;
  // The level of the factor "workload" in the pairwise cover: several sources may stand for one level.
  std::string family;
  // Tasks take recorded times, and use neither disk nor network. Otherwise times follow from bytes and costs.
  bool recorded = false;
  bool generated() const { return workload.starts_with("generate:"); }
};

// A model of stragglers: the default model of tasks with the numbers of `tasks` on top.
struct GridStragglers {
  TaskModel tasks;
  std::string family;  // as GridSource::family
};

struct GridCell {
  std::string name;  // made from the rest: what the cell is
  std::string workload, stragglers;
  double load = .5;         // share of the slot time
  double network = 0;       // bytes per second of each host, each way
  double disk = 0;          // bytes per second of each host
  double reduces = 0;       // per map
  double task_seconds = 0;  // median of maps, without stragglers
  uint32_t workers = 0, slots = 4;
  double slow = 0;  // share of the machines' time
  bool bursts = false, deadlines = false, noise = false;
  // Slot time under the first reference over the expected one, measured: reduces that wait for maps, contention.
  double slot_time = 1;
  uint32_t jobs = 0;   // of one run
  bool quick = false;  // in the part for CI
};

struct Grid {
  std::string judged;                   // list of policies
  std::vector<std::string> references;  // lists; slot time is compared with the first one
  uint32_t quick_seeds = 3;
  TaskModel tasks;  // of cells with recorded times; the models of stragglers begin with it
  std::map<std::string, GridSource, std::less<>> sources;
  std::map<std::string, GridStragglers, std::less<>> stragglers;
  std::vector<GridCell> cells;
};

// Parses a grid file and checks all of it. file: its name in messages. calibrated: the text of calibrated.toml.
// Errors: kInvalidArgument: names the file and the line; also two equal cells.
Result<Grid> ParseGrid(const std::string& text, const std::string& file, const std::string& calibrated);

// The levels of a cell in the factors of the pairwise cover, by the factor's name. A factor that does not act in the
// cell is missing: recorded times use no disk and no network, have their own reduces and their own stragglers.
std::map<std::string, std::string> LevelsOf(const Grid& grid, const GridCell& cell);

// A file that is compiled in.
struct GridFiles {
  std::string_view grid, calibrated;
};
GridFiles BuiltInGrid();

}  // namespace mr::sim
