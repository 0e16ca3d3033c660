// ./dev bench deadlines: a recurring job of five stages with a deadline, on a real cluster of eight workers on this
// host. Each worker has a fifth of a CPU. A load beside the job starts and stops and wants all slots. In turn, the job
// is steered by jockey, or gets all slots from its first task to its last (the paper's "max allocation"). Load and
// deadlines are the same. Held slots are guaranteed to the job, used or not: no other job can rely on them. Needs root
// for the control groups. Prints a table and writes a picture; exits with 1 if a target is missed.
// Argument: number of runs of each; default 30.

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "common/io/files.h"
#include "jobs/mrctl/client.h"
#include "master/sim/studies/svg.h"
#include "tests/bench/cpu_group.h"
#include "tests/bench/report.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::bench {
namespace {

constexpr int kWorkers = 8, kSlots = 2, kAll = kWorkers * kSlots;
constexpr double kCpus = 0.2;
constexpr int kTaskMs = 100;                 // mean CPU of a task: half a second to a second on these workers
constexpr int kLearnt = 3;                   // runs without a deadline before, which give profiles
constexpr double kMeanOn = 6, kMeanOff = 4;  // mean seconds in which the load wants all slots, and no slots; guesses
constexpr int kLoadTasks = 48;               // per job of the load
constexpr uint64_t kSeed = 5;
// In multiples of the job's time alone on all slots.
constexpr double kDeadlines[] = {2, 3, 5};

// One cluster with its list. Both clusters use the same control groups; one is idle while the other is measured.
class Side {
 public:
  Side(const std::string& name, const std::string& list)
      : name_(name), cluster_({.workers = kWorkers, .slots = kSlots, .master_flags = {"--scheduler=" + list}}) {
    OrDie(cluster_.Start(), "the cluster");
    client_.emplace(cluster_.master_address());
  }
  const test::Cluster& cluster() const { return cluster_; }

  struct Run {
    double seconds = 0, held = 0;  // slot-seconds
    bool steered = false;
    mr::SteeringStatus steering;
  };
  // deadline: in seconds; 0: none.
  Run Five(double deadline) {
    const std::string id = std::to_string(++runs_), out = cluster_.directory() + "/five-" + id;
    std::vector<std::string> args = Args("five", out);
    args.insert(args.begin() + 3, {"--name", "five", "--queue", "analysts"});
    if (deadline > 0) {
      args.insert(args.begin() + 3,
                  {"--deadline", std::to_string(std::llround(deadline * 1000)) + "ms", "--best-effort"});
    }
    test::Process process = OrDie(cluster_.MrctlInBackground(args, "five-" + id), "submit");
    const auto code = process.Wait(Seconds(600));
    if (!code || *code != 0) Die("run " + id + " under " + name_ + " did not succeed\n" + cluster_.Logs());
    Check(out);
    Run run;
    for (const mr::JobStatus& job : OrDie(client_->Jobs(), "the jobs")) {
      if (job.name != "five" || job.output_uri != "file://" + out) continue;
      const mr::JobStatus status = OrDie(client_->Job(job.id), "the job");
      run.seconds = static_cast<double>(status.elapsed_us) * 1e-6;
      run.steered = status.steering.has_value();
      if (run.steered) run.steering = *status.steering, run.held = status.steering->held_slot_s;
    }
    if (run.seconds == 0) Die("the master does not know run " + id);
    test::Shell("rm -r '" + out + "'");
    return run;
  }
  std::optional<test::Process> Load() {
    const std::string id = "load-" + std::to_string(++loads_);
    std::vector<std::string> args = Args("load", cluster_.directory() + "/" + id);
    args.insert(args.begin() + 3, {"--queue", "load", "--name", "load"});
    args.insert(args.end(), {"--tasks", std::to_string(kLoadTasks)});
    return OrDie(cluster_.MrctlInBackground(args, id), "the load");
  }

 private:
  std::vector<std::string> Args(const std::string& job, const std::string& out) const {
    return {"submit", "--lib", DEADLINES_JOB, "--output", "file://" + out, job, "--ms", std::to_string(kTaskMs)};
  }
  // Checks that each record is counted once, however often tasks ran.
  void Check(const std::string& out) const {
    int64_t records = 0, sum = 0;
    const std::string parts = test::ReadParts(out);
    for (const char* at = parts.c_str(); *at != 0;) {
      char* end = nullptr;
      records += std::strtoll(at, &end, 10);
      sum += std::strtoll(end, &end, 10);
      at = *end == '\n' ? end + 1 : end;
    }
    if (records != 5000 || sum != 5000) Die("the answer of " + out + " is wrong: " + parts);
  }

  const std::string name_;
  test::Cluster cluster_;
  std::optional<ctl::Client> client_;
  int runs_ = 0, loads_ = 0;
};

// A load that by turns wants all slots and none, until it is destroyed. It is the same for equal seeds.
class Load {
 public:
  Load(Side* side, uint64_t seed)
      : thread_([this, side, seed] {
          Rng rng = Rng::Stream(seed, "load");
          while (!stop_) {
            const Instant until = Now() + FromSeconds(rng.Exponential(kMeanOn));
            while (!stop_ && Now() < until) {
              auto job = side->Load();
              while (!stop_ && !job->Wait(Millis(50))) {
              }
              if (stop_) jobs_.push_back(std::move(job));
            }
            const Instant idle = Now() + FromSeconds(rng.Exponential(kMeanOff));
            while (!stop_ && Now() < idle) std::this_thread::sleep_for(std::chrono::milliseconds(20));
          }
        }) {}
  // Waits for its jobs, so that the next run begins on an empty cluster.
  ~Load() {
    stop_ = true;
    thread_.join();
    for (auto& job : jobs_) job->Wait(Seconds(120));
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::optional<test::Process>> jobs_;
  std::thread thread_;
};

struct Kind {
  std::string name, list;
  std::unique_ptr<Side> side;
  std::vector<Side::Run> runs;
};

sim::Chart Picture(const std::vector<Kind>& kinds, const std::vector<double>& deadlines, int of_deadline) {
  sim::Chart chart;
  char title[96];
  std::snprintf(title, sizeof title, "Guaranteed slots, deadline %.1f s", deadlines[static_cast<size_t>(of_deadline)]);
  chart.title = title;
  chart.x.label = "seconds since the submit";
  chart.y.label = "slots";
  for (size_t k = 0; k < kinds.size(); ++k) {
    bool first = true;
    for (size_t r = 0; r < kinds[k].runs.size(); ++r) {
      if (static_cast<int>(r % deadlines.size()) != of_deadline || !kinds[k].runs[r].steered) continue;
      sim::ChartLine line;
      line.name = first ? kinds[k].name : "";
      line.colour = sim::ChartColour(k);
      line.steps = true;
      for (const mr::SteeringPoint& p : kinds[k].runs[r].steering.points) {
        line.x.push_back(p.at_s);
        line.y.push_back(p.slots);
      }
      line.x.push_back(kinds[k].runs[r].seconds);
      line.y.push_back(0);
      chart.lines.push_back(std::move(line));
      first = false;
    }
  }
  const double d = deadlines[static_cast<size_t>(of_deadline)];
  chart.lines.push_back({"deadline", "#000000", {d, d}, {0, double(kAll)}, false});
  return chart;
}

int Main(int runs) {
  std::vector<Kind> kinds;
  kinds.push_back({"jockey", "fair,jockey", nullptr, {}});
  kinds.push_back({"max allocation", "fair,jockey(most=on)", nullptr, {}});
  const int stale = RemoveStaleGroups(CpuGroup::Root());
  if (stale > 0) std::fprintf(stderr, "bench: removed %d control groups of a run that was killed\n", stale);
  std::vector<CpuGroup> groups;
  for (int w = 0; w < kWorkers; ++w) {
    groups.push_back(OrDie(CpuGroup::Make(std::to_string(w)), "a limit of CPU"));
    OrDie(groups.back().Limit(kCpus), "a limit of CPU");
  }
  for (Kind& kind : kinds) {
    kind.side = std::make_unique<Side>(kind.name, kind.list);
    for (int w = 0; w < kWorkers; ++w)
      OrDie(groups[static_cast<size_t>(w)].Take(kind.side->cluster().worker_pid(w)), "a limit of CPU");
  }
  std::vector<double> alone;
  for (Kind& kind : kinds) {
    for (int i = 0; i < kLearnt; ++i) alone.push_back(kind.side->Five(0).seconds);
  }
  std::vector<double> deadlines;
  for (const double times : kDeadlines) deadlines.push_back(times * Median(alone));
  std::printf("Alone on all %d slots the job takes %.1f s (median of %zu); deadlines %.1f, %.1f and %.1f s\n", kAll,
              Median(alone), alone.size(), deadlines[0], deadlines[1], deadlines[2]);
  for (int r = 0; r < runs; ++r) {
    const double deadline = deadlines[static_cast<size_t>(r) % deadlines.size()];
    for (size_t i = 0; i < kinds.size(); ++i) {
      Kind& kind = kinds[(i + static_cast<size_t>(r)) % kinds.size()];  // each pair begins with another kind
      const Load load(kind.side.get(), kSeed + static_cast<uint64_t>(r));
      kind.runs.push_back(kind.side->Five(deadline));
      const Side::Run& run = kind.runs.back();
      if (!run.steered) Die("the job was not steered: was there a profile?");
      std::fprintf(stderr, "run %d of %d, deadline %.1f s, %s: %.1f s, %.0f slot-seconds held\n", r + 1, runs, deadline,
                   kind.name.c_str(), run.seconds, run.held);
    }
  }
  std::printf("\n%-16s %8s %8s %14s %14s %12s\n", "list", "runs", "met", "latest / due", "median / due",
              "held, slot-s");
  std::map<std::string, double> met, held;
  for (const Kind& kind : kinds) {
    std::vector<double> late;
    for (size_t r = 0; r < kind.runs.size(); ++r) {
      const double deadline = deadlines[r % deadlines.size()];
      late.push_back(kind.runs[r].seconds / deadline);
      met[kind.name] += late.back() <= 1;
      held[kind.name] += kind.runs[r].held;
    }
    std::printf("%-16s %8zu %8.0f %14.2f %14.2f %12.0f\n", kind.name.c_str(), kind.runs.size(), met[kind.name],
                Quantile(late, 1), Median(late), held[kind.name]);
  }
  for (size_t d = 0; d < deadlines.size(); ++d) {
    std::vector<double> saved;
    for (size_t r = d; r < kinds[0].runs.size(); r += deadlines.size()) {
      saved.push_back(100 - 100 * kinds[0].runs[r].held / kinds[1].runs[r].held);
    }
    std::printf("deadline %.1f s: %.0f %% fewer slot-seconds held (median of %zu pairs)\n", deadlines[d], Median(saved),
                saved.size());
  }
  Report report;
  report.Row("deadlines met by jockey, of " + std::to_string(runs), met["jockey"], "runs", runs * 29. / 30, false);
  report.Row("fewer slot-seconds held than max allocation", 100 - 100 * held["jockey"] / held["max allocation"], "%",
             30, false);
  const std::string picture = test::BinaryDirectory() + "/../deadlines.svg";
  std::vector<sim::Chart> charts;
  for (size_t d = 0; d < deadlines.size(); ++d) charts.push_back(Picture(kinds, deadlines, static_cast<int>(d)));
  OrDie(WriteFileDurably(picture, sim::Svg("Deadlines", charts)), "the picture");
  std::printf("\npicture: %s\n", picture.c_str());
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 30;
  if (runs < 1) mr::bench::Die("the argument is how many runs each list gets");
  return mr::bench::Main(runs);
}
