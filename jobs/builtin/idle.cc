// empty and sleep: jobs that do nothing, at once or after a while. For measuring what the engine
// itself costs, and for tests that need a task to be running.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "jobs/builtin/builtin.h"
#include "paceline/args.h"

namespace mr::builtin {
namespace {

class EmptyMap : public Mapper<std::string, std::string, std::string, std::string> {
 public:
  void Map(std::string_view, std::string_view, Out&) {}
};

class EmptyReduce : public Reducer<std::string, std::string, Text, Text> {
 public:
  void Reduce(std::string_view, Values<std::string>&, Out&) {}
};

class Nap : public Mapper<std::string, std::string, std::string, std::string> {
 public:
  void Map(std::string_view, std::string_view, Out&) {}
  void End(Out&) {
    // A worker's label slowdown=F makes it slow, for tests of speculation.
    const char* slowdown = std::getenv("MR_LABEL_SLOWDOWN");
    const double factor = slowdown == nullptr ? 1 : std::max(0.0, std::strtod(slowdown, nullptr));
    const double ms = factor * static_cast<double>(context().config().Int("ms"));
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
  }
};

void PlanEmpty(const std::vector<std::string>& argv, JobPlan& plan) {
  int64_t maps = 10, reduces = 0;
  bool isolate = false, map_only = false;
  Args args("empty");
  args.Add("--maps", &maps, 1, 1'000'000).Add("--reduces", &reduces, 1, 100'000);
  args.Add("--isolate", &isolate).Add("--map-only", &map_only).Parse(argv);
  const std::string prefix = isolate ? "empty.isolated_" : "empty.";
  auto& map = plan.Map("map", prefix + "map").Tasks(static_cast<uint32_t>(maps));
  if (map_only) {
    map.WriteFiles();
    return;
  }
  // 0 leaves the number to `mrctl submit --reduces`.
  plan.Reduce("reduce", prefix + "reduce")
      .Tasks(static_cast<uint32_t>(reduces))
      .Group(map.Shuffle())
      .WriteFiles();
}

void PlanSleep(const std::vector<std::string>& argv, JobPlan& plan) {
  int64_t ms = 1000, tasks = 1;
  Args("sleep").Add("--ms", &ms, 0, 86'400'000).Add("--tasks", &tasks, 1, 100'000).Parse(argv);
  plan.Map("sleep", "sleep.map")
      .Tasks(static_cast<uint32_t>(tasks))
      .Configure(Config().Set("ms", ms))
      .WriteFiles();
}

}  // namespace

void AddIdle(Library& library) {
  library.Add<EmptyMap>("empty.map", kPure)
      .Add<EmptyReduce>("empty.reduce", kPure)
      .Add<EmptyMap>("empty.isolated_map", MR_DETERMINISTIC)
      .Add<EmptyReduce>("empty.isolated_reduce", MR_DETERMINISTIC)
      .Add<Nap>("sleep.map", kPure)
      .AddJob<PlanEmpty>("empty",
                         "tasks that do nothing, to measure the engine\n"
                         "  --maps N               map tasks (default 10)\n"
                         "  --reduces N            reduce tasks\n"
                         "  --map-only             no reduce stage\n"
                         "  --isolate              a process for each attempt")
      .AddJob<PlanSleep>("sleep",
                         "tasks that nap, to test the engine\n"
                         "  --ms N                 how long (default 1000); times F on a worker with --label slowdown=F\n"
                         "  --tasks N              how many (default 1)");
}

}  // namespace mr::builtin
