// ./dev bench sched: what the scheduler costs by itself, and what a day of a large cluster costs in the
// simulator. CPU time of one thread; a loop over an ordered set measured in the same run tells how fast
// the machine was meanwhile. Prints a table; exits with 1 where a target is missed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "common/base/rng.h"
#include "master/sim/simulation.h"
#include "tests/bench/sched_load.h"

namespace mr::bench {
namespace {

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Inserts and erases per second of a std::set of 80,000 numbers, one for each slot of the load.
double SetChurn() {
  Rng rng(1);
  std::set<uint64_t> set;
  std::vector<uint64_t> members;
  while (members.size() < 80'000) {
    members.push_back(rng.Next());
    set.insert(members.back());
  }
  constexpr int kRounds = 500'000;
  const double begin = CpuSeconds();
  for (int i = 0; i < kRounds; ++i) {
    uint64_t& member = members[rng.Below(members.size())];
    set.erase(member);
    set.insert(member = rng.Next());
  }
  return kRounds / (CpuSeconds() - begin);
}

class Report {
 public:
  void Row(const std::string& what, double value, const char* unit, double limit, bool at_most) {
    const bool met = at_most ? value <= limit : value >= limit;
    all_met_ &= met;
    std::printf("%-66s %10.2f %-10s %s %10.2f  %s\n", what.c_str(), value, unit, at_most ? "<=" : ">=", limit, met ? "met" : "MISSED");
    std::fflush(stdout);
  }
  bool all_met() const { return all_met_; }

 private:
  bool all_met_ = true;
};

struct Target {
  const char* policies;
  double starts_per_second;
};

void Starts(const Target& target, Report* report) {
  constexpr int kRepeats = 3;
  std::vector<double> starts, churn, ratio;
  double bytes = 0;
  for (int i = 0; i < kRepeats; ++i) {
    churn.push_back(SetChurn());
    Load load;
    load.policies = target.policies;
    const Cost large = Run(load);
    bytes = large.bytes_per_live_task;
    starts.push_back(static_cast<double>(large.starts) / large.cpu_seconds);
    // The same jobs on a hundredth of the workers, to as many starts as tell a cost.
    load.workers = 100;
    load.racks = 3;
    load.stop_after = large.events / 4;
    const Cost small = Run(load);
    ratio.push_back(large.cpu_seconds / static_cast<double>(large.events) /
                    (small.cpu_seconds / static_cast<double>(small.events)));
  }
  const std::string name = target.policies;
  std::printf("%s: beside it a std::set of 80,000 does %.2f million erases and inserts a second\n", name.c_str(), Median(churn) / 1e6);
  report->Row(name + ": 10,000 workers x 8 slots, 1 M tasks, task starts", Median(starts), "per CPU s", target.starts_per_second, false);
  report->Row(name + ": cost of an event, of that with 100 workers", Median(ratio), "times", 1.5, true);
  report->Row(name + ": memory of a live task, 1 M of which 80,000 run", bytes, "bytes", 1024, true);
  report->Row(name + ": memory of a task that runs and has reported 8 times", BytesPerRunningTask(name), "bytes", 1024, true);
}

struct Day {
  double cpu_seconds = 0;
  uint64_t starts = 0;
};

Result<Day> Simulate(const std::string& file, const std::string& data, uint32_t workers, Duration report_period) {
  sim::Experiment experiment;
  MR_ASSIGN_OR_RETURN(experiment.jobs, sim::LoadWorkload(file, data, 1));
  MR_ASSIGN_OR_RETURN(experiment.cluster, sim::ParseCluster(std::to_string(workers) + "x8"));
  experiment.tasks.report_period = report_period;
  const double begin = CpuSeconds();
  sim::Simulation run(std::move(experiment));
  const std::string wrong = run.Run({});
  if (!wrong.empty()) return Internal(wrong);
  return Day{CpuSeconds() - begin, run.totals().starts};
}

bool Days(const std::string& data, Report* report) {
  const auto small = Simulate("FB-2009_samples_24_times_1hr_0.tsv", data, 600, Seconds(1));
  if (!small.ok()) std::fprintf(stderr, "bench: FB-2009: %s\n", small.status().ToString().c_str());
  else report->Row("a day of FB-2009 in the simulator, 600x8, fifo, reports each second", small->cpu_seconds, "CPU s", 10, true);
  // fifo reads no reports, and 8.5 million tasks make a hundred million of them.
  const auto large = Simulate("FB-2010_samples_24_times_1hr_0.tsv.gz", data, 3'000, Duration{});
  if (!large.ok()) std::fprintf(stderr, "bench: FB-2010: %s\n", large.status().ToString().c_str());
  else report->Row("a day of FB-2010 in the simulator, 3000x8, fifo, no reports: starts", static_cast<double>(large->starts) / large->cpu_seconds, "per CPU s", 100'000, false);
  return small.ok() && large.ok();
}

int Main() {
  Report report;
  for (const Target& target : {Target{"fifo", 100'000}, Target{"fair", 100'000}, Target{"fifo,late", 50'000}, Target{"fifo,mantri", 50'000}}) Starts(target, &report);
  const char* data = std::getenv("MR_DATA");
  bool run = true;
  if (data == nullptr) std::printf("MR_DATA does not say where traces are: the days of FB-2009 and FB-2010 are left out\n");
  else run = Days(data, &report);
  return report.all_met() && run ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main() { return mr::bench::Main(); }
