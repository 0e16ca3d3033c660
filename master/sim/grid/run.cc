#include "master/sim/grid/run.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <map>
#include <mutex>
#include <thread>

#include "master/sim/grid/budget.h"
#include "master/sim/grid/world.h"

namespace mr::sim {

namespace {

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

SeedRun NumbersOf(const Simulation& run) {
  SeedRun numbers;
  const auto bins = BinsOf(run.jobs());
  for (size_t b = 0; b < bins.size(); ++b) numbers.bins[b] = {bins[b].jobs, bins[b].mean, bins[b].p95};
  numbers.slot_seconds = run.totals().busy;
  for (const JobResult& job : run.jobs()) {
    numbers.failed += !job.succeeded;
    numbers.deadlines += job.deadline > 0;
    numbers.late += job.late();
  }
  return numbers;
}

// Runs one list. Errors: kInternal: the simulation stopped.
Result<SeedRun> RunOne(const Experiment& world, const std::string& list, const std::string& cell) {
  Experiment experiment = world;
  experiment.policies = list;
  Simulation run(std::move(experiment));
  const std::string wrong = run.Run(nullptr);
  if (wrong.empty()) return NumbersOf(run);
  return Internal(cell + Printed(": the simulation of seed %llu under '", static_cast<unsigned long long>(world.seed)) +
                  list + "' stopped " + wrong);
}

// The work of all threads: first a unit is a cell whose budgets are fitted, then a seed of a cell.
class Work {
 public:
  Work(const Grid& grid, const GridOptions& options) : grid_(grid), o_(options) {}

  Status LoadSources() {
    for (const size_t c : o_.cells) {
      CellRuns& cell = cells_.emplace_back();
      cell.cell = c;
      cell.lists = o_.lists;
      cell.budgets.resize(o_.lists.size());
      const std::string& name = grid_.cells[c].workload;
      const GridSource& source = grid_.sources.find(name)->second;
      if (!source.generated() && o_.data.empty()) {
        cell.skipped = "it needs traces, and neither --data nor MR_DATA has a folder";
        continue;
      }
      if (!sources_.contains(name)) {
        auto loaded = LoadSource(source, o_.data);
        if (loaded.status().code() == Code::kNotFound) {
          cell.skipped = loaded.status().message();
          continue;
        }
        MR_RETURN_IF_ERROR(loaded.status());
        sources_.emplace(name, *std::move(loaded));
      }
      cell.runs.assign(o_.lists.size(), std::vector<SeedRun>(o_.seeds));
      for (uint32_t s = 0; s < o_.seeds; ++s) units_.push_back({cells_.size() - 1, s});
      left_.resize(cells_.size(), o_.seeds);
      used_.resize(cells_.size(), std::vector<double>(o_.seeds));
    }
    return Status::Ok();
  }

  void FitBudgets() {
    for (size_t c = next_cell_++; c < cells_.size() && !failed_; c = next_cell_++) {
      if (!cells_[c].skipped.empty()) continue;
      const double before = ThreadSeconds();
      const Status fitted = FitBudgetsOf(&cells_[c]);
      cells_[c].cpu += ThreadSeconds() - before;
      if (!fitted.ok()) return Fail(fitted);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (o_.fitted) o_.fitted(cells_[c]);
    }
  }

  void RunUnits() {
    for (size_t u = next_++; u < units_.size() && !failed_; u = next_++) {
      const double before = ThreadSeconds();
      const Status ran = RunUnit(units_[u]);
      const double cpu = ThreadSeconds() - before;
      if (!ran.ok()) return Fail(ran);
      const std::lock_guard<std::mutex> lock(mutex_);
      const size_t at = units_[u].cell;
      CellRuns& cell = cells_[at];
      cell.cpu += cpu;
      ++done_;
      if (--left_[at] > 0) continue;
      for (const double used : used_[at]) cell.load += used / o_.seeds;
      if (o_.progress) o_.progress(cell, done_, units_.size());
    }
  }

  Result<std::vector<CellRuns>> Finish() {
    MR_RETURN_IF_ERROR(status_);
    return std::move(cells_);
  }

 private:
  struct Unit {
    size_t cell = 0;  // index in cells_
    uint32_t seed = 0;
  };

  void Fail(const Status& status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failed_ = true;
    if (status_.ok()) status_ = status;
  }

  Result<Experiment> WorldOf(const CellRuns& cell, uint32_t seed) const {
    const GridCell& spec = grid_.cells[cell.cell];
    return MakeWorld(grid_, spec, sources_.find(spec.workload)->second, o_.seed + seed);
  }

  // The slot time of a list on the seeds that fit budgets.
  Result<std::vector<double>> SlotTimes(const CellRuns& cell, const std::string& list) const {
    std::vector<double> times;
    for (uint32_t s = 0; s < std::min(o_.seeds, o_.budget_seeds); ++s) {
      MR_ASSIGN_OR_RETURN(const Experiment world, WorldOf(cell, s));
      MR_ASSIGN_OR_RETURN(const SeedRun run, RunOne(world, list, grid_.cells[cell.cell].name));
      times.push_back(run.slot_seconds);
    }
    return times;
  }

  Status FitBudgetsOf(CellRuns* cell) const {
    std::vector<double> judged;
    for (size_t l = 0; l < o_.references; ++l) {
      if (!HasBudget(o_.lists[l])) continue;
      if (judged.empty()) {
        MR_ASSIGN_OR_RETURN(judged, SlotTimes(*cell, o_.lists[o_.references]));
      }
      const auto slot_time = [&](double budget) -> Result<double> {
        MR_ASSIGN_OR_RETURN(const std::vector<double> times, SlotTimes(*cell, WithBudget(o_.lists[l], budget)));
        return PairedRatio(times, judged, .95).value;
      };
      MR_ASSIGN_OR_RETURN(const FittedBudget fitted, FitBudget(slot_time));
      cell->budgets[l] = fitted.budget;
      cell->lists[l] = WithBudget(o_.lists[l], fitted.budget);
    }
    return Status::Ok();
  }

  Status RunUnit(const Unit& unit) {
    CellRuns& cell = cells_[unit.cell];
    MR_ASSIGN_OR_RETURN(const Experiment world, WorldOf(cell, unit.seed));
    for (size_t l = 0; l < cell.lists.size(); ++l) {
      MR_ASSIGN_OR_RETURN(cell.runs[l][unit.seed], RunOne(world, cell.lists[l], grid_.cells[cell.cell].name));
    }
    used_[unit.cell][unit.seed] =
        cell.runs.front()[unit.seed].slot_seconds / (world.jobs.back().submit * world.cluster.slots());
    return Status::Ok();
  }

  const Grid& grid_;
  const GridOptions& o_;
  std::map<std::string, SourceJobs> sources_;
  std::vector<CellRuns> cells_;
  std::vector<Unit> units_;
  std::vector<uint32_t> left_;
  std::vector<std::vector<double>> used_;
  std::atomic<size_t> next_cell_ = 0, next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // guards what follows, left_, and what cells have beside their runs
  size_t done_ = 0;
  Status status_;
};

}  // namespace

Result<std::vector<CellRuns>> RunGrid(const Grid& grid, const GridOptions& options) {
  Work work(grid, options);
  MR_RETURN_IF_ERROR(work.LoadSources());
  for (const auto part : {&Work::FitBudgets, &Work::RunUnits}) {
    std::vector<std::thread> threads;
    for (uint32_t t = 1; t < options.threads; ++t) threads.emplace_back(part, &work);
    (work.*part)();
    for (std::thread& thread : threads) thread.join();
  }
  return work.Finish();
}

}  // namespace mr::sim
