// ./dev bench growth: the cost of a job as its input grows, and the cost of a task as a job gets more tasks. One
// master, two workers of one slot, one replica, from the block store to the block store.
//   growth_bench [--sizes .25,1,4,8] [--tasks 10,100,1000,10000] [--scale S] [--runs N] [--data DIRECTORY]
//                [wordcount|sort|join|tasks ...]
// sizes: of the input, in GB (1e9 bytes), times the scale. CPU time is user + system of master, workers and task
// processes (/proc: process_usage.h), without the client. It is printed per byte of input, as the median of N runs, and
// as a ratio to the smallest size (target: at most 1.15). Memory is the largest resident size of any process of a kind;
// task processes are sampled every 20 ms. tasks: jobs of so many tasks that do nothing.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"
#include "tests/bench/speed_data.h"
#include "tests/support/cluster.h"

namespace mr::bench {
namespace {

constexpr double kFlat = 1.15;                 // target
constexpr double kJoinBytes = .62e9;           // both sides at scale 1, approximately
constexpr Duration kSampleEvery = Millis(20);  // a task of a fast job lives for 30 ms or more
constexpr Duration kLongest = Seconds(3600);   // per run
// Tasks per measurement, since CPU is read in steps of 10 ms per process: 100 us per task.
constexpr uint64_t kTasksOfAReading = 1000;

struct Options {
  std::vector<double> sizes = {.25, 1, 4, 8};
  std::vector<double> tasks = {10, 100, 1000, 10000};
  double scale = 1;
  int runs = 3;
  std::string data = test::BinaryDirectory() + "/../bench_data";
  std::vector<std::string> names;
};

std::vector<double> Numbers(const std::string& flag, const std::string& list) {
  std::vector<double> numbers;
  for (const char* at = list.c_str(); *at != 0;) {
    char* end = nullptr;
    numbers.push_back(std::strtod(at, &end));
    if (end == at || numbers.back() <= 0 || (*end != 0 && *end != ','))
      Die(flag + " wants numbers above 0, with commas between");
    at = *end == ',' ? end + 1 : end;
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Options Parse(int argc, char** argv) {
  Options o;
  const std::vector<std::string> names = {"wordcount", "sort", "join", "tasks"};
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) Die(arg + " wants a value");
      return std::string(argv[++i]);
    };
    if (arg == "--sizes") {
      o.sizes = Numbers(arg, value());
    } else if (arg == "--tasks") {
      o.tasks = Numbers(arg, value());
    } else if (arg == "--scale") {
      o.scale = std::atof(value().c_str());
    } else if (arg == "--runs") {
      o.runs = std::atoi(value().c_str());
    } else if (arg == "--data") {
      o.data = value();
    } else if (std::find(names.begin(), names.end(), arg) == names.end()) {
      Die("there is no '" + arg +
          "'; there are wordcount, sort, join, tasks, and --sizes, --tasks, --scale, --runs, --data");
    } else {
      o.names.push_back(arg);
    }
  }
  if (o.scale <= 0 || o.runs < 1) Die("--scale and --runs must be above 0");
  if (o.names.empty()) o.names = names;
  return o;
}

struct Cost {
  double wall = 0, cpu = 0, system = 0;  // seconds; system is a part of cpu
};

class Growth {
 public:
  explicit Growth(Options options)
      : options_(std::move(options)), cluster_({.workers = 2, .slots = 1, .master_flags = {"--replication=1"}}) {
    OrDie(cluster_.Start(), "starting the cluster");
    roots_ = {cluster_.master_pid(), cluster_.worker_pid(0), cluster_.worker_pid(1)};
  }

  void WordCount() {
    Grow(
        "wordcount", [](const SpeedData& d) { return std::vector<std::string>{d.FewWords()}; }, 1e9,
        [](const auto& in) {
          return std::vector<std::string>{"wordcount", "--input", in[0]};
        });
  }
  void Sort() {
    Grow(
        "sort", [](const SpeedData& d) { return std::vector<std::string>{d.TeraSort()}; }, 1e9,
        [](const auto& in) {
          return std::vector<std::string>{"sort", "--format", "fixed:100", "--input", in[0]};
        });
  }
  void Join() {
    Grow(
        "join",
        [](const SpeedData& d) {
          return std::vector<std::string>{d.Left(), d.Right()};
        },
        kJoinBytes,
        [](const auto& in) {
          return std::vector<std::string>{"join", "--left", in[0], "--right", in[1], "--on", "id"};
        });
  }

  void Tasks() {
    for (const double n : options_.tasks) {
      const auto tasks = static_cast<uint64_t>(n);
      const int jobs = static_cast<int>(std::max<uint64_t>(1, kTasksOfAReading / std::max<uint64_t>(1, tasks)));
      std::vector<double> wall, cpu;
      ProcessUsage usage(roots_);
      usage.ResetPeaks();
      for (int run = 0; run < options_.runs; ++run) {
        const Cost cost = Measure(&usage, jobs, {"sleep", "--ms", "0", "--tasks", std::to_string(tasks)});
        wall.push_back(cost.wall * 1e6 / (jobs * static_cast<double>(tasks)));
        cpu.push_back(cost.cpu * 1e6 / (jobs * static_cast<double>(tasks)));
      }
      std::printf("%-10s %6llu tasks   %8.0f us wall  %8.0f us CPU, for each   %s\n", "tasks",
                  static_cast<unsigned long long>(tasks), Median(wall), Median(cpu), Peaks(usage).c_str());
      std::fflush(stdout);
    }
  }

  bool all_met() const { return report_.all_met(); }

 private:
  using Files = std::vector<std::string>;

  // unit: bytes of the files at scale 1.
  void Grow(const std::string& name, const std::function<Files(const SpeedData&)>& make, double unit,
            const std::function<std::vector<std::string>(const Files&)>& job) {
    double smallest = 0, largest = 0;
    for (const double size : options_.sizes) {
      Files stored;
      const uint64_t bytes = Store(SpeedData{options_.data, size * options_.scale * 1e9 / unit}, make, &stored);
      std::vector<double> wall, cpu, system;
      ProcessUsage usage(roots_);
      usage.ResetPeaks();
      for (int run = 0; run < options_.runs; ++run) {
        const Cost cost = Measure(&usage, 1, job(stored));
        wall.push_back(cost.wall);
        cpu.push_back(cost.cpu * 1e9 / static_cast<double>(bytes));
        system.push_back(cost.system * 1e9 / static_cast<double>(bytes));
      }
      for (const std::string& file : stored) Mrctl({"fs", "rm", file});
      const double per_byte = Median(cpu);
      if (smallest == 0) smallest = per_byte;
      largest = smallest == 0 ? 0 : std::max(largest, per_byte / smallest);
      std::printf("%-10s %9s   %8.2f s wall  %7.2f ns CPU a byte (%5.2f the kernel's)  %5.2f of the smallest's   %s\n",
                  name.c_str(), HumanBytes(bytes).c_str(), Median(wall), per_byte, Median(system),
                  smallest == 0 ? 0 : per_byte / smallest, Peaks(usage).c_str());
      std::fflush(stdout);
    }
    report_.Row(name + ": CPU a byte / the smallest input's, at most", largest, "", kFlat, true);
  }

  // Makes the files and puts them into the block store. Removes local files that were not there before, since they are
  // large.
  uint64_t Store(const SpeedData& data, const std::function<Files(const SpeedData&)>& make, Files* stored) {
    Files had;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(options_.data, none))
      had.push_back(entry.path().filename());
    uint64_t bytes = 0;
    for (const std::string& path : make(data)) {
      const std::string name = std::filesystem::path(path).filename();
      bytes += OrDie(FileSize(path), path);
      stored->push_back("/" + name);
      Mrctl({"fs", "put", path, stored->back()});
      if (std::find(had.begin(), had.end(), name) == had.end()) std::filesystem::remove(path);
    }
    return bytes;
  }

  // Runs the job `jobs` times, one after the other. Removes its output between them, which is not counted.
  Cost Measure(ProcessUsage* usage, int jobs, std::vector<std::string> job) {
    job.insert(job.begin(), "submit");
    job.insert(job.end(), {"--output", "/out"});
    std::atomic<bool> stop = false;
    std::thread sampler([&] {
      while (!stop) {
        usage->Sample();
        std::this_thread::sleep_for(std::chrono::nanoseconds(kSampleEvery.ns));
      }
    });
    Cost cost;
    for (int i = 0; i < jobs; ++i) {
      const ProcessUsage reading(roots_);
      const CpuTime before = reading.Cpu();
      const Instant begin = Now();
      Mrctl(job);
      cost.wall += (Now() - begin).seconds();
      const CpuTime after = reading.Cpu();
      cost.cpu += after.total() - before.total();
      cost.system += after.system - before.system;
      Mrctl({"fs", "rm", "-r", "/out"});
    }
    stop = true;
    sampler.join();
    usage->Sample();
    return cost;
  }

  void Mrctl(const std::vector<std::string>& args) {
    const auto run = cluster_.Mrctl(args, kLongest);
    if (run.exit != 0) Die("mrctl " + args[0] + ": " + run.err + cluster_.Logs());
  }

  static std::string Peaks(const ProcessUsage& usage) {
    std::string text;
    for (const auto& [program, bytes] : usage.peaks())
      text += (text.empty() ? "" : ", ") + program + " " + HumanBytes(bytes);
    return text;
  }

  const Options options_;
  test::Cluster cluster_;
  std::vector<pid_t> roots_;
  Report report_;
};

int Main(int argc, char** argv) {
  Options options = Parse(argc, argv);
  const std::vector<std::string> names = options.names;
  Growth growth(std::move(options));
  for (const std::string& name : names) {
    if (name == "wordcount") growth.WordCount();
    if (name == "sort") growth.Sort();
    if (name == "join") growth.Join();
    if (name == "tasks") growth.Tasks();
  }
  return growth.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) { return mr::bench::Main(argc, argv); }
