// A stall is not a death: a master that was stopped, and a worker whose loop stands still, lose nothing by that alone.
//
// Short by default; MR_LONG=1 stops the master for 20 s as well.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <thread>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/rounds.h"

namespace mr::test {
namespace {

// Until mrctl's output has the text.
bool UntilSays(const Cluster& cluster, const std::vector<std::string>& args, const std::string& text,
               Duration limit = Seconds(30)) {
  const Instant end = Now() + limit;
  while (Now() < end) {
    if (cluster.Mrctl(args).out.find(text) != std::string::npos) return true;
  }
  return false;
}

// Sixteen maps that take a second each, on six slots: some run, some wait, some are done.
Result<Process> Load(const Cluster& cluster, const std::string& name) {
  const std::string dir = cluster.directory();
  WriteWords(dir + "/in", 40'000, 5);
  return cluster.MrctlInBackground({"submit", "stream", "--clone", "off", "--speculation", "off", "--conf",
                                    "max_split_bytes=16k", "--map", "sleep 1; cat", "--reduce", "sort", "--reduces",
                                    "3", "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/" + name},
                                   name);
}

void ExpectNothingLost(const Cluster& cluster, const std::string& name) {
  const std::string dir = cluster.directory();
  EXPECT_EQ(SortedLines(ReadParts(dir + "/" + name)), SortedLines(*ReadFile(dir + "/in")));
  const std::string attempts = cluster.Mrctl({"job", "attempts", "job_1_0001"}).out;
  EXPECT_NE(attempts.find("committed"), std::string::npos) << attempts;
  for (const char* word : {"failed", "killed", "lost"}) {
    EXPECT_EQ(attempts.find(word), std::string::npos) << attempts;
  }
  const std::string log = cluster.Logs(10'000);
  EXPECT_EQ(log.find(" is lost: "), std::string::npos) << cluster.Logs();
}

class MasterStopped : public testing::TestWithParam<int> {};

TEST_P(MasterStopped, LosesNoWorkerAttemptOrFile) {
  const int seconds = GetParam();
  if (seconds > 10 && !Long()) GTEST_SKIP() << "MR_LONG=1 runs this";
  Cluster cluster({.workers = 3, .slots = 2});
  ASSERT_TRUE(cluster.Start().ok());
  auto follower = Load(cluster, "out");
  ASSERT_TRUE(follower.ok());
  ASSERT_TRUE(UntilSays(cluster, {"job", "attempts", "job_1_0001"}, "committed")) << cluster.Logs();
  ASSERT_EQ(::kill(cluster.master_pid(), SIGSTOP), 0);
  std::this_thread::sleep_for(std::chrono::seconds(seconds));  // the stop is what is tested
  ASSERT_EQ(::kill(cluster.master_pid(), SIGCONT), 0);
  EXPECT_EQ(follower->Wait(Seconds(120)), 0) << cluster.Logs();
  ExpectNothingLost(cluster, "out");
  EXPECT_NE(cluster.Logs(10'000).find("this master stood still for"), std::string::npos);
  EXPECT_TRUE(cluster.WaitForWorkers(3).ok());
}

INSTANTIATE_TEST_SUITE_P(Seconds, MasterStopped, testing::Values(8, 20));

TEST(WorkerStalled, OneWhoseLoopStandsStillWhileItBeatsGetsNothingAndLosesNothing) {
  TempDirectory tokens;
  const std::string token = tokens / "token";
  std::ofstream(token) << "x";
  // One of the three, when commands have come to it for the third time: two of its attempts run by then, most likely.
  Cluster cluster({.workers = 3, .slots = 2, .env = {"MR_STALL=commands:3:9000:" + token}});
  ASSERT_TRUE(cluster.Start().ok());
  auto follower = Load(cluster, "out");
  ASSERT_TRUE(follower.ok());
  ASSERT_TRUE(UntilSays(cluster, {"workers"}, "stalled")) << cluster.Logs();
  EXPECT_NE(cluster.Mrctl({"doctor"}).out.find("stalled"), std::string::npos);
  EXPECT_TRUE(cluster.WaitForWorkers(3, Seconds(30)).ok()) << "it comes back";
  EXPECT_EQ(follower->Wait(Seconds(120)), 0) << cluster.Logs();
  ExpectNothingLost(cluster, "out");
}

}  // namespace
}  // namespace mr::test
