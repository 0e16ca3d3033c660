// Fault campaigns under a mixed load: whatever is killed, stopped or filled, nothing acknowledged is lost, no answer is
// wrong, nothing hangs, and nothing has to be restarted but what was killed.
//
// Short by default; MR_LONG=1 makes each as long as a release asks for. MR_ROUNDS=N and MR_SEED=N choose others.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "tests/support/cluster.h"
#include "tests/support/mixed_load.h"
#include "tests/support/rounds.h"
#include "tests/support/small_disk.h"

namespace mr::test {
namespace {

constexpr int kWorkers = 3;
// A fault at most makes a client repeat what takes seconds; the machine may be busy with more.
constexpr Duration kProgressLimit = Seconds(200);

// The children of a worker: helpers and those that run operators.
std::vector<pid_t> ChildrenOf(pid_t worker) {
  std::vector<pid_t> pids;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(worker) + "/task", gone)) {
    std::ifstream children(task.path() / "children");
    for (pid_t pid; children >> pid;) pids.push_back(pid);
  }
  return pids;
}

class CampaignTest : public testing::Test {
 protected:
  CampaignTest()
      : cluster_({.workers = kWorkers, .slots = 2, .master_flags = {"--block_size=128k", "--snapshot_bytes=256k"}}),
        rng_(Rng::Stream(Seed(), testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::printf("seed %llu (MR_SEED)\n", static_cast<unsigned long long>(Seed()));
  }
  void StartCluster() {
    const Status started = cluster_.Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    ASSERT_TRUE(cluster_.WaitForWorkers(kWorkers).ok()) << cluster_.Logs();
  }
  void Pause(uint64_t at_most_ms) {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(rng_.Below(at_most_ms)));  // the moment is what is random here
  }
  // Ends the load and says what it saw.
  void ExpectNothingWrong(MixedLoad& load) {
    ASSERT_TRUE(cluster_.WaitForWorkers(kWorkers, Seconds(60)).ok()) << cluster_.Logs();
    load.Finish();
    EXPECT_EQ(load.Violations(), "") << cluster_.Logs();
    EXPECT_GT(load.jobs_done(), 0u);
    EXPECT_GT(load.files_put(), 0u);
    std::printf("%llu jobs and %llu puts compared, %llu commands repeated\n",
                static_cast<unsigned long long>(load.jobs_done()), static_cast<unsigned long long>(load.files_put()),
                static_cast<unsigned long long>(load.repeated()));
  }

  Cluster cluster_;
  Rng rng_;
};

TEST_F(CampaignTest, KillsOfMasterWorkersAndChildrenLoseNothing) {
  StartCluster();
  MixedLoad load(cluster_, {.seed = Seed()});
  load.Start();
  if (HasFatalFailure()) return;
  const int rounds = Rounds(40, 300);
  for (int round = 0; round < rounds; ++round) {
    Pause(600);
    const int victim = static_cast<int>(rng_.Below(2 + kWorkers));
    const std::string where = "round " + std::to_string(round) + ", victim " + std::to_string(victim);
    if (victim == 0) {
      cluster_.KillMaster();
      Pause(300);
      ASSERT_TRUE(cluster_.StartMaster().ok()) << where << cluster_.Logs();
    } else if (victim <= kWorkers) {
      cluster_.KillWorker(victim - 1);
      Pause(300);
      ASSERT_TRUE(cluster_.StartWorker(victim - 1).ok()) << where << cluster_.Logs();
    } else {
      const std::vector<pid_t> children = ChildrenOf(cluster_.worker_pid(static_cast<int>(rng_.Below(kWorkers))));
      if (!children.empty()) ::kill(children[rng_.Below(children.size())], SIGKILL);
    }
    ASSERT_TRUE(cluster_.WaitForWorkers(kWorkers, Seconds(60)).ok()) << where << cluster_.Logs();
    if (round % 5 == 4 && !load.WaitForProgress(kProgressLimit)) break;
    if (!load.Violations().empty()) break;
  }
  ExpectNothingWrong(load);
  // Whenever the master is killed, its disk has every record that it reported to workers as durable.
  const RunResult safe_mode = cluster_.Mrctl({"-o", "json", "store", "safemode"});
  EXPECT_NE(safe_mode.out.find("\"loss\":null"), std::string::npos) << safe_mode.out;
}

TEST_F(CampaignTest, StopsOfMasterWorkersAndChildrenLoseNothing) {
  StartCluster();
  MixedLoad load(cluster_, {.seed = Seed()});
  load.Start();
  if (HasFatalFailure()) return;
  const int rounds = Rounds(4, 50);
  const uint64_t longest = Long() ? 20'000 : 7'000;
  for (int round = 0; round < rounds; ++round) {
    Pause(600);
    const int victim = static_cast<int>(rng_.Below(2 + kWorkers));
    std::vector<pid_t> pids = {victim == 0 ? cluster_.master_pid() : cluster_.worker_pid((victim - 1) % kWorkers)};
    if (victim > kWorkers) {
      pids = ChildrenOf(cluster_.worker_pid(static_cast<int>(rng_.Below(kWorkers))));
      if (pids.empty()) continue;
    }
    const pid_t pid = pids[rng_.Below(pids.size())];
    ::kill(pid, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(1000 + rng_.Below(longest - 1000)));
    ::kill(pid, SIGCONT);
    const std::string where = "round " + std::to_string(round) + ", victim " + std::to_string(victim);
    ASSERT_TRUE(cluster_.WaitForWorkers(kWorkers, Seconds(60)).ok()) << where << cluster_.Logs();
    if (!load.WaitForProgress(kProgressLimit) || !load.Violations().empty()) break;
  }
  ExpectNothingWrong(load);
}

// Which disk is filled: the master's, or one worker's with all its data (shuffle, blocks, scratch) or its blocks alone.
class FullDiskCampaignTest : public CampaignTest, public testing::WithParamInterface<const char*> {};

TEST_P(FullDiskCampaignTest, NothingIsLostAndAllGoesOnWhenThereIsRoom) {
  const std::string which = GetParam();
  const std::string path =
      which == "journal" ? cluster_.master_data() : cluster_.worker_data(0) + (which == "blocks" ? "/blocks" : "");
  SmallDisk disk(path, "64m");
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small file system";
  StartCluster();
  // A command is refused, or a job fails, for the one reason that this campaign gives it.
  const auto may_fail = [](const RunResult& run) {
    return run.exit == 5 || run.exit == 124 ||
           ((run.exit == 1 || run.exit == 3) &&
            (run.err.find("No space left") != std::string::npos || run.err.find("room") != std::string::npos)) ||
           (run.exit == 3 && run.err.find("block ") != std::string::npos);  // no worker took it
  };
  MixedLoad load(cluster_, {.seed = Seed(), .may_fail = may_fail});
  load.Start();
  if (HasFatalFailure()) return;
  const int rounds = Rounds(1, 20);
  for (int round = 0; round < rounds; ++round) {
    ASSERT_TRUE(disk.Fill(rng_.Below(512 << 10)));
    Pause(2000);
    std::this_thread::sleep_for(std::chrono::seconds(2));  // long enough to meet it
    disk.Free();
    ASSERT_TRUE(cluster_.WaitForWorkers(kWorkers, Seconds(60)).ok()) << "round " << round << cluster_.Logs();
    if (!load.WaitForProgress(kProgressLimit) || !load.Violations().empty()) break;
  }
  EXPECT_EQ(::kill(cluster_.master_pid(), 0), 0);
  ExpectNothingWrong(load);
}

INSTANTIATE_TEST_SUITE_P(Disks, FullDiskCampaignTest, testing::Values("journal", "worker", "blocks"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace mr::test
