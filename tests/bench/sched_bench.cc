// ./dev bench sched: the cost of the scheduler alone, and of a day of a large cluster in the simulator. CPU time of one
// thread. A loop over an ordered set in the same run measures the machine's speed. Prints a table; exits with 1 if a
// target is missed.
//   sched_bench 1             one repeat
//   sched_bench 1 fair        only this list, which may be any; default: the default list
//   sched_bench 1 days        only traces
//   sched_bench 1 profile     only the profile of a job
//   sched_bench 1 pairs LIST  a short load of one list, to compare two builds (pairs.sh); without LIST: of each list
//   sched_bench 1 digest LIST digests of whole runs, without reports and with them, to compare decisions of two builds
//   sched_bench 1 whole LIST  the same for one run of a million tasks without reports, and its cost
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "common/base/rng.h"
#include "common/io/huge_heap.h"
#include "master/sched/pipeline.h"
#include "master/sched/scheduler.h"
#include "master/sim/engine/simulation.h"
#include "tests/bench/sched_load.h"

namespace mr::bench {
namespace {

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Returns inserts and erases per second of a std::set of 80,000 numbers, one per slot of the load.
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
    std::printf("%-76s %10.2f %-10s %s %10.2f  %s\n", what.c_str(), value, unit, at_most ? "<=" : ">=", limit,
                met ? "met" : "MISSED");
    std::fflush(stdout);
  }
  bool all_met() const { return all_met_; }

 private:
  bool all_met_ = true;
};

struct Target {
  const char* policies;
  double starts_per_second;
  uint32_t deadlines = 0;  // Load::deadlines
};

double PerEvent(const Cost& cost) { return cost.cpu_seconds / static_cast<double>(cost.events); }

// Returns true for lists under which tasks wait seconds for slots near their data. Submitting all jobs at one instant
// is no useful load for these: the clock stands, no wait ends, and each job asks each free worker again.
bool Waits(const std::string& policies) {
  const auto items = sched::Pipeline::Items(policies);
  return std::any_of(items.begin(), items.end(),
                     [](const std::string& item) { return item.rfind("delay(", 0) == 0 || item == "delay"; });
}

void Starts(const Target& target, int repeats, bool reports, Report* report) {
  std::vector<double> starts, churn, ratio, busy;
  double bytes = 0, per_start = 0;
  for (int i = 0; i < repeats; ++i) {
    churn.push_back(SetChurn());
    Load load;
    load.policies = target.policies;
    load.deadlines = target.deadlines;
    if (Waits(target.policies)) load.batch = 10, load.gap = 1;
    load.report_period = reports ? 1 : 0;
    // With reports a part of the million tasks is enough: from the end of the first tasks on, with 10,000 frames a
    // second.
    load.warm_seconds = reports ? 60 : 0;
    load.stop_after = reports ? 1'300'000 : 0;
    // First their guaranteed slots are taken from other jobs.
    if (target.deadlines > 0 && !reports) load.warm_seconds = 60, load.stop_after = 1'900'000;
    const Cost large = Run(load);
    bytes = large.bytes_per_live_task;
    starts.push_back(static_cast<double>(large.starts) / large.cpu_seconds);
    busy.push_back(large.cpu_seconds / large.virtual_seconds);
    per_start = static_cast<double>(large.reports) / static_cast<double>(large.starts);
    if (target.deadlines > 0) {  // compare with the same jobs without deadlines
      load.deadlines = 0;
    } else {  // compare with the same jobs on a hundredth of the workers
      load.workers = 100;
      load.racks = 3;
      load.stop_after = (reports ? load.stop_after : large.events) / 4;
    }
    ratio.push_back(PerEvent(large) / PerEvent(Run(load)));
  }
  std::string name = std::string(target.policies) + (reports ? ", reports" : ", no reports");
  if (target.deadlines > 0) name += ", " + std::to_string(target.deadlines) + " deadlines";
  std::printf(
      "%s: %.0f reports a start; beside it a std::set of 80,000 does %.2f million erases and inserts a second\n",
      name.c_str(), per_start, Median(churn) / 1e6);
  report->Row(name + ": 10,000 workers x 8 slots, task starts", Median(starts), "per CPU s", target.starts_per_second,
              false);
  report->Row(name + (target.deadlines > 0 ? ": cost of an event, of that without them"
                                           : ": cost of an event, of that with 100 workers"),
              Median(ratio), "times", 1.5, true);
  if (reports) {
    report->Row(name + ": a second of such a cluster", Median(busy), "CPU s", 1, true);
    report->Row(name + ": memory of a task that has reported 8 times", BytesPerRunningTask(target.policies), "bytes",
                1024, true);
  } else if (target.deadlines == 0) {
    report->Row(name + ": memory of a live task, 80,000 of 1 M running", bytes, "bytes", 1024, true);
  }
}

constexpr size_t kFirstJobs = 2'000;

struct Day {
  double cpu_seconds = 0;
  uint64_t starts = 0;
};

// jobs: the number of first jobs to simulate.
Result<Day> Simulate(const std::string& file, const std::string& data, uint32_t workers, size_t jobs,
                     Duration report_period) {
  sim::Experiment experiment;
  MR_ASSIGN_OR_RETURN(experiment.jobs, sim::LoadWorkload(file, data, 1));
  if (experiment.jobs.size() > jobs) experiment.jobs.resize(jobs);
  MR_ASSIGN_OR_RETURN(experiment.cluster, sim::ParseCluster(std::to_string(workers) + "x8"));
  experiment.tasks.report_period = report_period;
  const double begin = CpuSeconds();
  sim::Simulation run(std::move(experiment));
  const std::string wrong = run.Run({});
  if (!wrong.empty()) return Internal(wrong);
  return Day{CpuSeconds() - begin, run.totals().starts};
}

bool Days(const std::string& data, Report* report) {
  const auto small = Simulate("FB-2009_samples_24_times_1hr_0.tsv", data, 600, SIZE_MAX, Seconds(1));
  if (!small.ok()) {
    std::fprintf(stderr, "bench: FB-2009: %s\n", small.status().ToString().c_str());
  } else {
    report->Row("a day of FB-2009 in the simulator, 600x8, fifo, reports each second", small->cpu_seconds, "CPU s", 10,
                true);
  }
  // Without reports: fifo does not read them, and the day's 8.5 million tasks would make a hundred million. The whole
  // day takes minutes, so the rate is that of its first jobs.
  const auto large = Simulate("FB-2010_samples_24_times_1hr_0.tsv", data, 3'000, kFirstJobs, Duration{});
  if (!large.ok()) {
    std::fprintf(stderr, "bench: FB-2010: %s\n", large.status().ToString().c_str());
  } else {
    std::printf("FB-2010: the first %zu jobs made %.2f million starts\n", kFirstJobs,
                static_cast<double>(large->starts) / 1e6);
    report->Row("the first jobs of FB-2010 in the simulator, 3000x8, fifo, no reports: starts",
                static_cast<double>(large->starts) / large->cpu_seconds, "per CPU s", 100'000, false);
  }
  return small.ok() && large.ok();
}

constexpr double kOfAnyList = 50'000, kOfDefaultList = 60'000;
constexpr Target kTargets[] = {{"fifo", 100'000},
                               {"fair", 100'000},
                               {"fair,jockey", 50'000, 500},
                               {"fair,coupling", 50'000},
                               {"fifo,late", 50'000},
                               {"fifo,mantri", 50'000},
                               {sched::kDefaultPolicies, kOfDefaultList}};

// Prints the CPU time per event of a load of some hundred milliseconds, with and without reports. It is short, so that
// two builds that run it in turn find the machine equally busy.
void Short(const Target& target) {
  for (const bool reports : {false, true}) {
    Load load;
    load.policies = target.policies;
    load.workers = 1'000;
    load.racks = 25;
    load.jobs = 200;
    load.batch = 200;
    load.deadlines = target.deadlines / 10;
    if (Waits(target.policies)) load.batch = 10, load.gap = 1;
    load.report_period = reports ? 1 : 0;
    load.warm_seconds = reports ? 20 : 0;
    load.stop_after = reports ? 90'000 : 60'000;
    const Cost cost = Run(load);
    const std::string name = std::string(target.policies) + (reports ? ", reports" : ", no reports");
    std::printf("%-70s %10.3f us per event\n", name.c_str(), 1e6 * PerEvent(cost));
  }
}

// Prints the digest of a whole run: a hash over the state's digests after each event, which no two runs with different
// decisions share.
void Digest(const Target& target, bool large, bool reports) {
  Load load;
  load.policies = target.policies;
  if (!large) load.workers = 1'000, load.racks = 25, load.jobs = load.batch = 100;
  load.deadlines = large ? target.deadlines : target.deadlines / 10;
  if (Waits(target.policies)) load.batch = 10, load.gap = 1;
  load.report_period = reports ? 1 : 0;
  const Cost cost = Run(load);
  std::printf("%s%s: digest %016llx, %llu events, %llu starts, %.0f per CPU s\n", target.policies,
              reports ? ", reports" : "", static_cast<unsigned long long>(cost.digest),
              static_cast<unsigned long long>(cost.events), static_cast<unsigned long long>(cost.starts),
              static_cast<double>(cost.starts) / cost.cpu_seconds);
}

// repeats: their medians are printed. only: as above; empty: all. list: of `pairs`, `digest` and `whole`; empty: each.
int Main(int repeats, const std::string& only, const std::string& list) {
  if (only == "pairs") {
    for (const Target& target : kTargets) {
      if (list.empty() || target.policies == list) Short(target);
    }
    return 0;
  }
  if (only == "digest" || only == "whole") {
    for (const Target& target : kTargets) {
      if (!list.empty() && target.policies != list) continue;
      Digest(target, only == "whole", false);
      if (only == "digest") Digest(target, false, true);
    }
    return 0;
  }
  Report report;
  std::vector<Target> targets(std::begin(kTargets), std::end(kTargets));
  const auto named = [&](const Target& t) { return t.policies == only; };
  const bool other =
      !only.empty() && only != "days" && only != "profile" && std::none_of(targets.begin(), targets.end(), named);
  if (other) targets.push_back({only.c_str(), kOfAnyList});
  for (const bool reports : {false, true}) {
    for (const Target& target : targets) {
      if (only.empty() || named(target)) Starts(target, repeats, reports, &report);
    }
  }
  if (only.empty() || only == "profile") {
    report.Row("what a job of 10,000 tasks taught, gathered on the master's thread at its end",
               1e3 * ProfileCpuSeconds(9'800, 200), "CPU ms", 5, true);
  }
  const char* data = std::getenv("MR_DATA");
  bool run = true;
  if (!only.empty() && only != "days") return report.all_met() ? 0 : 1;
  if (data == nullptr)
    std::printf("MR_DATA does not say where traces are: the days of FB-2009 and FB-2010 are left out\n");
  else
    run = Days(data, &report);
  return report.all_met() && run ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) {
  mr::GrowHeapInHugePages();  // as mrmaster does
  const auto list = [&](int i) -> std::string {
    if (i >= argc) return "";
    return std::string(argv[i]) == "default" ? mr::sched::kDefaultPolicies : argv[i];
  };
  return mr::bench::Main(argc > 1 ? std::max(1, std::atoi(argv[1])) : 3, list(2), list(3));
}
