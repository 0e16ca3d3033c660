// ./dev bench flood: one person has 10,000 jobs queued and makes 1,000 calls per second, a tenth of them for long
// lists, with a client in half a core. Another person's calls and small jobs, before and during that, on a cluster with
// certificates. Needs root, for a control group. Exits with 1 if a target is missed. Argument: seconds of each
// measurement; default 20.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/credentials.h"
#include "common/rpc/tls_credentials.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/job_spec.h"
#include "jobs/mrctl/tools.h"
#include "tests/bench/cpu_group.h"
#include "tests/bench/report.h"
#include "tests/bench/secured.h"
#include "tests/support/process.h"

namespace mr::bench {
namespace {

constexpr int kQueued = 10'000;
constexpr int kCallsPerSecond = 1'000;
constexpr int kListEach = 10;  // one call in so many asks for all jobs
constexpr double kCpus = .5;
constexpr double kLimit = 1.25;

void UseToken(const std::string& file) {
  rpc::SetProcessCredentials(
      std::make_shared<rpc::TokenCredentials>(rpc::TokenCredentials::Places{file, ""}, rpc::ProcessCredentials()));
}

JobSpec Job(const std::string& name, const std::vector<std::string>& args, const std::string& queue,
            const std::string& out) {
  const std::string text = OrDie(ctl::StartPlan(ctl::BuiltinLibrary(), name, args).Finish(), "plan");
  ctl::SpecOptions options;
  options.name = name;
  options.output_uri = "file://" + out;
  options.queue = queue;
  return OrDie(ctl::BuildJobSpec(OrDie(ctl::ParsePlan(text), "plan document"), options), "spec");
}

// The client of the flood, until it is killed. Writes a byte to standard output when all jobs are queued.
int Flood(const std::string& address, const std::string& root) {
  UseToken(::getenv("MR_TOKEN_FILE"));
  ctl::Client client(address);
  JobId last;
  for (int i = 0; i < kQueued; ++i) {
    last = OrDie(
        client.Submit(Job("sleep", {"--tasks", "1", "--ms", "3600000"}, "flood", root + "/f" + std::to_string(i)), ""),
        "submit of the flood");
  }
  OrDie(WriteFileDurably(root + "/queued", "yes"), "say that all is queued");
  Instant next = Now();
  for (uint64_t i = 0;; ++i) {
    if (i % kListEach == 0) {
      (void)client.Jobs();
    } else {
      (void)client.Job(last);
    }
    next = next + Micros(1'000'000 / kCallsPerSecond);
    if (next > Now()) std::this_thread::sleep_for(std::chrono::nanoseconds((next - Now()).ns));
    if (next < Now()) next = Now();  // it makes as many as it gets
  }
}

struct Seen {
  double call_p99, small_job;  // seconds
  size_t calls;
};
Seen Measure(ctl::Client& client, const std::string& root, Duration length) {
  static int out = 0;
  std::vector<double> calls, jobs;
  JobId id;
  for (const Instant end = Now() + length; Now() < end;) {
    const Instant begin = Now();
    id = OrDie(client.Submit(
                   Job("empty", {"--maps", "2", "--reduces", "1"}, "default", root + "/b" + std::to_string(++out)), ""),
               "submit");
    OrDie(client.Watch(id), "watch");
    while (true) {
      const auto status = OrDie(client.NextStatus(Now() + Seconds(60)), "status");
      if (!status) Die("a small job took a minute");
      if (Ended(status->state)) break;
    }
    jobs.push_back((Now() - begin).seconds());
    for (int i = 0; i < 50; ++i) {
      const Instant from = Now();
      OrDie(client.Job(id).status(), "call");
      calls.push_back((Now() - from).seconds());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  return {Quantile(calls, .99), Median(jobs), calls.size()};
}

int Main(Duration length) {
  if (::geteuid() != 0) Die("it needs root, for a control group");
  const auto number = [](int n) { return std::to_string(n); };
  Secured secured(2, {"--open_jobs", number(3 * kQueued), "--owner_jobs", number(2 * kQueued), "--owner_queued",
                      number(2 * kQueued)});
  const std::string root = secured.root().path(), address = secured.cluster().master_address();
  // The flood's jobs run one at a time, and each for an hour: they are queued, not done.
  secured.Run({"queue", "set", "flood", "--max-share", "1"});
  UseToken(secured.Person("bert", "viewer,submitter"));
  const std::string anna = secured.Person("anna", "viewer,submitter");
  ctl::Client client(address);
  (void)Measure(client, root, Seconds(3));  // warms up
  const Seen before = Measure(client, root, length);

  const CpuGroup group = OrDie(CpuGroup::Make("flood"), "control group");
  OrDie(group.Limit(kCpus), "limit");
  test::SpawnOptions options;
  options.env = {"MR_TOKEN_FILE=" + anna};
  options.stderr_path = root + "/flood.err";
  auto flood =
      OrDie(test::Process::Spawn({test::BinaryDirectory() + "/flood_bench", "flood", address, root}, options), "flood");
  OrDie(group.Take(flood.pid()), "group");
  for (const Instant end = Now() + Seconds(600); !PathExists(root + "/queued");) {
    if (Now() > end) Die("the flood did not queue its jobs: " + *ReadFile(root + "/flood.err"));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const Seen during = Measure(client, root, length);
  std::printf(
      "another person's call: p99 %.2f ms before, %.2f ms during (%zu and %zu calls); small job: %.1f ms and %.1f ms\n",
      before.call_p99 * 1e3, during.call_p99 * 1e3, before.calls, during.calls, before.small_job * 1e3,
      during.small_job * 1e3);
  Report report;
  report.Row("p99 of others' calls, during to before", during.call_p99 / before.call_p99, "", kLimit, true);
  report.Row("others' small job, during to before", during.small_job / before.small_job, "", kLimit, true);
  ::kill(flood.pid(), SIGKILL);
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "flood") == 0) return mr::bench::Flood(argv[2], argv[3]);
  return mr::bench::Main(mr::Seconds(argc > 1 ? std::max(1, std::atoi(argv[1])) : 20));
}
