// kill -9 of the master: nothing acknowledged is lost, committed tasks are not run again.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

std::string FirstJob(const Cluster& cluster) {
  const Instant limit = Now() + Seconds(20);
  while (Now() < limit) {
    const RunResult jobs = cluster.Mrctl({"jobs", "-o", "json"});
    const size_t at = jobs.out.find("job_");
    if (at != std::string::npos) return jobs.out.substr(at, jobs.out.find('"', at) - at);
  }
  return "";
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(MasterRestartTest, FinishedJobsAndTheirOutputsStayAsTheyWere) {
  Cluster cluster({.workers = 2, .slots = 2});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in", 200'000);
  const std::vector<std::string> submit = {
      "submit",          "wordcount", "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out",
      "--submission-id", "once"};
  RunResult run = cluster.Mrctl(submit);
  ASSERT_EQ(run.exit, 0) << run.err;
  const std::string before = cluster.Mrctl({"jobs", "-o", "json"}).out;
  cluster.KillMaster();
  ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.WaitForWorkers(2).ok()) << cluster.Logs();
  const std::string after = cluster.Mrctl({"jobs", "-o", "json"}).out;
  EXPECT_NE(after.find("SUCCEEDED"), std::string::npos) << after;
  // The same submission id names the same job, across the restart.
  run = cluster.Mrctl(submit);
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(CountOf(cluster.Mrctl({"jobs", "-o", "json"}).out, "job_"), CountOf(before, "job_"));
  EXPECT_EQ(SortedLines(ReadParts(dir + "/out")), ExpectedWordCount(dir + "/in"));
}

TEST(MasterRestartTest, ASubmissionThatIsNotAnsweredIsMadeAgainAndGivesTheSameJob) {
  const TempDirectory tokens;
  std::ofstream(tokens / "token") << "x";
  Cluster cluster({.workers = 1, .slots = 1, .env = {"MR_FAULT=accepted:1:" + (tokens / "token")}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in", 20'000);
  auto run = cluster.MrctlInBackground(
      {"submit", "wordcount", "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out"}, "submit");
  ASSERT_TRUE(run.ok());
  for (const Instant limit = Now() + Seconds(30); PathExists(tokens / "token") && Now() < limit;)
    std::this_thread::yield();
  ASSERT_FALSE(PathExists(tokens / "token")) << cluster.Logs();
  cluster.KillMaster();
  ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
  EXPECT_EQ(run->Wait(Seconds(60)), 0) << cluster.Logs();
  EXPECT_EQ(CountOf(cluster.Mrctl({"jobs", "-o", "json"}).out, "\"SUCCEEDED\""), 1u);
  EXPECT_EQ(SortedLines(ReadParts(dir + "/out")), ExpectedWordCount(dir + "/in"));
}

TEST(MasterRestartTest, AJobInItsMidstGoesOnFromItsCommittedTasks) {
  Cluster cluster({.workers = 2, .slots = 1, .master_flags = {"--block_size=64k"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in", 600'000);
  // Each map naps, so that there is a midst.
  auto client =
      cluster.MrctlInBackground({"submit", "stream", "--map", "sleep 0.3; tr -s ' ' '\\n' | sed 's/$/\\t1/'",
                                 "--reduce", "awk -F'\\t' '{c[$1]+=$2} END {for (k in c) print k \"\\t\" c[k]}'",
                                 "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out"},
                                "client");
  ASSERT_TRUE(client.ok());
  const std::string job = FirstJob(cluster);
  ASSERT_FALSE(job.empty()) << cluster.Logs();
  const Instant limit = Now() + Seconds(30);
  size_t committed = 0;
  while (committed < 3 && Now() < limit) {
    committed = CountOf(cluster.Mrctl({"job", "tasks", job}).out, "committed");
  }
  ASSERT_GE(committed, 3u);
  cluster.KillMaster();
  ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
  const RunResult waited = cluster.Mrctl({"wait", job}, Seconds(90));
  EXPECT_EQ(waited.exit, 0) << waited.err << cluster.Logs();
  EXPECT_EQ(SortedLines(ReadParts(dir + "/out")),
            SortedLines(Shell(
                "cat '" + dir +
                "/in' | tr -s ' ' '\\n' | sort | uniq -c | awk '{c=$1; $1=\"\"; print substr($0,2) \"\\t\" c}'")));
  // Attempts committed before the restart have numbers below 1000, and their tasks have no other.
  const std::string attempts = cluster.Mrctl({"job", "attempts", job}).out;
  size_t old_commits = 0;
  for (size_t from = 0; from < attempts.size();) {
    const size_t end = std::min(attempts.find('\n', from), attempts.size());
    const std::string line = attempts.substr(from, end - from);
    if (line.find("_1 ") != std::string::npos && line.find("committed") != std::string::npos) ++old_commits;
    from = end + 1;
  }
  EXPECT_GE(old_commits, committed) << attempts;
}

// A worker is registered again, and has work, before it is connected to the namespace again.
TEST(MasterRestartTest, AttemptsRightBehindARestartWaitForTheBlockStoreInPlaceOfFailing) {
  Cluster cluster({.workers = 2, .slots = 2});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string in = cluster.directory() + "/in";
  WriteBible(in, 20'000);
  ASSERT_EQ(cluster.Mrctl({"fs", "put", in, "/in"}).exit, 0) << cluster.Logs();
  for (const std::string out : {"/a", "/b", "/c"}) {
    cluster.KillMaster();
    ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
    const RunResult run = cluster.Mrctl({"submit", "wordcount", "--input", "/in", "--output", out});
    EXPECT_EQ(run.exit, 0) << run.err << cluster.Logs();
    EXPECT_EQ(CountOf(run.err, "failure"), 0u) << run.err;
    EXPECT_EQ(SortedLines(cluster.Mrctl({"fs", "getmerge", out, "-"}).out), ExpectedWordCount(in));
  }
  EXPECT_EQ(CountOf(cluster.Mrctl({"job", "attempts", FirstJob(cluster)}).out, "failed"), 0u);
}

// Each block is on one worker. One of these is killed with the master, and comes back later.
TEST(MasterRestartTest, TasksWhoseBlocksAreNotBackYetWaitForTheirWorker) {
  Cluster cluster({.workers = 2, .slots = 2, .master_flags = {"--block_size=4k", "--replication=1"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in", 100'000);
  ASSERT_EQ(cluster.Mrctl({"fs", "put", dir + "/in", "/in"}).exit, 0) << cluster.Logs();
  // Each map naps, so that there is a midst.
  auto client = cluster.MrctlInBackground({"submit", "stream", "--max-attempts", "1", "--map", "sleep 0.3; cat",
                                           "--input", "/in", "--output", "file://" + dir + "/out"},
                                          "client");
  ASSERT_TRUE(client.ok());
  const std::string job = FirstJob(cluster);
  ASSERT_FALSE(job.empty()) << cluster.Logs();
  for (const Instant limit = Now() + Seconds(30); Now() < limit;) {
    if (CountOf(cluster.Mrctl({"job", "tasks", job}).out, "committed") >= 2) break;
  }
  cluster.KillMaster();
  cluster.KillWorker(0);
  ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
  std::string why;
  for (const Instant limit = Now() + Seconds(30); Now() < limit && CountOf(why, "for their input") == 0;)
    why = cluster.Mrctl({"-v", "why", job}).out;
  EXPECT_GE(CountOf(why, "for their input"), 1u) << why << cluster.Logs();
  ASSERT_TRUE(cluster.StartWorker(0).ok()) << cluster.Logs();
  const RunResult waited = cluster.Mrctl({"wait", job}, Seconds(90));
  EXPECT_EQ(waited.exit, 0) << waited.err << cluster.Logs();
  const std::string attempts = cluster.Mrctl({"job", "attempts", job}).out;
  // Not those that ran already: one may have been reading from the worker that was killed.
  std::istringstream rows(attempts);
  for (std::string row; std::getline(rows, row);) {
    if (CountOf(row, "cannot be read") == 0) continue;
    const std::string id = row.substr(0, row.find(' '));
    EXPECT_LT(std::stoi(id.substr(id.rfind('_') + 1)), 1000) << attempts;  // since the restart: from 1001 on
  }
}

TEST(MasterRestartTest, AnOutputThatIsBeingWrittenGoesOnBehindIt) {
  Cluster cluster({.workers = 1, .slots = 1, .master_flags = {"--block_size=8m"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  std::ofstream(dir + "/in") << "x\n";
  // More bytes come before the token than buffers hold, so that the file is open and has blocks.
  auto client = cluster.MrctlInBackground({"submit", "stream", "--clone", "off", "--speculation", "off", "--map",
                                           "cat; yes | head -c 40000000; touch " + dir + "/begun; until [ -e " + dir +
                                               "/go ]; do sleep 0.02; done; echo end",
                                           "--input", "file://" + dir + "/in", "--output", "/out"},
                                          "client");
  ASSERT_TRUE(client.ok());
  for (const Instant limit = Now() + Seconds(30); !PathExists(dir + "/begun") && Now() < limit;)
    std::this_thread::yield();
  ASSERT_TRUE(PathExists(dir + "/begun")) << cluster.Logs();
  cluster.KillMaster();
  ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.WaitForWorkers(1).ok()) << cluster.Logs();
  std::ofstream(dir + "/go") << "";
  EXPECT_EQ(client->Wait(Seconds(60)), 0) << cluster.Logs();
  const std::string attempts = cluster.Mrctl({"job", "attempts", FirstJob(cluster)}).out;
  EXPECT_EQ(CountOf(attempts, "failed"), 0u) << attempts;
  EXPECT_EQ(CountOf(attempts, "attempt_"), 1u) << attempts;
  EXPECT_EQ(cluster.Mrctl({"fs", "getmerge", "/out", "-"}).out.size(), 40'000'000u + 6);
}

TEST(QueueTest, SettingsOutliveTheMasterThatTookThem) {
  Cluster cluster({.workers = 1, .slots = 2, .master_flags = {"--scheduler=fifo"}});
  ASSERT_TRUE(cluster.Start().ok());
  ASSERT_TRUE(cluster.WaitForWorkers(1).ok());
  const RunResult set = cluster.Mrctl({"queue", "set", "night", "--weight", "2.5", "--max-share", "7"});
  EXPECT_EQ(set.exit, 0) << set.err << cluster.Logs();
  EXPECT_EQ(CountOf(set.err, "ignores queues"), 1u) << "its list is fifo: " << set.err;
  EXPECT_EQ(cluster.Mrctl({"queue", "set", "night", "--min-share", "8"}).exit, 2) << "above its max share";
  EXPECT_EQ(cluster.Mrctl({"queue", "set", "night"}).exit, 2);
  cluster.KillMaster();
  ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
  const std::string json = cluster.Mrctl({"queues", "-o", "json"}).out;
  EXPECT_EQ(CountOf(json, R"({"id":"night","weight":2.5,"min_share":0,"max_share":7,)"), 1u) << json;
  EXPECT_EQ(CountOf(cluster.Mrctl({"queues"}).out, "night"), 1u);
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in", 2'000);
  const RunResult run = cluster.Mrctl({"submit", "wordcount", "--scheduler", "fair", "--queue", "night", "--input",
                                       "file://" + dir + "/in", "--output", "file://" + dir + "/out"});
  EXPECT_EQ(run.exit, 2) << run.err;
  EXPECT_EQ(CountOf(run.err, "whole cluster"), 1u) << run.err;
}

TEST(DrainTest, ADrainOutlivesTheMasterThatTookIt) {
  Cluster cluster({.workers = 2, .slots = 2});
  ASSERT_TRUE(cluster.Start().ok());
  ASSERT_TRUE(cluster.WaitForWorkers(2).ok());
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in", 20'000);
  EXPECT_EQ(cluster.Mrctl({"worker", "drain", "w99"}).exit, 7);
  ASSERT_EQ(cluster.Mrctl({"worker", "drain", "w1"}).exit, 0) << cluster.Logs();
  cluster.KillMaster();
  ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
  const auto workers = [&](const std::string& drained, const std::string& other) {
    std::string text;
    for (const Instant limit = Now() + Seconds(20); Now() < limit;) {
      text = cluster.Mrctl({"workers"}).out;
      if (CountOf(text, "w1  " + drained) == 1 && CountOf(text, "w2  " + other) == 1) return std::string();
    }
    return text + cluster.Logs();
  };
  EXPECT_EQ(workers("draining", "live"), "");
  const RunResult run =
      cluster.Mrctl({"submit", "wordcount", "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out"});
  EXPECT_EQ(run.exit, 0) << run.err << cluster.Logs();
  const std::string attempts = cluster.Mrctl({"job", "attempts", FirstJob(cluster)}).out;
  EXPECT_EQ(CountOf(attempts, " w1 "), 0u) << attempts;
  EXPECT_GE(CountOf(attempts, " w2 "), 2u) << attempts;
  EXPECT_EQ(cluster.Mrctl({"worker", "undrain", "w1"}).exit, 0);
  EXPECT_EQ(workers("live", "live"), "");
}

TEST(WorkerStopTest, AWorkerThatIsToldToEndGetsNothingNew) {
  Cluster cluster({.workers = 2, .slots = 2, .master_flags = {"--block_size=64k"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in", 600'000);
  auto client =
      cluster.MrctlInBackground({"submit", "stream", "--map", "sleep $((MR_TASK % 3)).3; cat", "--reduce", "cat",
                                 "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out"},
                                "client");
  ASSERT_TRUE(client.ok());
  const std::string job = FirstJob(cluster);
  ASSERT_FALSE(job.empty()) << cluster.Logs();
  const Instant limit = Now() + Seconds(30);
  while (CountOf(cluster.Mrctl({"job", "tasks", job}).out, "committed") < 2 && Now() < limit) {
  }
  const Status stopped = cluster.StopWorker(0);
  EXPECT_TRUE(stopped.ok()) << stopped.ToString();
  const RunResult waited = cluster.Mrctl({"wait", job}, Seconds(90));
  EXPECT_EQ(waited.exit, 0) << waited.err << cluster.Logs();
  // One launch may have been on its way when the worker said so; unheard, four and more are refused.
  const std::string attempts = cluster.Mrctl({"job", "attempts", job}).out;
  EXPECT_LE(CountOf(attempts, "this worker is draining"), 1u) << attempts;
  EXPECT_EQ(SortedLines(ReadParts(dir + "/out")), Shell("sort '" + dir + "/in'"));
}

}  // namespace
}  // namespace mr::test
