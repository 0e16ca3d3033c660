// The results of a grid as a table and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "master/sim/grid/run.h"

namespace mr::sim {

struct GridReport {
  uint64_t seed = 1;
  uint32_t seeds = 20;
  std::vector<std::string> references, judged;  // lists
  struct Row {
    const GridCell* cell = nullptr;              // of the grid, which outlives the report
    std::string skipped;                         // "" if it ran
    double load = 0;                             // measured under the first reference
    std::vector<CellVerdict> verdicts;           // by judged list
    std::vector<std::optional<double>> budgets;  // by reference; empty if none of them has one
    bool fails() const;                          // the first judged list is too slow or too expensive
  };
  std::vector<Row> rows;  // cells that fail first, in the order of the file
  size_t failed() const;
};
GridReport ReportOf(const Grid& grid, const GridOptions& options, const std::vector<CellRuns>& cells);

// Returns the lines of the table for one cell: per judged list, its verdict, means and 95th percentiles.
std::string RowText(const GridReport::Row& row);
std::string Table(const GridReport& report);
// Returns one JSON document and a newline.
std::string Json(const GridReport& report);

}  // namespace mr::sim
