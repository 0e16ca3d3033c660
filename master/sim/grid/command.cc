#include "master/sim/grid/command.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <thread>

#include "common/base/text.h"
#include "common/io/files.h"
#include "master/sched/scheduler.h"
#include "master/sim/grid/budget.h"
#include "master/sim/grid/report.h"
#include "master/sim/studies/report.h"

namespace mr::sim {

namespace {

// The acceptance's least number of paired seeds.
constexpr uint32_t kSeeds = 20;

Result<Grid> LoadGrid(const std::string& file) {
  const GridFiles built_in = BuiltInGrid();
  std::string text(built_in.grid);
  if (!file.empty()) {
    auto read = ReadFile(file);
    if (!read.ok()) return read.status().With("cannot read the grid '" + file + "'");
    text = *std::move(read);
  }
  return ParseGrid(text, file.empty() ? "grid.toml" : file, std::string(built_in.calibrated));
}

// Returns the indexes of the cells with these names; of all whose names contain it, if no cell has the whole name.
Result<std::vector<size_t>> Chosen(const Grid& grid, const GridCommand& c) {
  std::vector<bool> named(grid.cells.size(), c.cells.empty());
  for (const std::string& name : c.cells) {
    const auto mark = [&](auto fits) {
      bool any = false;
      for (size_t i = 0; i < grid.cells.size(); ++i) {
        if (!fits(grid.cells[i].name)) continue;
        named[i] = any = true;
      }
      return any;
    };
    if (mark([&](const std::string& cell) { return cell == name; })) continue;
    if (mark([&](const std::string& cell) { return cell.find(name) != std::string::npos; })) continue;
    std::vector<std::string_view> names;
    for (const GridCell& cell : grid.cells) names.push_back(cell.name);
    return InvalidArgument("--cell '" + name + "': no cell has this in its name" + DidYouMean(name, names));
  }
  std::vector<size_t> chosen;
  for (size_t i = 0; i < named.size(); ++i) {
    if (named[i] && (c.part.empty() || grid.cells[i].quick)) chosen.push_back(i);
  }
  if (chosen.empty()) return InvalidArgument("none of these cells is in the part for CI; leave out --part or --cell");
  return chosen;
}

// Prints to standard error the budgets of each cell, then the lines of each cell that is done, with its CPU time, and
// the time left.
class Progress {
 public:
  Progress(const Grid& grid, const GridOptions& options)
      : grid_(grid), o_(options), cells_(options.cells.size()), start_(std::time(nullptr)) {}

  void Fitted(const CellRuns& cell) {
    start_ = std::time(nullptr);
    ++fitted_;
    std::string budgets;
    for (const std::optional<double>& budget : cell.budgets) {
      if (budget) budgets += Printed("%s%.3g", budgets.empty() ? "" : ", ", *budget);
    }
    if (budgets.empty()) return;
    std::fprintf(stderr, "%s: budgets %s    %zu/%zu cells, %.1f s of CPU\n", grid_.cells[cell.cell].name.c_str(),
                 budgets.c_str(), fitted_, cells_, cell.cpu);
  }

  void Done(const CellRuns& cell, size_t done, size_t all) {
    ++done_;
    const double spent = static_cast<double>(std::time(nullptr) - start_);
    const double left = spent * static_cast<double>(all - done) / static_cast<double>(done);
    std::fprintf(stderr, "%s    %zu/%zu cells, %s left; this one took %.1f s of CPU\n",
                 RowText(ReportOf(grid_, o_, {cell}).rows.front()).c_str(), done_, cells_,
                 HumanDuration(FromSeconds(left)).c_str(), cell.cpu);
  }

 private:
  const Grid& grid_;
  const GridOptions& o_;
  const size_t cells_;
  std::time_t start_;  // when the last budget was fitted
  size_t done_ = 0, fitted_ = 0;
};

}  // namespace

Result<size_t> RunGrid(const GridCommand& c) {
  MR_ASSIGN_OR_RETURN(const Grid grid, LoadGrid(c.file));
  GridOptions o;
  MR_ASSIGN_OR_RETURN(o.cells, Chosen(grid, c));
  for (const std::string& list : c.against) {
    for (const double budget : {kLeastBudget, 1.0}) {
      MR_RETURN_IF_ERROR(sched::Scheduler::CheckPolicies(WithBudget(list, budget)).With("--against '" + list + "'"));
    }
  }
  o.lists = c.against.empty() ? grid.references : c.against;
  // The limits of slot time are for the grid's first reference.
  if (!c.against.empty()) o.limits.slot_time = o.limits.idle_slot_time = std::numeric_limits<double>::infinity();
  o.references = o.lists.size();
  o.lists.push_back(grid.judged);
  for (const std::string& list : c.compare) {
    MR_RETURN_IF_ERROR(sched::Scheduler::CheckPolicies(list).With("--compare '" + list + "'"));
    o.lists.push_back(list);
  }
  o.seed = c.seed;
  o.seeds = c.seeds > 0 ? c.seeds : !c.part.empty() ? grid.quick_seeds : kSeeds;
  o.threads = c.threads > 0 ? c.threads : std::max(1u, std::thread::hardware_concurrency());
  o.data = c.data;
  Progress progress(grid, o);
  if (!c.no_progress) {
    o.fitted = [&](const CellRuns& cell) { progress.Fitted(cell); };
    o.progress = [&](const CellRuns& cell, size_t done, size_t all) { progress.Done(cell, done, all); };
  }
  MR_ASSIGN_OR_RETURN(const std::vector<CellRuns> cells, RunGrid(grid, o));
  const GridReport report = ReportOf(grid, o, cells);
  MR_RETURN_IF_ERROR(WriteAll(1, c.form == "json" ? Json(report) : Table(report)));
  return report.failed();
}

}  // namespace mr::sim
