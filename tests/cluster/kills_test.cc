// kill -9 of a worker, at a random moment and in each phase of its work: every answer stays right.
//
// Short by default; MR_LONG=1 makes fifty kills, each phase at least five times.

#include <gtest/gtest.h>

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/rounds.h"

namespace mr::test {
namespace {

// A cluster whose workers die, one of them and once, when they pass `point` for the n-th time.
class FaultedCluster {
 public:
  FaultedCluster(const std::string& point, uint64_t n)
      : token_(tokens_ / "token"),
        cluster_({.workers = 3,
                  .slots = 2,
                  .master_flags = {"--block_size=256k"},
                  .env = {"MR_FAULT=" + point + ":" + std::to_string(n) + ":" + token_}}) {
    std::ofstream(token_) << "x";
  }
  Cluster& cluster() { return cluster_; }
  bool fired() const { return !PathExists(token_); }

 private:
  TempDirectory tokens_;
  std::string token_;
  Cluster cluster_;
};

void ExpectSortStaysRight(Cluster& cluster, const std::string& where) {
  const std::string dir = cluster.directory();
  WriteWords(dir + "/in", 60'000, 3);
  const RunResult run = cluster.Mrctl(
      {"submit", "sort", "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out", "--reduces", "4"},
      Seconds(120));
  ASSERT_EQ(run.exit, 0) << where << "\n" << run.err << cluster.Logs();
  EXPECT_EQ(ReadParts(dir + "/out"), Shell("sort '" + dir + "/in'")) << where;
}

class KillInPhase : public testing::TestWithParam<const char*> {};

TEST_P(KillInPhase, TheAnswerStaysRight) {
  Rng rng = Rng::Stream(20261120, GetParam());
  int hits = 0;
  const int wanted = Long() ? 5 : 1;
  for (int round = 0; hits < wanted; ++round) {
    ASSERT_LT(round, 4 * wanted) << "the phase " << GetParam() << " is passed too rarely to be hit";
    // The later rounds fall back to the first passage, so that a rare phase is hit all the same.
    const uint64_t n = round < 2 * wanted ? 1 + rng.Below(3) : 1;
    FaultedCluster faulted(GetParam(), n);
    const Status started = faulted.cluster().Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    ExpectSortStaysRight(faulted.cluster(), std::string(GetParam()) + " passage " + std::to_string(n));
    if (HasFatalFailure()) return;
    if (faulted.fired()) ++hits;
  }
}

INSTANTIATE_TEST_SUITE_P(Phases, KillInPhase,
                         testing::Values("map", "ingest", "serve", "fetch", "reduce", "output", "commit"));

TEST(KillTest, ARandomWorkerAtARandomMomentChangesNoAnswer) {
  Rng rng(77);
  for (int round = 0; round < (Long() ? 15 : 1); ++round) {
    Cluster cluster({.workers = 3, .slots = 2, .master_flags = {"--block_size=128k"}});
    ASSERT_TRUE(cluster.Start().ok());
    const int victim = static_cast<int>(rng.Below(3));
    const auto delay = std::chrono::milliseconds(20 + rng.Below(600));
    std::thread killer([&] {
      std::this_thread::sleep_for(delay);  // the moment is what is random here
      cluster.KillWorker(victim);
    });
    ExpectSortStaysRight(cluster,
                         "worker " + std::to_string(victim) + " after " + std::to_string(delay.count()) + " ms");
    killer.join();
    if (HasFatalFailure()) return;
  }
}

// Whether the process shares memory with the worker, as the children have that run tasks, and that wait for one.
bool HasArena(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("mr-arena") != std::string::npos) return true;
  }
  return false;
}

// The processes that the worker forked to start its children. Requires: root, to look at them.
std::vector<pid_t> HelpersOf(pid_t worker) {
  std::vector<pid_t> helpers;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(worker) + "/task")) {
    std::ifstream children(task.path() / "children");
    for (pid_t pid; children >> pid;) {
      if (!HasArena(pid)) helpers.push_back(pid);
    }
  }
  return helpers;
}

TEST(KillTest, AWorkerWhoseHelperWasKilledGoesOnWithAnother) {
  if (geteuid() != 0) GTEST_SKIP() << "only root sees which process is the helper";
  Cluster cluster({.workers = 2, .slots = 2});
  ASSERT_TRUE(cluster.Start().ok());
  for (int round = 0; round < 2; ++round) {
    for (int worker = 0; worker < cluster.workers(); ++worker) {
      const auto helpers = HelpersOf(cluster.worker_pid(worker));
      ASSERT_EQ(helpers.size(), 1u);
      ASSERT_EQ(kill(helpers[0], SIGKILL), 0);
    }
    const std::string where = "round " + std::to_string(round);
    ExpectSortStaysRight(cluster, where);
    if (HasFatalFailure()) return;
    const RunResult attempts = cluster.Mrctl({"job", "attempts", "job_1_000" + std::to_string(round + 1)});
    EXPECT_EQ(attempts.out.find("failed"), std::string::npos) << where << "\n" << attempts.out;
    ASSERT_TRUE(RemoveTree(cluster.directory() + "/out").ok());
    EXPECT_TRUE(cluster.WaitForWorkers(2).ok());
  }
}

// The worker pauses for long, like after a break of the network or of a virtual machine.
TEST(KillTest, AWorkerThatWasGivenUpComesBackAsTheSameProcess) {
  Cluster cluster({.workers = 3, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteWords(dir + "/in", 20'000, 5);
  const pid_t pid = cluster.worker_pid(0);
  // The second time with a job whose attempts hang on the stopped one, and are made again elsewhere.
  for (int round = 0; round < 2; ++round) {
    const std::string out = dir + "/out" + std::to_string(round);
    auto follower =
        cluster.MrctlInBackground({"submit", "stream", "--map", "sleep 1; cat", "--reduce", "sort", "--reduces", "3",
                                   "--input", "file://" + dir + "/in", "--output", "file://" + out},
                                  "follower" + std::to_string(round));
    ASSERT_TRUE(follower.ok());
    const Instant limit = Now() + Seconds(20);
    while (cluster.Mrctl({"jobs"}).out.find("RUNNING") == std::string::npos && Now() < limit) {
    }
    kill(pid, SIGSTOP);
    const Status lost = cluster.WaitForWorkers(2);
    const auto exit = follower->Wait(Seconds(60));
    kill(pid, SIGCONT);
    ASSERT_TRUE(lost.ok()) << lost.ToString();
    EXPECT_EQ(exit, 0) << cluster.Logs();
    EXPECT_EQ(SortedLines(ReadParts(out)), SortedLines(*ReadFile(dir + "/in"))) << cluster.Logs();
    const Status back = cluster.WaitForWorkers(3);
    ASSERT_TRUE(back.ok()) << back.ToString() << cluster.Logs();
    EXPECT_EQ(kill(pid, 0), 0);
    EXPECT_NE(cluster.Logs(1000).find("the master had declared this worker lost"), std::string::npos) << cluster.Logs();
  }
  // It works: with three workers of one slot, three sleepers run at once.
  const RunResult work =
      cluster.Mrctl({"submit", "sleep", "--ms", "1500", "--tasks", "3", "--output", "file://" + dir + "/slept"});
  EXPECT_EQ(work.exit, 0) << work.err;
  EXPECT_NE(cluster.Mrctl({"workers"}).out.find("live"), std::string::npos);
}

TEST(KillTest, AJobOutlivesTheClientThatFollowsIt) {
  Cluster cluster({.workers = 2, .slots = 2});
  ASSERT_TRUE(cluster.Start().ok());
  auto follower = cluster.MrctlInBackground(
      {"submit", "sleep", "--ms", "1500", "--output", "file://" + cluster.directory() + "/out"}, "follower");
  ASSERT_TRUE(follower.ok());
  std::string job;
  const Instant limit = Now() + Seconds(20);
  while (job.empty() && Now() < limit) {
    const RunResult jobs = cluster.Mrctl({"jobs", "-o", "json"});
    const size_t at = jobs.out.find("job_");
    if (at != std::string::npos) job = jobs.out.substr(at, jobs.out.find('"', at) - at);
  }
  ASSERT_FALSE(job.empty());
  follower->Kill();
  const RunResult waited = cluster.Mrctl({"wait", job}, Seconds(60));
  EXPECT_EQ(waited.exit, 0) << waited.err;
}

}  // namespace
}  // namespace mr::test
