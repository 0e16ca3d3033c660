// The program mrsim: parses, builds the experiment, runs, prints.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "common/io/descriptors.h"
#include "common/io/files.h"
#include "common/io/huge_heap.h"
#include "common/io/target_file.h"
#include "master/sim/options.h"
#include "master/sim/schedulers.h"
#include "master/sim/studies/compare.h"
#include "master/sim/studies/reproduce.h"
#include "master/sim/swarm/core_world.h"
#include "master/sim/swarm/shrink.h"
#include "master/sim/swarm/swarm.h"
#include "master/sim/traces/workload.h"

namespace mr::sim {

namespace {

// Published exit codes (README.md), equal to those of mrctl where they mean the same.
enum ExitCode : int { kOk = 0, kBroken = 1, kUsage = 2, kRejected = 3, kNotFound = 7, kInternal = 70 };

bool WantsJson(const std::vector<std::string>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "-ojson" || (args[i] == "-o" && i + 1 < args.size() && args[i + 1] == "json")) return true;
  }
  return false;
}

int Fail(const Status& status, bool json) {
  if (json) {
    (void)WriteAll(1, std::string("{\"version\":1,\"error\":{\"code\":\"") + CodeName(status.code()) +
                          "\",\"message\":\"" + JsonEscape(status.message()) + "\",\"hint\":\"\"}}\n");
  } else {
    std::fprintf(stderr, "mrsim: %s\n", status.message().c_str());
  }
  if (status.code() == Code::kInvalidArgument) return kUsage;
  if (status.code() == Code::kRejected) return kRejected;
  return status.code() == Code::kNotFound ? kNotFound : kInternal;
}

// Draws the progress bar of ended jobs over the previous one. first: label of one run among several, or "".
void Draw(const std::string& first, size_t done, size_t all, Instant now) {
  constexpr size_t kWidth = 30;
  const size_t full = all == 0 ? kWidth : kWidth * done / all;
  std::fprintf(stderr, "\r%s[%s%s] %zu/%zu jobs, %s simulated   ", first.c_str(), std::string(full, '#').c_str(),
               std::string(kWidth - full, '.').c_str(), done, all, HumanDuration({now.ns}).c_str());
}

bool Terminal() {
  const char* term = std::getenv("TERM");
  return isatty(2) == 1 && (term == nullptr || std::string(term) != "dumb");
}

Result<std::vector<PolicyList>> ListsOf(const Options& o) {
  if (!o.compare.empty()) return ListsToCompare(o.compare);
  if (!o.ablate.empty()) return ListsToAblate(o.ablate);
  MR_RETURN_IF_ERROR(sched::Scheduler::CheckPolicies(o.scheduler));
  return std::vector<PolicyList>{{o.scheduler, ""}};
}

Result<int> RunLists(const Options& o) {
  CompareOptions run;
  MR_ASSIGN_OR_RETURN(run.lists, ListsOf(o));
  Experiment frame;
  std::string cluster = o.cluster.empty() ? "150x12" : o.cluster;
  MR_ASSIGN_OR_RETURN(frame.cluster, ParseCluster(cluster));
  if (!o.model.empty()) {
    MR_ASSIGN_OR_RETURN(const std::string text, ReadFile(o.model));
    MR_ASSIGN_OR_RETURN(frame.tasks, ParseTasksToml(text, o.model));
    if (o.cluster.empty()) {
      cluster = o.model;
      MR_ASSIGN_OR_RETURN(frame.cluster, ParseClusterToml(text, o.model));
    }
  }
  if (!o.report_period.empty()) {
    MR_ASSIGN_OR_RETURN(frame.tasks.report_period, ParseDuration(o.report_period));
  }
  if (!o.plot.empty()) MR_RETURN_IF_ERROR(CheckWritable("--plot", o.plot));
  run.seed = o.seed;
  run.seeds = o.run_seeds;
  run.plot_job = o.plot_job;
  run.keep_completions = !o.plot.empty();
  run.make = [&](uint64_t seed) -> Result<Experiment> {
    Experiment experiment = frame;
    const char* from = std::getenv("MR_DATA");
    MR_ASSIGN_OR_RETURN(Trace trace, LoadTrace({o.workload,
                                                !o.data.empty()   ? o.data
                                                : from != nullptr ? from
                                                                  : "",
                                                o.format, seed}));
    for (const std::string& note : trace.notes) {
      if (seed == o.seed) std::fprintf(stderr, "mrsim: %s: %s\n", o.workload.c_str(), note.c_str());
    }
    experiment.jobs = std::move(trace.jobs);
    experiment.seed = seed;
    experiment.learn = true;
    return experiment;
  };
  const size_t runs = run.lists.size() * run.seeds;
  const bool bar = !o.no_progress && Terminal();
  if (bar) {
    run.progress = [&](size_t list, uint32_t seed, size_t done, size_t all, Instant now) {
      Draw(runs == 1 ? "" : Printed("run %zu/%zu ", seed * run.lists.size() + list + 1, runs), done, all, now);
    };
  }
  const auto results = RunLists(run);
  if (bar) std::fputs("\r\033[K", stderr);
  MR_RETURN_IF_ERROR(results.status());
  const Header header{o.workload, cluster, o.seed, o.run_seeds, frame.cluster.slots()};
  if (!o.plot.empty()) MR_RETURN_IF_ERROR(WriteTarget(o.plot, Plot(header, *results, o.plot_job)).With("--plot"));
  const bool json = o.form == "json";
  if (run.lists.size() > 1) {
    MR_RETURN_IF_ERROR(WriteAll(1, json ? ComparisonJson(header, *results) : ComparisonTable(header, *results)));
  } else {
    const Summary& summary = results->front().summary;
    MR_RETURN_IF_ERROR(WriteAll(1, json ? Json(header, summary) : Table(header, summary)));
  }
  return kOk;
}

Result<int> RunSwarm(const Options& o) {
  constexpr size_t kLastEvents = 20;
  constexpr std::clock_t kShrinkFor = 60;  // CPU seconds
  if (o.scheduler != kAnyPolicies) MR_RETURN_IF_ERROR(sched::Scheduler::CheckPolicies(o.scheduler));
  uint32_t broken = 0;
  const bool bar = !o.no_progress && Terminal();
  for (uint32_t i = 0; i < o.count && !(o.first && broken > 0); ++i) {
    if (bar && i % 16 == 0) std::fprintf(stderr, "\r%u/%u configurations ", i, o.count);
    const uint64_t seed = o.seed + i;
    const std::string wrong = RunChecked(RandomExperiment(seed, o.scheduler));
    if (wrong.empty()) continue;
    std::fprintf(stderr, "%smrsim swarm --count 1 --seed %llu --scheduler '%s'  # %s\n", bar ? "\r\033[K" : "",
                 static_cast<unsigned long long>(seed), o.scheduler.c_str(), wrong.c_str());
    if (++broken > 1) continue;  // shrink only the first
    const std::clock_t stop = std::clock() + kShrinkFor * CLOCKS_PER_SEC;
    const auto check = [stop](const Experiment& e) { return std::clock() < stop ? RunChecked(e) : std::string(); };
    const Shrunk small = Shrink(RandomExperiment(seed, o.scheduler), check);
    std::fprintf(stderr, "shrunk in %u runs to: %s\n%s... its last events:\n%s", small.runs, small.wrong.c_str(),
                 Describe(small.experiment).c_str(), LastEvents(small.experiment, kLastEvents).c_str());
  }
  if (bar) std::fputs("\r\033[K", stderr);
  std::printf("%u configurations, %u broken\n", o.count, broken);
  return broken == 0 ? kOk : kBroken;
}

Result<int> RunMasterSwarm(const Options& o) {
  uint32_t broken = 0;
  CoreWorld::Counts counts;
  const bool bar = !o.no_progress && Terminal();
  for (uint32_t i = 0; i < o.count && !(o.first && broken > 0); ++i) {
    if (bar && i % 16 == 0) std::fprintf(stderr, "\r%u/%u configurations ", i, o.count);
    const uint64_t seed = o.seed + i;
    CoreWorld world(seed);
    const std::string wrong = world.Run();
    counts.Add(world.counts());
    if (wrong.empty()) continue;
    ++broken;
    std::fprintf(stderr, "%smrsim swarm --master --count 1 --seed %llu  # %s\n", bar ? "\r\033[K" : "",
                 static_cast<unsigned long long>(seed), wrong.c_str());
  }
  if (bar) std::fputs("\r\033[K", stderr);
  std::printf(
      "%u configurations, %u broken: %llu records, %llu restarts that lost %llu, %llu snapshots, %llu lost workers, "
      "%llu jobs: %llu succeeded, %llu killed, %llu failed\n",
      o.count, broken, static_cast<unsigned long long>(counts.records),
      static_cast<unsigned long long>(counts.restarts), static_cast<unsigned long long>(counts.lost_records),
      static_cast<unsigned long long>(counts.snapshots), static_cast<unsigned long long>(counts.lost_workers),
      static_cast<unsigned long long>(counts.jobs), static_cast<unsigned long long>(counts.succeeded),
      static_cast<unsigned long long>(counts.killed), static_cast<unsigned long long>(counts.failed));
  return broken == 0 ? kOk : kBroken;
}

Result<int> RunReproduce(const Options& o) {
  const char* from = std::getenv("MR_DATA");
  ReproduceOptions options{o.figure, !o.data.empty() ? o.data : from != nullptr ? from : "", o.seeds, nullptr};
  const bool line = !o.no_progress && Terminal();
  if (line) options.progress = [](const std::string& now) { std::fprintf(stderr, "\r\033[K%s ...", now.c_str()); };
  const Result<Reproduction> done = Reproduce(options);
  if (line) std::fputs("\r\033[K", stderr);
  MR_RETURN_IF_ERROR(done.status());
  MR_RETURN_IF_ERROR(WriteAll(1, o.form == "json" ? Json(*done) : Table(*done)));
  return o.check && done->missed() > 0 ? kBroken : kOk;
}

Result<int> RunGrid(const Options& o) {
  GridCommand command = o.grid;
  const char* from = std::getenv("MR_DATA");
  if (command.data.empty() && from != nullptr) command.data = from;
  MR_ASSIGN_OR_RETURN(const size_t failed, RunGrid(command));
  return command.check && failed > 0 ? kBroken : kOk;
}

Result<int> PrintSchedulers(const Options& o) {
  MR_RETURN_IF_ERROR(WriteAll(1, o.form == "json" ? SchedulersJson() : SchedulersTable()));
  return kOk;
}

Result<int> RunCalibrate(const Options& o) {
  CalibrateCommand command = o.calibrate;
  const char* from = std::getenv("MR_DATA");
  if (command.data.empty() && from != nullptr) command.data = from;
  MR_RETURN_IF_ERROR(RunCalibrate(command));
  return kOk;
}

}  // namespace

int Main(const std::vector<std::string>& args) {
  const bool json = WantsJson(args);
  auto options = ParseOptions(args);
  if (!options.ok()) return Fail(options.status(), json);
  if (!options->help.empty()) {
    (void)WriteAll(1, options->help);
    return kOk;
  }
  auto exit = options->grid.on                ? RunGrid(*options)
              : options->verb == "run"        ? RunLists(*options)
              : options->verb == "replay"     ? RunReplay(options->replay)
              : options->verb == "reproduce"  ? RunReproduce(*options)
              : options->verb == "calibrate"  ? RunCalibrate(*options)
              : options->verb == "schedulers" ? PrintSchedulers(*options)
              : options->master               ? RunMasterSwarm(*options)
                                              : RunSwarm(*options);
  return exit.ok() ? *exit : Fail(exit.status(), json);
}

}  // namespace mr::sim

int main(int argc, char** argv) {
  mr::HoldStandardDescriptors();
  mr::GrowHeapInHugePages();
  return mr::sim::Main({argv + 1, argv + argc});
}
