// ./dev bench latency: where the time of a small job goes, from the start of mrctl to its exit, stage by stage, on a
// warm cluster of one master and three workers. Each stage is in microseconds and in null calls of the same run. Three
// jobs: an empty one of 10 + 10 tasks and a word count of the Bible, both with local files; a word count of 4 MB in the
// block store. Medians of the runs, so stages may not add up. Exits with 1 if a target is missed.
// `latency_bench 5`: five runs of each job. `latency_bench 5 200`: with 200 ms between them, as a person's jobs have.
//
// The stamps: step times of mrctl (jobs/mrctl/step_times.h), the master's log, and the attempts' times, which count
// from the acceptance.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "jobs/mrctl/client.h"
#include "tests/bench/null_calls.h"
#include "tests/bench/report.h"
#include "tests/bench/speed_data.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::bench {
namespace {

constexpr int kWarmUps = 4;  // the first jobs warm caches, and the workers' children (guess: two are enough)
constexpr double kDayUs = 86400e6;

// One run: microseconds since the start of mrctl at which each point was reached.
using Points = std::map<std::string, double>;

// A stage ends at its point, and begins where the one before ends.
struct Stage {
  const char* point;
  const char* what;
};
constexpr Stage kStages[] = {{"main", "exec and dynamic linking"},
                             {"parsed", "command line"},
                             {"planning", "settings, start of the plan"},
                             {"planned", "the plan (beside it: the connection)"},
                             {"checked", "inputs checked, before the submit"},
                             {"accepted", "submit: call, checks, splits"},
                             {"launched", "to the first launch"},
                             {"mapping", "to the first map's start (child, room)"},
                             {"mapped", "maps"},
                             {"reduced", "shuffle and reduces"},
                             {"committed", "commit, publication"},
                             {"ended", "notification of mrctl"},
                             {"fetched", "counters"},
                             {"printed", "result printed"},
                             {"exit", "end of the process"}};

// Reads "STEP NANOSECONDS" lines.
void AddSteps(const std::string& path, Instant begin, Points* points) {
  const std::string text = OrDie(ReadFile(path), "step times");
  for (size_t at = 0; at < text.size();) {
    const size_t space = text.find(' ', at), end = text.find('\n', at);
    if (space > end || end == std::string::npos) Die("a step time is no line");
    (*points)[text.substr(at, space - at)] = static_cast<double>(std::stoll(text.substr(space + 1)) - begin.ns) / 1000;
    at = end + 1;
  }
}

// Reads the wall clock of the master's log on the clock of Now(). Both are read here at the same moment, once.
class LogClock {
 public:
  LogClock() {
    timespec wall{};
    ::clock_gettime(CLOCK_REALTIME, &wall);
    now_us_ = static_cast<double>(Now().ns) / 1000;
    tm local{};
    ::localtime_r(&wall.tv_sec, &local);
    day_us_ = (local.tm_hour * 3600.0 + local.tm_min * 60.0 + local.tm_sec) * 1e6 + wall.tv_nsec / 1000.0;
  }
  // Returns the stamp of the line with this text, in microseconds on the clock of Now(). glog's lines begin with
  // "I20261128 09:17:14.123456".
  double Find(const std::string& log, const std::string& text) const {
    const size_t at = log.rfind(text);
    if (at == std::string::npos) Die("the master's log has no '" + text + "'");
    const std::string line = log.substr(log.rfind('\n', at) + 1);
    int hour = 0, minute = 0;
    double second = 0;
    if (std::sscanf(line.c_str(), "%*s %d:%d:%lf", &hour, &minute, &second) != 3) Die("a line of the log has no time");
    double since = (hour * 3600.0 + minute * 60.0 + second) * 1e6 - day_us_;
    if (since < -kDayUs / 2) since += kDayUs;  // the run crossed midnight
    return now_us_ + since;
  }

 private:
  double now_us_ = 0, day_us_ = 0;
};

class Budget {
 public:
  explicit Budget(const test::Cluster& cluster) : cluster_(cluster), client_(cluster.master_address()) {
    OrDie(client_.WaitConnected(), "connect");
  }

  // Runs `mrctl submit args...` and returns its points.
  Points Run(const std::vector<std::string>& args) {
    const std::string steps = cluster_.directory() + "/steps";
    std::vector<std::string> argv = {"submit"};
    argv.insert(argv.end(), args.begin(), args.end());
    test::SpawnOptions options;
    options.env = {"MR_STEP_TIMES=" + steps};
    const LogClock clock;
    const Instant begin = Now();
    const auto run = cluster_.Mrctl(argv, Seconds(60), options);
    const Instant end = Now();
    if (run.exit != 0) Die(run.err);
    Points points;
    AddSteps(steps, begin, &points);
    points["exit"] = static_cast<double>((end - begin).ns) / 1000;
    const auto jobs = OrDie(client_.Jobs(), "jobs");
    AddAttempts(jobs.back().id, begin, clock, &points);
    return points;
  }

 private:
  void AddAttempts(JobId id, Instant begin, const LogClock& clock, Points* points) {
    const std::string log = OrDie(ReadFile(cluster_.directory() + "/master.log"), "the master's log");
    const double begin_us = static_cast<double>(begin.ns) / 1000;
    const double accepted = clock.Find(log, Name(id) + " '") - begin_us;
    (*points)["accepted"] = accepted;
    (*points)["committed"] = clock.Find(log, Name(id) + " SUCCEEDED") - begin_us;
    double launched = 1e18, mapping = 1e18, mapped = 0, reduced = 0;
    for (const AttemptStatus& attempt : OrDie(client_.Attempts(id), "attempts")) {
      const bool map = attempt.id.find("_m_") != std::string::npos;
      const auto ended = static_cast<double>(attempt.ended_us);
      launched = std::min(launched, static_cast<double>(attempt.launched_us));
      if (map) mapping = std::min(mapping, ended - static_cast<double>(attempt.ran_us));
      (map ? mapped : reduced) = std::max(map ? mapped : reduced, ended);
    }
    (*points)["launched"] = accepted + launched;
    (*points)["mapping"] = accepted + mapping;
    (*points)["mapped"] = accepted + mapped;
    (*points)["reduced"] = accepted + reduced;
  }

  const test::Cluster& cluster_;
  ctl::Client client_;
};

double MedianOf(const std::vector<Points>& runs, const std::function<double(const Points&)>& value) {
  std::vector<double> values;
  for (const Points& run : runs) values.push_back(value(run));
  return Median(std::move(values));
}

// Returns the medians: microseconds of the whole run, and from acceptance to commit.
struct Medians {
  double whole, inside;
};
Medians Print(const std::string& job, const std::vector<Points>& runs, double null_us) {
  std::printf("\n%-44s %10s %10s\n", job.c_str(), "us", "null calls");
  std::string before;
  for (const Stage& stage : kStages) {
    const double us = MedianOf(runs, [&](const Points& run) {
      const double from = before.empty() ? 0 : run.at(before);
      return run.at(stage.point) - from;
    });
    std::printf("  %-42s %10.0f %10.1f\n", stage.what, us, us / null_us);
    before = stage.point;
  }
  const double connected = MedianOf(runs, [](const Points& run) { return run.at("connected"); });
  const Medians medians{MedianOf(runs, [](const Points& run) { return run.at("exit"); }),
                        MedianOf(runs, [](const Points& run) { return run.at("committed") - run.at("accepted"); })};
  std::printf("  %-42s %10.0f %10.1f\n", "(connected after)", connected, connected / null_us);
  std::printf("  %-42s %10.0f %10.1f\n", "(accepted to committed)", medians.inside, medians.inside / null_us);
  std::printf("  %-42s %10.0f %10.1f\n", "whole", medians.whole, medians.whole / null_us);
  std::fflush(stdout);
  return medians;
}

int Main(int repeats, Duration pause) {
  test::Cluster cluster({.workers = 3, .slots = 2});
  OrDie(cluster.Start(), "start");
  const std::string dir = cluster.directory();
  const double null_us = MeasureNullCalls(cluster.master_address()).p50_us;
  std::printf("null call: p50 %.1f us\n", null_us);
  test::WriteBible(dir + "/bible");
  const std::string words = SpeedData{dir, .004}.FewWords();  // 4 MB
  const auto put = cluster.Mrctl({"fs", "put", words, "/words"});
  if (put.exit != 0) Die(put.err);

  Budget budget(cluster);
  int out = 0;
  const auto measure = [&](const std::string& job, const std::function<std::vector<std::string>(std::string)>& args) {
    std::vector<Points> runs;
    for (int i = -kWarmUps; i < repeats; ++i) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(pause.ns));
      Points run = budget.Run(args("/out" + std::to_string(++out)));
      if (i >= 0) runs.push_back(std::move(run));
    }
    return Print(job, runs, null_us);
  };
  const Medians empty = measure("empty job of 10 + 10 tasks", [&](const std::string& to) {
    return std::vector<std::string>{"empty", "--output", "file://" + dir + to, "--maps", "10", "--reduces", "10"};
  });
  const Medians bible = measure("word count of the Bible", [&](const std::string& to) {
    return std::vector<std::string>{"wordcount", "--input", "file://" + dir + "/bible", "--output",
                                    "file://" + dir + to};
  });
  const Medians small = measure("word count of 4 MB in the block store", [&](const std::string& to) {
    return std::vector<std::string>{"wordcount", "--input", "/words", "--output", to};
  });

  std::printf("\n");
  Report report;
  report.Row("empty job, accepted to committed", empty.inside / null_us, "calls", 80, true);
  report.Row("word count of the Bible, mrctl's start to its exit", bible.whole / null_us, "calls", 400, true);
  // No target: Spark takes a warm session beside it (./dev bench --peers latency).
  std::printf("%-58s %8.2f calls\n", "word count of 4 MB, mrctl's start to its exit", small.whole / null_us);
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) {
  return mr::bench::Main(argc > 1 ? std::max(1, std::atoi(argv[1])) : 15,
                         mr::Millis(argc > 2 ? std::max(0, std::atoi(argv[2])) : 0));
}
