// Snapshots under kill -9 of the master, at random moments and at each point of their making: what was
// acknowledged stays, and the journal's directory stays small.

#include <gtest/gtest.h>

#include <fstream>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

// Two closed segments and the open one, each a group and a preallocated step longer than it has to be,
// and three snapshots of so small a state.
constexpr uint64_t kBound = 512 << 10;

size_t CountOf(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class SnapshotsTest : public testing::Test {
 protected:
  void Make(std::vector<std::string> env = {}) {
    cluster_ = std::make_unique<Cluster>(ClusterOptions{
        .workers = 2, .slots = 1, .master_flags = {"--block_size=64k", "--snapshot_bytes=16k"}, .env = std::move(env)});
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
  }
  std::string Journal() const { return cluster_->master_data() + "/journal"; }
  std::vector<std::string> Snapshots() const {
    std::vector<std::string> found;
    const auto names = ListDirectory(Journal());
    if (!names.ok()) return found;
    for (const auto& name : *names) {
      if (name.starts_with("snapshot.") && !name.ends_with(".tmp")) found.push_back(name);
    }
    return found;
  }
  uint64_t JournalBytes() const {
    uint64_t bytes = 0;
    const auto names = ListDirectory(Journal()).value();
    for (const auto& name : names) {
      // One may go between the list and the look.
      if (const auto size = FileSize(Journal() + "/" + name); size.ok()) bytes += *size;
    }
    return bytes;
  }
  // Directories in the block store, one record each; false where the master did not acknowledge all.
  bool MakeDirectories(int n) {
    std::vector<std::string> argv = {"fs", "mkdir", "-p", "--timeout", "5s"};
    for (int i = 0; i < n; ++i) argv.push_back("/made/" + std::to_string(made_ + i));
    if (cluster_->Mrctl(argv).exit != 0) return false;
    made_ += n;
    return true;
  }
  // Until there is a snapshot that was not there at the call.
  bool MakeUntilSnapshot() {
    const auto before = Snapshots();
    for (const Instant limit = Now() + Seconds(60); Now() < limit;) {
      if (!MakeDirectories(40)) return false;
      const auto now = Snapshots();
      if (!now.empty() && (before.empty() || now.back() != before.back())) return true;
    }
    return false;
  }
  void ExpectAllMade(const std::string& where) {
    const RunResult list = cluster_->Mrctl({"fs", "ls", "-o", "json", "/made"});
    EXPECT_EQ(list.exit, 0) << where << list.err;
    for (int i = 0; i < made_; ++i) {
      ASSERT_NE(list.out.find("/made/" + std::to_string(i) + "\""), std::string::npos)
          << where << ": " << i << " is gone";
    }
  }
  size_t Committed(const std::string& job) const {
    return CountOf(cluster_->Mrctl({"job", "tasks", job}).out, "committed");
  }

  std::unique_ptr<Cluster> cluster_;
  int made_ = 0;
};

TEST_F(SnapshotsTest, FilesEndedJobsAndCommittedTasksStayOverManyKills) {
  ASSERT_NO_FATAL_FAILURE(Make());
  const std::string dir = cluster_->directory();
  WriteBible(dir + "/in", 600'000);
  ASSERT_EQ(cluster_->Mrctl({"fs", "put", dir + "/in", "/kept"}).exit, 0);
  RunResult run = cluster_->Mrctl({"submit", "wordcount", "--input", "/kept", "--output", "/counted"});
  ASSERT_EQ(run.exit, 0) << run.err;
  run = cluster_->Mrctl({"submit", "grep", "the", "--input", "/nothing", "--output", "/found"});
  ASSERT_NE(run.exit, 0);
  const std::string ended = cluster_->Mrctl({"job", "show", "job_1_0001", "-o", "json"}).out;
  ASSERT_NE(ended.find("SUCCEEDED"), std::string::npos) << ended;
  // From the fifth on the maps wait for a word, so that there is a midst.
  const std::string map = "while [ $MR_TASK -ge 4 ] && [ ! -e '" + dir + "/go' ]; do sleep 0.1; done; cat";
  auto client = cluster_->MrctlInBackground({"submit", "stream", "--map", map, "--reduce", "cat", "--input",
                                             "dfs:///kept", "--output", "file://" + dir + "/out"},
                                            "client");
  ASSERT_TRUE(client.ok());
  const std::string job = "job_1_0002";
  for (const Instant limit = Now() + Seconds(30); Committed(job) < 4 && Now() < limit;) {
  }
  ASSERT_EQ(Committed(job), 4u) << cluster_->Logs();
  for (int kill = 0; kill < 4; ++kill) {
    ASSERT_TRUE(MakeUntilSnapshot()) << cluster_->Logs();
    EXPECT_NE(cluster_->Mrctl({"job", "show", job, "-o", "json"}).out.find("RUNNING"), std::string::npos) << kill;
    cluster_->KillMaster();
    EXPECT_LT(JournalBytes(), kBound);
    ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
    ASSERT_TRUE(cluster_->WaitForWorkers(2).ok()) << cluster_->Logs();
    ExpectAllMade("kill " + std::to_string(kill));
    EXPECT_EQ(cluster_->Mrctl({"job", "show", "job_1_0001", "-o", "json"}).out, ended);
    EXPECT_EQ(Committed(job), 4u) << "a committed task is not committed any more";
  }
  EXPECT_FALSE(PathExists(Journal() + "/journal")) << "nothing needs the first segment";
  std::ofstream(dir + "/go") << "x";
  const RunResult waited = cluster_->Mrctl({"wait", job}, Seconds(90));
  EXPECT_EQ(waited.exit, 0) << waited.err << cluster_->Logs();
  // The attempts that ran over all the kills are those that were committed in the end.
  EXPECT_EQ(CountOf(cluster_->Mrctl({"job", "attempts", job}).out, "_m_000004_"), 1u);
  EXPECT_EQ(SortedLines(ReadParts(dir + "/out")), Shell("sort '" + dir + "/in'"));
  ASSERT_EQ(cluster_->Mrctl({"fs", "get", "/kept", dir + "/back"}).exit, 0);
  EXPECT_EQ(ReadFile(dir + "/back").value(), ReadFile(dir + "/in").value());
}

TEST_F(SnapshotsTest, ADamagedSnapshotIsSaidAndTheOneBeforeItServes) {
  ASSERT_NO_FATAL_FAILURE(Make());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(MakeUntilSnapshot()) << cluster_->Logs();
  ASSERT_TRUE(cluster_->StopMaster().ok());
  const std::string newest = Journal() + "/" + Snapshots().back();
  std::string bytes = ReadFile(newest).value();
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileDurably(newest, bytes).ok());
  ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
  EXPECT_NE(cluster_->Logs(200).find("the snapshot " + newest + " is damaged"), std::string::npos) << cluster_->Logs();
  const std::string doctor = cluster_->Mrctl({"doctor"}).out;
  EXPECT_NE(doctor.find("warn  journal     the snapshot " + newest + " is damaged"), std::string::npos) << doctor;
  ExpectAllMade("from the snapshot before");
}

TEST(EndedJobsTest, AForgottenJobIsSaidToBe) {
  Cluster cluster({.workers = 1, .slots = 2, .master_flags = {"--ended_jobs=2"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in", 2'000);
  for (int i = 0; i < 4; ++i) {
    const RunResult run = cluster.Mrctl({"submit", "wordcount", "--input", "file://" + dir + "/in", "--output",
                                         "file://" + dir + "/out" + std::to_string(i)});
    ASSERT_EQ(run.exit, 0) << run.err;
  }
  EXPECT_EQ(CountOf(cluster.Mrctl({"jobs", "-o", "json"}).out, "SUCCEEDED"), 2u);
  const RunResult show = cluster.Mrctl({"job", "show", "job_1_0001"});
  EXPECT_EQ(show.exit, 7);
  EXPECT_NE(show.err.find("the newest 2 ended jobs"), std::string::npos) << show.err;
  EXPECT_NE(cluster.Mrctl({"job", "attempts", "job_1_0004"}).out.find("committed"), std::string::npos);
}

class CrashPoint : public SnapshotsTest, public testing::WithParamInterface<const char*> {};

TEST_P(CrashPoint, LeavesTheOldOrTheNewButNeverNeither) {
  for (const int passage : {1, 2}) {
    TempDirectory tokens;
    std::ofstream(tokens / "token") << "x";
    made_ = 0;
    ASSERT_NO_FATAL_FAILURE(
        Make({std::string("MR_FAULT=") + GetParam() + ":" + std::to_string(passage) + ":" + (tokens / "token")}));
    for (const Instant limit = Now() + Seconds(60); Now() < limit && MakeDirectories(40);) {
    }
    ASSERT_FALSE(PathExists(tokens / "token")) << "the point was never passed";
    cluster_->KillMaster();  // gone already
    ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
    ExpectAllMade(GetParam());
    // The work that was cut short is done by the next one.
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(MakeUntilSnapshot()) << cluster_->Logs();
    EXPECT_LT(JournalBytes(), kBound);
    cluster_->KillMaster();
    ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
    ExpectAllMade(std::string(GetParam()) + ", later");
  }
}

INSTANTIATE_TEST_SUITE_P(Points, CrashPoint,
                         testing::Values("segment", "snapshot_written", "snapshot_named", "segment_removed"));

}  // namespace
}  // namespace mr::test
