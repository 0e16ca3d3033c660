// `mrsim run --grid`: runs a grid, prints it.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::sim {

struct GridCommand {
  bool on = false;
  std::string file;                // "": the one that is compiled in
  std::vector<std::string> cells;  // names, or parts of names; empty: all
  std::string part;                // "ci": the part for CI, "": all
  bool check = false;
  uint32_t seeds = 0;    // 0: 20, or the file's number for the part for CI
  uint32_t threads = 0;  // 0: one per core
  uint64_t seed = 1;
  std::vector<std::string> compare;  // further lists
  std::vector<std::string> against;  // references in place of the grid's; empty: those of the grid
  std::string data, form = "table";
  bool no_progress = false;
};

// Returns the number of cells that fail. Errors: also kInvalidArgument: no cell has such a name.
Result<size_t> RunGrid(const GridCommand& command);

}  // namespace mr::sim
