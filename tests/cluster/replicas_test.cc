// kill -9 of the worker that made all outputs of a stage, when each has a replica elsewhere. Their readers go on from
// those replicas, and nothing is run again. Also if the master was killed in between.

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

// Rows of a table of mrctl's, without the heading, as words.
std::vector<std::vector<std::string>> Rows(const RunResult& run) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(run.out);
  std::string line, word;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    rows.emplace_back();
    while (words >> word) rows.back().push_back(word);
  }
  return rows;
}

constexpr char kJob[] = "job_1_0002";
constexpr size_t kMaps = 5;

class ReplicasTest : public testing::TestWithParam<bool> {};

TEST_P(ReplicasTest, KillingTheWorkerThatMadeAllOutputsRunsNothingAgain) {
  const bool restart_master = GetParam();
  Cluster cluster({.workers = 3,
                   .slots = 1,
                   .master_flags = {"--block_size=64k", "--scheduler=fifo,mantri_replication(always=on)"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in", (kMaps - 1) * (64 << 10) + 1000);
  // Two of three slots are taken, so that one worker runs all maps and then the first reduce.
  const RunResult slept = cluster.Mrctl(
      {"submit", "sleep", "--detach", "--ms", "600000", "--tasks", "2", "--output", "file://" + dir + "/slept"});
  ASSERT_EQ(slept.exit, 0) << slept.err;
  // The job must not end before its maps' worker is killed.
  const std::string killed = dir + "/killed";
  auto follower = cluster.MrctlInBackground(
      {"submit", "stream", "--map", "cat", "--reduce", "until test -e " + killed + "; do sleep .1; done; cat",
       "--reduces", "2", "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out"},
      "follower");
  ASSERT_TRUE(follower.ok());

  std::set<std::string> makers;
  const auto all_have_two_replicas = [&] {
    size_t two = 0;
    makers.clear();
    for (const auto& task : Rows(cluster.Mrctl({"job", "tasks", kJob}))) {
      if (task.size() != 6 || task[0].find("_m_") == std::string::npos) continue;
      makers.insert(task[4]);
      two += task[5].find(',') != std::string::npos;
    }
    return two == kMaps;
  };
  const Instant limit = Now() + Seconds(30);
  while (!all_have_two_replicas() && Now() < limit) {
  }
  ASSERT_TRUE(all_have_two_replicas()) << cluster.Mrctl({"job", "tasks", kJob}).out << cluster.Logs();
  ASSERT_EQ(makers.size(), 1u);
  const std::string why = cluster.Mrctl({"why", "task_1_0002_0_m_000000"}).out;
  EXPECT_NE(why.find("replica requested attempt_1_0002_0_m_000000_1"), std::string::npos) << why;
  EXPECT_NE(why.find("[mantri_replication]"), std::string::npos) << why;

  if (restart_master) {
    cluster.KillMaster();
    ASSERT_TRUE(cluster.StartMaster().ok());
    ASSERT_TRUE(cluster.WaitForWorkers(3).ok());
    ASSERT_TRUE(all_have_two_replicas()) << cluster.Mrctl({"job", "tasks", kJob}).out << cluster.Logs();
  }
  int victim = -1;
  for (const auto& worker : Rows(cluster.Mrctl({"workers"}))) {
    for (int i = 0; i < cluster.workers() && worker[0] == *makers.begin(); ++i) {
      if (worker[2] == "127.0.0.1:" + std::to_string(cluster.worker_port(i))) victim = i;
    }
  }
  ASSERT_GE(victim, 0) << cluster.Mrctl({"workers"}).out;
  cluster.KillWorker(victim);
  ASSERT_TRUE(cluster.WaitForWorkers(2).ok());
  ASSERT_TRUE(std::ofstream(killed).good());
  ASSERT_EQ(cluster.Mrctl({"kill", "job_1_0001"}).exit, 0);

  EXPECT_EQ(follower->Wait(Seconds(60)), 0) << cluster.Logs();
  EXPECT_EQ(SortedLines(ReadParts(dir + "/out")), SortedLines(*ReadFile(dir + "/in")));
  const RunResult attempts = cluster.Mrctl({"job", "attempts", kJob});
  size_t maps = 0;
  for (const auto& attempt : Rows(attempts)) maps += attempt[0].find("_m_") != std::string::npos;
  EXPECT_EQ(maps, kMaps) << attempts.out;
}

INSTANTIATE_TEST_SUITE_P(Master, ReplicasTest, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "KilledToo" : "Alive"; });

// The disk under the shuffle of one worker fails. Its slot is taken, so that it only has replicas to make.
TEST(ReplicaRetryTest, AReplicaThatAWorkerCannotMakeIsMadeElsewhereAndWhySaysSo) {
  Cluster cluster({.workers = 3,
                   .slots = 1,
                   .master_flags = {"--block_size=16m", "--scheduler=fifo,mantri_replication(always=on)"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  // Outputs of more than 4 MiB however they are compressed, which go to files of their own.
  ASSERT_TRUE(MakeDirectories(dir + "/in").ok());
  for (const std::string part : {"/in/a", "/in/b"}) {
    Shell("head -c 8000000 /dev/urandom | base64 > '" + dir + part + "'");
  }
  const RunResult slept = cluster.Mrctl(
      {"submit", "sleep", "--detach", "--ms", "600000", "--tasks", "2", "--output", "file://" + dir + "/slept"});
  ASSERT_EQ(slept.exit, 0) << slept.err;
  std::vector<std::string> sleepers;
  const Instant limit = Now() + Seconds(30);
  while (sleepers.size() != 2 && Now() < limit) {
    sleepers.clear();
    for (const auto& task : Rows(cluster.Mrctl({"job", "tasks", "job_1_0001"}))) {
      if (task.size() > 4 && task[4][0] == 'w') sleepers.push_back(task[4]);
    }
  }
  ASSERT_EQ(sleepers.size(), 2u) << cluster.Mrctl({"job", "tasks", "job_1_0001"}).out;
  for (const auto& worker : Rows(cluster.Mrctl({"workers"}))) {
    for (int i = 0; i < cluster.workers() && worker[0] == sleepers[0]; ++i) {
      if (worker[2] != "127.0.0.1:" + std::to_string(cluster.worker_port(i))) continue;
      ASSERT_TRUE(RemoveTree(cluster.worker_data(i) + "/shuffle").ok());
    }
  }
  auto follower = cluster.MrctlInBackground(
      {"submit", "--conf", "max_split_bytes=16m", "stream", "--map", "cat", "--reduce", "sleep 600", "--reduces", "1",
       "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out"},
      "follower");
  ASSERT_TRUE(follower.ok());
  const auto two_replicas = [&] {
    size_t two = 0;
    for (const auto& task : Rows(cluster.Mrctl({"job", "tasks", kJob}))) {
      two += task.size() == 6 && task[0].find("_m_") != std::string::npos && task[5].find(',') != std::string::npos;
    }
    return two == 2;
  };
  while (!two_replicas() && Now() < limit) {
  }
  EXPECT_TRUE(two_replicas()) << cluster.Mrctl({"job", "tasks", kJob}).out << cluster.Logs();
  std::string why;
  for (const char* task : {"task_1_0002_0_m_000000", "task_1_0002_0_m_000001"}) {
    why += cluster.Mrctl({"why", task}).out;
  }
  EXPECT_NE(why.find(" on " + sleepers[0] + ": "), std::string::npos) << why;
  EXPECT_NE(why.find("replica not made attempt_1_0002_0_m_00000"), std::string::npos) << why;
  EXPECT_NE(why.find(" on " + sleepers[1] + ": worker " + sleepers[0] +
                     " could not make the replica (try 2) [mantri_replication]"),
            std::string::npos)
      << why << cluster.Logs();
  EXPECT_EQ(cluster.Mrctl({"kill", kJob}).exit, 0);
}

}  // namespace
}  // namespace mr::test
