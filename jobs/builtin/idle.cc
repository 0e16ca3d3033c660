// empty and sleep: jobs whose tasks do nothing, or only sleep. They measure the engine's overhead, and serve tests that
// need a running task.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
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

// Returns F of a worker's label slowdown=F, which multiplies its sleeps, for tests of speculation.
double Slowdown() {
  const char* slowdown = std::getenv("MR_LABEL_SLOWDOWN");
  return slowdown == nullptr ? 1 : std::max(0.0, std::strtod(slowdown, nullptr));
}

void SleepFor(double ms) { std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms)); }

// Sleeps, then sends its share of `steps` records to each reduce.
class Nap : public Mapper<int64_t, int64_t, int64_t, int64_t>, public Partitioner<int64_t> {
 public:
  void Map(int64_t, int64_t, Out&) {}
  void End(Out& out) {
    const Config config = context().config();
    SleepFor(Slowdown() * static_cast<double>(config.Int("ms")));
    const int64_t steps = config.Int("steps"), reduces = context().partitions();
    for (int64_t step = context().task(); step < steps; step += context().tasks()) {
      for (int64_t r = 0; r < reduces; ++r) out.Emit(r, step);
    }
  }
  uint32_t Partition(int64_t reduce, uint32_t partitions) { return static_cast<uint32_t>(reduce) % partitions; }
};

class OnlyNap : public Mapper<int64_t, int64_t, Text, Text> {
 public:
  void Map(int64_t, int64_t, Out&) {}
  void End(Out&) { SleepFor(Slowdown() * static_cast<double>(context().config().Int("ms"))); }
};

// Sleeps once per record, so that it makes progress while it sleeps. Times are uniform on [0, 2t] with mean t. Source:
// LATE (OSDI'08) 5.4. Each attempt draws its own times; the output is the number of records.
class NapPerStep : public Reducer<int64_t, int64_t, Text, Text> {
 public:
  void Open() {
    std::seed_seq seed(context().attempt_id().begin(), context().attempt_id().end());
    rng_.seed(seed);
    const Config config = context().config();
    mean_ms_ = Slowdown() * static_cast<double>(config.Int("ms")) / static_cast<double>(config.Int("steps"));
  }
  void Reduce(int64_t reduce, Values<int64_t>& steps, Out& out) {
    int64_t n = 0;
    for (const int64_t step : steps) {
      SleepFor(std::uniform_real_distribution<double>(0, 2 * mean_ms_)(rng_));
      n += step >= 0;
    }
    out.Emit(reduce, n);
  }

 private:
  std::mt19937 rng_;
  double mean_ms_ = 0;
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
  // 0: `mrctl submit --reduces` decides the number.
  plan.Reduce("reduce", prefix + "reduce").Tasks(static_cast<uint32_t>(reduces)).Group(map.Shuffle()).WriteFiles();
}

void PlanSleep(const std::vector<std::string>& argv, JobPlan& plan) {
  constexpr int64_t kDay = 86'400'000;
  int64_t ms = 1000, tasks = 1, reduces = 0, reduce_ms = 1000, steps = 100;
  Args args("sleep");
  args.Add("--ms", &ms, 0, kDay).Add("--tasks", &tasks, 1, 100'000);
  args.Add("--reduces", &reduces, 0, 100'000).Add("--reduce-ms", &reduce_ms, 0, kDay);
  args.Add("--steps", &steps, 1, 1'000'000).Parse(argv);
  auto& map = plan.Map("sleep", reduces == 0 ? "sleep.only_map" : "sleep.map").Tasks(static_cast<uint32_t>(tasks));
  map.Configure(Config().Set("ms", ms).Set("steps", reduces == 0 ? 0 : steps));
  if (reduces == 0) {
    map.WriteFiles();
    return;
  }
  plan.Reduce("steps", "sleep.reduce")
      .Tasks(static_cast<uint32_t>(reduces))
      .Configure(Config().Set("ms", reduce_ms).Set("steps", steps))
      .Group(map.Shuffle({.custom_partition = true}))
      .WriteFiles();
}

}  // namespace

void AddIdle(Library& library) {
  library.Add<EmptyMap>("empty.map", kPure)
      .Add<EmptyReduce>("empty.reduce", kPure)
      .Add<EmptyMap>("empty.isolated_map", MR_DETERMINISTIC)
      .Add<EmptyReduce>("empty.isolated_reduce", MR_DETERMINISTIC)
      .Add<Nap>("sleep.map", kPure)
      .Add<OnlyNap>("sleep.only_map", kPure)
      .Add<NapPerStep>("sleep.reduce", kPure)
      .AddJob<PlanEmpty>("empty",
                         "tasks that do nothing, to measure the engine\n"
                         "  --maps N               number of map tasks (default 10)\n"
                         "  --reduces N            number of reduce tasks\n"
                         "  --map-only             no reduce stage\n"
                         "  --isolate              use a new process for each attempt")
      .AddJob<PlanSleep>(
          "sleep",
          "tasks that sleep, to test the engine\n"
          "  --ms N                 milliseconds per map task (default 1000), times F with worker label slowdown=F\n"
          "  --tasks N              number of map tasks (default 1)\n"
          "  --reduces N            number of reduce tasks, which sleep step by step (default 0)\n"
          "  --reduce-ms N          mean milliseconds per reduce task (default 1000)\n"
          "  --steps N              steps per reduce task (default 100)");
}

}  // namespace mr::builtin
