// ./dev bench: the spine on a warm cluster of one master and three workers, in units of a Cap'n Proto null call
// measured in the same run. Prints a table; exits with 1 if a target is missed.
// `spine_bench 1`: one repeat of the jobs of 10,000 tasks, 0: without them; `spine_bench 1 fair,late`: with this list
// of policies.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/io/clock.h"
#include "jobs/mrctl/client.h"
#include "tests/bench/empty_job.h"
#include "tests/bench/null_calls.h"
#include "tests/bench/report.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::bench {
namespace {

// Returns the microseconds from acceptance to the end, by the master's clock.
double RunJob(ctl::Client& client, const JobSpec& spec) {
  const JobId id = OrDie(client.Submit(spec, ""), "submit");
  const Status watching = client.Watch(id);
  if (!watching.ok()) Die(watching.ToString());
  while (true) {
    const auto status = OrDie(client.NextStatus(Now() + Seconds(120)), "watch");
    if (!status) Die("the job did not end within two minutes");
    if (!Ended(status->state)) continue;
    if (status->state != JobState::kSucceeded) Die("the job failed: " + status->error);
    return static_cast<double>(status->elapsed_us);
  }
}

// repeats: of the large jobs. list: empty: the default list.
int Main(int repeats, const std::string& list) {
  std::vector<std::string> flags;
  if (!list.empty()) flags.push_back("--scheduler=" + list);
  test::Cluster cluster({.workers = 3, .slots = 2, .master_flags = flags});
  const Status started = cluster.Start();
  if (!started.ok()) Die(started.ToString());
  const std::string dir = cluster.directory();
  const NullCalls null = MeasureNullCalls(cluster.master_address());
  std::printf("null call: p50 %.1f us, %.0f/s at 16 in flight\n", null.p50_us, null.per_second_at_16);

  ctl::Client client(cluster.master_address());
  int out = 0;
  const auto next_out = [&] { return dir + "/out" + std::to_string(++out); };
  std::vector<double> empty_us;
  for (int i = 0; i < 25; ++i) {
    const double us = RunJob(client, EmptyJob({"--maps", "10", "--reduces", "10"}, next_out()));
    if (i >= 5) empty_us.push_back(us);  // the first jobs warm the workers
  }
  const double empty_p50 = Median(empty_us);

  test::WriteBible(dir + "/bible");
  std::vector<double> bible_us;
  for (int i = 0; i < 12; ++i) {
    const Instant begin = Now();
    const auto run = cluster.Mrctl(
        {"submit", "wordcount", "--input", "file://" + dir + "/bible", "--output", "file://" + next_out()});
    if (run.exit != 0) Die(run.err);
    if (i >= 2) bible_us.push_back((Now() - begin).seconds() * 1e6);
  }
  const double bible_p50 = Median(bible_us);

  const auto rate = [&](const std::vector<std::string>& args) {
    std::vector<double> rates;
    for (int i = 0; i < repeats; ++i) rates.push_back(10'000 / (RunJob(client, EmptyJob(args, next_out())) * 1e-6));
    return Median(rates);
  };

  Report report;
  report.Row("empty job of 10 + 10 tasks, accepted to committed, p50", empty_p50 / 1000, "ms", 80 * null.p50_us / 1000,
             true);
  report.Row("Bible wordcount, start of mrctl to its exit, p50", bible_p50 / 1000, "ms", 400 * null.p50_us / 1000,
             true);
  if (repeats > 0) {
    report.Row("10,000 empty tasks of a reusable operator", rate({"--maps", "10000", "--reduces", "1"}), "tasks/s",
               null.per_second_at_16 / 8, false);
    report.Row("10,000 empty tasks, a process per attempt", rate({"--maps", "10000", "--reduces", "1", "--isolate"}),
               "tasks/s", 1500, false);
  }
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) {
  return mr::bench::Main(argc > 1 ? std::max(0, std::atoi(argv[1])) : 3, argc > 2 ? argv[2] : "");
}
