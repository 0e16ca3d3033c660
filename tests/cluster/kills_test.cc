// kill -9 of a worker, at a random moment and in each phase of its work: every answer stays right.
//
// Short by default; MR_LONG=1 makes fifty kills, each phase at least five times.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

bool Long() { return std::getenv("MR_LONG") != nullptr; }

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
  const RunResult run = cluster.Mrctl({"submit", "sort", "--input", "file://" + dir + "/in", "--output",
                                       "file://" + dir + "/out", "--reduces", "4"},
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
    ExpectSortStaysRight(cluster, "worker " + std::to_string(victim) + " after " +
                                      std::to_string(delay.count()) + " ms");
    killer.join();
    if (HasFatalFailure()) return;
  }
}

TEST(KillTest, AJobOutlivesTheClientThatFollowsIt) {
  Cluster cluster({.workers = 2, .slots = 2});
  ASSERT_TRUE(cluster.Start().ok());
  auto follower = cluster.MrctlInBackground({"submit", "sleep", "--ms", "1500", "--output", "file://" + cluster.directory() + "/out"}, "follower");
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
