// ./dev bench scale: a real master with 1,000 workers of 8 slots and jobs of together 1,000,000 tasks. One process
// plays the workers (players.h): they speak the real protocol over real connections and run nothing. The master
// schedules and journals as always, with its default policies, and proves identities by the secret of its user, as on
// one machine. Ten jobs are open at a time. At the end the master is killed and started again. Prints a table; exits
// with 1 if a target is missed, and dies if a job does not succeed or is not known as such after the restart.
//   scale_bench 100 5000                 a quick check: 100 workers, 5,000 tasks
//   scale_bench 1000 200000 500 2000     attempts of 500 ms to 2 s; 0 0: they end when they are launched
//   scale_bench 100 50000 0 0 fifo       with this list of policies
//
// Master and players share the machine. So the master's own CPU time is printed, too.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/io/clock.h"
#include "common/io/descriptors.h"
#include "jobs/mrctl/client.h"
#include "tests/bench/empty_job.h"
#include "tests/bench/loop_waits.h"
#include "tests/bench/players.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"
#include "tests/support/cluster.h"
#include "tests/support/http_get.h"

namespace mr::bench {
namespace {

constexpr uint32_t kSlots = 8;
constexpr uint64_t kJobTasks = 10'000;    // of the largest job
constexpr size_t kOpenJobs = 10;          // at a time
constexpr uint64_t kMapsOfAReduce = 999;  // so a job of 10,000 tasks has 10 reduces
constexpr Duration kConnecting = Seconds(60);
constexpr Duration kSampling = Seconds(1);
constexpr Duration kStuck = Seconds(60);  // without the end of a job: it hangs

struct Arguments {
  uint32_t workers = 1000;
  uint64_t tasks = 1'000'000;
  Duration shortest = Millis(500), longest = Seconds(2);
  std::string list;  // empty: the default one
};

double OwnCpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Submits the next of the jobs that have together so many tasks.
JobId SubmitNext(ctl::Client& client, uint64_t* tasks, const std::string& out) {
  uint64_t here = std::min(*tasks, kJobTasks);
  if (*tasks - here < 2) here = *tasks;  // the least job has two tasks
  *tasks -= here;
  const uint64_t reduces = 1 + (here - 1) / (kMapsOfAReduce + 2);
  const auto job = EmptyJob({"--maps", std::to_string(here - reduces), "--reduces", std::to_string(reduces)}, out);
  return OrDie(client.Submit(job, ""), "submit");
}

// Runs jobs of together so many tasks to their ends, kOpenJobs at a time. Returns their ids.
std::vector<JobId> RunJobs(ctl::Client& client, uint64_t tasks, const Players& players, const test::Cluster& cluster,
                           ProcessUsage* usage) {
  std::vector<JobId> jobs;
  size_t ended = 0;
  Instant changed = Now(), sampled = Now();
  while (tasks > 0 || ended < jobs.size()) {
    while (tasks > 0 && jobs.size() - ended < kOpenJobs) {
      jobs.push_back(SubmitNext(client, &tasks, cluster.directory() + "/out" + std::to_string(jobs.size())));
    }
    // Jobs end in any order, and a client watches one.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    size_t now_ended = 0;
    for (const JobStatus& job : OrDie(client.Jobs(), "jobs")) {
      if (!Ended(job.state)) continue;
      if (job.state != JobState::kSucceeded) Die(Name(job.id) + " failed: " + job.error);
      ++now_ended;
    }
    if (now_ended != ended) changed = Now();
    ended = now_ended;
    if (const std::string why = players.broken(); !why.empty()) {
      Die("a worker lost its session: " + why + "\n" + cluster.Logs());
    }
    if (Now() - changed > kStuck) Die("no job has ended for a minute\n" + cluster.Logs());
    if (Now() - sampled < kSampling) continue;
    usage->Sample();
    sampled = Now();
  }
  return jobs;
}

int Main(const Arguments& args) {
  RaiseDescriptorLimit();
  std::vector<std::string> flags;
  if (!args.list.empty()) flags.push_back("--scheduler=" + args.list);
  test::Cluster cluster({.workers = 0, .master_flags = flags, .ready_limit = Seconds(120)});
  OrDie(cluster.Start(), "start");
  Players players({.master = cluster.master_address(),
                   .workers = args.workers,
                   .slots = kSlots,
                   .shortest = args.shortest,
                   .longest = args.longest});
  const Instant connecting = Now();
  OrDie(players.Connect(kConnecting), "register the workers");
  const Duration registered = Now() - connecting;
  ctl::Client client(cluster.master_address());
  OrDie(client.WaitConnected(), "connect");

  ProcessUsage usage({cluster.master_pid()});
  const std::string metrics = test::HttpGet(cluster.master_http_port(), "/metrics");
  const auto waits = BucketsOf(metrics, "mr_loop_wait_seconds");
  const double master_cpu = usage.Cpu().total(), own_cpu = OwnCpu();
  const auto threads = CpuByThread(cluster.master_pid());
  const Instant begin = Now();
  const std::vector<JobId> jobs = RunJobs(client, args.tasks, players, cluster, &usage);
  const double seconds = (Now() - begin).seconds();
  const double master_used = usage.Cpu().total() - master_cpu, own_used = OwnCpu() - own_cpu;
  const auto threads_used = CpuByThread(cluster.master_pid());
  const std::string metrics_after = test::HttpGet(cluster.master_http_port(), "/metrics");
  const auto waits_after = BucketsOf(metrics_after, "mr_loop_wait_seconds");
  const PlayerCounts counts = players.counts();
  usage.Sample();

  cluster.KillMaster();
  const Instant killed = Now();
  OrDie(cluster.StartMaster(), "start the master again");
  const double recovered = (Now() - killed).seconds();
  OrDie(players.Connect(kConnecting), "register the workers again");
  const double returned = (Now() - killed).seconds();
  client.Reconnect();
  const auto known = OrDie(client.Jobs(), "jobs");
  for (const JobId job : jobs) {
    const auto it = std::find_if(known.begin(), known.end(), [job](const JobStatus& s) { return s.id == job; });
    if (it == known.end() || it->state != JobState::kSucceeded) Die(Name(job) + " is not done after the restart");
  }

  const auto difference = [&](const char* name) { return MetricOf(metrics_after, name) - MetricOf(metrics, name); };
  const double starts = difference("mr_attempts_launched_total");
  const auto tasks = static_cast<double>(args.tasks);
  std::printf("%u workers registered in %.1f s; %zu jobs of together %.0f tasks in %.1f s\n", args.workers,
              registered.seconds(), jobs.size(), tasks, seconds);
  std::printf("starts: %.0f, seen by workers: %llu; verdicts: %llu winners, %llu others; %llu killed\n", starts,
              static_cast<unsigned long long>(counts.launches), static_cast<unsigned long long>(counts.winners),
              static_cast<unsigned long long>(counts.other_verdicts), static_cast<unsigned long long>(counts.killed));
  const auto per_task = [tasks](uint64_t n) { return static_cast<double>(n) / tasks; };
  std::printf("per task: calls: %.2f with reports, %.2f with progress, %.2f with commands; %.2f directory entries\n",
              per_task(counts.report_calls), per_task(counts.progress_calls), per_task(counts.pushes),
              per_task(counts.directory_entries));
  std::printf("CPU: master %.1f s, workers %.1f s, of %.1f s x 2 cores; of the master:", master_used, own_used,
              seconds);
  for (const auto& [name, cpu] : threads_used) {
    const auto before = threads.find(name);
    const double used = cpu - (before == threads.end() ? 0 : before->second);
    if (used >= .01 * master_used) std::printf(" %s %.1f s", name.c_str(), used);
  }
  std::printf("\nmost of the waits in the master's queue: 50 %% %.2f ms, 90 %% %.2f ms; %.0f waits\n",
              WaitQuantile(waits, waits_after, .5) * 1000, WaitQuantile(waits, waits_after, .9) * 1000,
              waits_after.rbegin()->second - waits.rbegin()->second);

  Report report;
  report.Row("task starts per second", starts / seconds, "1/s", 5000, false);
  report.Row("task starts per CPU second of the master", starts / master_used, "1/s", 5000, false);
  report.Row("wait in the master's queue, 99 %", WaitQuantile(waits, waits_after, .99) * 1000, "ms", 20, true);
  report.Row("peak memory of the master", static_cast<double>(usage.peaks().at("mrmaster")) / 1e9, "GB", 1.5, true);
  report.Row("journal per task", difference("mr_journal_bytes_total") / tasks, "bytes", 1000, true);
  report.Row("kill -9 until the master serves", recovered, "s", 5, true);
  report.Row("kill -9 until all workers have registered", returned, "s", 10, true);
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) {
  mr::bench::Arguments args;
  if (argc > 1) args.workers = static_cast<uint32_t>(std::clamp(std::atoi(argv[1]), 1, 10'000));
  if (argc > 2) args.tasks = static_cast<uint64_t>(std::max(2ll, std::atoll(argv[2])));
  if (argc > 4) {
    args.shortest = mr::Millis(std::max(0, std::atoi(argv[3])));
    args.longest = std::max(args.shortest, mr::Millis(std::max(0, std::atoi(argv[4]))));
  }
  if (argc > 5) args.list = argv[5];
  return mr::bench::Main(args);
}
