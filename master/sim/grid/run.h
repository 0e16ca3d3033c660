// Runs the cells of a grid, each seed under all lists, on several threads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "master/sim/grid/cell.h"
#include "master/sim/grid/verdict.h"

namespace mr::sim {

struct CellRuns {
  size_t cell = 0;                             // index in Grid::cells
  std::string skipped;                         // why it has not run; else ""
  std::vector<std::string> lists;              // GridOptions::lists, with the cell's budgets in them
  std::vector<std::optional<double>> budgets;  // by list
  std::vector<std::vector<SeedRun>> runs;      // by list, then by seed
  // The load that came about: slot time under the first list, over all slots until the last submit. The mean over the
  // seeds.
  double load = 0;
  double cpu = 0;  // seconds
};

struct GridOptions {
  // The references, then the lists that are judged. A reference may have a budget (budget.h): per cell, it is fitted to
  // the slot time of the first list that is judged.
  std::vector<std::string> lists;
  size_t references = 1;      // of `lists`, the first ones
  std::vector<size_t> cells;  // indexes in Grid::cells
  uint64_t seed = 1;
  uint32_t seeds = 20;
  uint32_t budget_seeds = 4;  // at most so many of the seeds fit budgets: 4 is a guess
  uint32_t threads = 1;
  GridLimits limits;
  std::string data;  // the folder of traces; "": traces are skipped
  // Receives each cell when its budgets are fitted, before any seed is run. Called under a lock. May be null.
  std::function<void(const CellRuns& cell)> fitted;
  // Receives each cell when its last seed is done, and how many seeds of all cells are. Called under a lock. May be
  // null.
  std::function<void(const CellRuns& cell, size_t done, size_t all)> progress;
};

// Fits the budgets, then runs the cells. The results depend on cells, lists and seeds alone, not on the threads.
// Errors: kInternal: a simulation stopped; errors of a source, but for a missing trace.
Result<std::vector<CellRuns>> RunGrid(const Grid& grid, const GridOptions& options);

}  // namespace mr::sim
