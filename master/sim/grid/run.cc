#include "master/sim/grid/run.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <map>
#include <mutex>
#include <thread>

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

// The work of all threads: a unit is a seed of a cell.
class Work {
 public:
  Work(const Grid& grid, const GridOptions& options) : grid_(grid), o_(options) {}

  Status LoadSources() {
    for (const size_t c : o_.cells) {
      CellRuns& cell = cells_.emplace_back();
      cell.cell = c;
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

  void RunUnits() {
    for (size_t u = next_++; u < units_.size() && !failed_; u = next_++) {
      const double before = ThreadSeconds();
      const Status ran = RunUnit(units_[u]);
      const double cpu = ThreadSeconds() - before;
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!ran.ok()) {
        failed_ = true;
        if (status_.ok()) status_ = ran;
        return;
      }
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

  Status RunUnit(const Unit& unit) {
    CellRuns& cell = cells_[unit.cell];
    const GridCell& spec = grid_.cells[cell.cell];
    const uint64_t seed = o_.seed + unit.seed;
    MR_ASSIGN_OR_RETURN(const Experiment world, MakeWorld(grid_, spec, sources_.find(spec.workload)->second, seed));
    for (size_t l = 0; l < o_.lists.size(); ++l) {
      Experiment experiment = world;
      experiment.policies = o_.lists[l];
      Simulation run(std::move(experiment));
      const std::string wrong = run.Run(nullptr);
      if (!wrong.empty()) {
        return Internal(spec.name + Printed(": the simulation of seed %llu under '", (unsigned long long)seed) +
                        o_.lists[l] + "' stopped " + wrong);
      }
      cell.runs[l][unit.seed] = NumbersOf(run);
      if (l == 0) used_[unit.cell][unit.seed] = run.totals().busy / (world.jobs.back().submit * world.cluster.slots());
    }
    return Status::Ok();
  }

  const Grid& grid_;
  const GridOptions& o_;
  std::map<std::string, SourceJobs> sources_;
  std::vector<CellRuns> cells_;
  std::vector<Unit> units_;
  std::vector<uint32_t> left_;
  std::vector<std::vector<double>> used_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // guards what follows, left_, and what cells have beside their runs
  size_t done_ = 0;
  Status status_;
};

}  // namespace

Result<std::vector<CellRuns>> RunGrid(const Grid& grid, const GridOptions& options) {
  Work work(grid, options);
  MR_RETURN_IF_ERROR(work.LoadSources());
  std::vector<std::thread> threads;
  for (uint32_t t = 1; t < options.threads; ++t) threads.emplace_back([&work] { work.RunUnits(); });
  work.RunUnits();
  for (std::thread& thread : threads) thread.join();
  return work.Finish();
}

}  // namespace mr::sim
