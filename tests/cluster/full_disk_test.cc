// Full disks under real workers and under an output: on one worker a job goes on elsewhere, on all it fails soon with
// what is full and where, nothing half-written is visible, the daemons live, and the next job runs once there is room.
// Workers that keep nothing free meet the full disk itself; others stop before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/small_disk.h"
#include "tests/support/within.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;

// 19 MB of digits, the same each time: packed as they are sent still several times what is left on the disks here.
constexpr char kMuch[] =
    "awk 'BEGIN {srand(7); for (i = 0; i < 1000000; ++i) print int(rand() * 1e9) \"\\t\" int(rand() * 1e9)}'";
constexpr uint64_t kLeft = 2u << 20;
constexpr char kNoRoom[] = "No space left on device";

class FullDiskTest : public testing::Test {
 protected:
  FullDiskTest() : cluster_({.workers = 2, .slots = 2, .worker_flags = {"--min_free=0"}}) {
    for (int i = 0; i < 2; ++i) disks_.push_back(std::make_unique<SmallDisk>(cluster_.worker_data(i), "96m"));
    out_ = std::make_unique<SmallDisk>(cluster_.directory() + "/disk", "32m");
  }
  void SetUp() override {
    if (!out_->mounted()) GTEST_SKIP() << "no right to mount a small file system";
    const Status started = cluster_.Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    ASSERT_TRUE(WriteFileDurably(cluster_.directory() + "/in", "a line\n").ok());
  }
  std::string Path(const std::string& name) const { return cluster_.directory() + "/" + name; }
  // Much through the shuffle, a line of output: the checksum of all of it.
  RunResult Shuffle(const std::string& out) {
    return Submit({"stream", "--map", std::string("cat >/dev/null; ") + kMuch, "--reduce", "cksum", "--reduces", "1"},
                  out);
  }
  RunResult Submit(std::vector<std::string> args, const std::string& out) {
    args.insert(args.begin(), {"--no-progress", "submit"});
    args.insert(args.end(), {"--input", "file://" + Path("in"), "--output", "file://" + Path(out)});
    return cluster_.Mrctl(args, Seconds(100));
  }
  std::string Expected() { return Shell(std::string(kMuch) + " | LC_ALL=C sort -s -k1,1 | cksum"); }
  // Expects the workers of before, none lost and none restarted.
  void ExpectAlive() {
    const RunResult workers = cluster_.Mrctl({"workers", "-o", "json"});
    EXPECT_EQ(workers.exit, 0) << workers.err;
    for (const char* id : {"\"id\":\"w1\"", "\"id\":\"w2\""}) EXPECT_THAT(workers.out, HasSubstr(id));
    EXPECT_THAT(workers.out, testing::Not(HasSubstr("w3")));
    EXPECT_THAT(workers.out, testing::Not(HasSubstr("lost")));
  }
  void ExpectFailed(const RunResult& run, const std::string& out, const std::string& directory) {
    EXPECT_EQ(run.exit, 1) << run.err << cluster_.Logs();
    EXPECT_THAT(run.err, HasSubstr(kNoRoom));
    EXPECT_THAT(run.err, HasSubstr(directory));
    EXPECT_LE(std::count(run.err.begin(), run.err.end(), '\n'), 12) << run.err;
    EXPECT_FALSE(PathExists(Path(out))) << "something is visible";
    ExpectAlive();
  }

  Cluster cluster_;
  std::vector<std::unique_ptr<SmallDisk>> disks_;  // of the workers' data
  std::unique_ptr<SmallDisk> out_;                 // of outputs below disk/
};

TEST_F(FullDiskTest, OnOneWorkerTheJobGoesOnOnTheOther) {
  ASSERT_TRUE(disks_[0]->Fill(kLeft));
  // Without clones the one task goes to either worker. So a few jobs run: some meet the full disk.
  for (int i = 0; i < 3; ++i) {
    const std::string out = "one" + std::to_string(i);
    const RunResult run = Shuffle(out);
    ASSERT_EQ(run.exit, 0) << run.err << cluster_.Logs();
    EXPECT_EQ(ReadParts(Path(out)), Expected());
  }
  EXPECT_THAT(cluster_.Logs(1000), HasSubstr(kNoRoom)) << "no attempt met the full disk";
  ExpectAlive();
}

TEST_F(FullDiskTest, OnAllWorkersTheJobFailsAndTheNextOneRunsWhenThereIsRoom) {
  for (const auto& disk : disks_) ASSERT_TRUE(disk->Fill(kLeft));
  ExpectFailed(Shuffle("none"), "none", "worker-");
  for (const auto& disk : disks_) disk->Free();
  const RunResult run = Shuffle("then");
  ASSERT_EQ(run.exit, 0) << run.err << cluster_.Logs();
  EXPECT_EQ(ReadParts(Path("then")), Expected());
  ExpectAlive();
}

// D12: ENOSPC, too, but room for bytes would not help.
TEST(InodesTest, WithoutInodesTheJobFailsAndSaysSo) {
  Cluster cluster({.workers = 1, .slots = 2, .worker_flags = {"--min_free=0"}});
  SmallDisk disk(cluster.worker_data(0), "96m", 400);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small file system";
  const Status started = cluster.Start();
  ASSERT_TRUE(started.ok()) << started.ToString();
  ASSERT_TRUE(WriteFileDurably(cluster.directory() + "/in", "a line\n").ok());
  const auto submit = [&](const std::string& out) {
    return cluster.Mrctl({"--no-progress", "submit", "stream", "--map", std::string("cat >/dev/null; ") + kMuch,
                          "--reduce", "cksum", "--reduces", "1", "--input", "file://" + cluster.directory() + "/in",
                          "--output", "file://" + cluster.directory() + "/" + out},
                         Seconds(100));
  };
  disk.FillInodes();
  const RunResult run = submit("none");
  EXPECT_EQ(run.exit, 1) << run.err << cluster.Logs();
  EXPECT_THAT(run.err, HasSubstr("has no free inodes"));
  EXPECT_THAT(run.err, HasSubstr(disk.path()));
  EXPECT_THAT(run.err, HasSubstr("that file system has as many files as it may"));
  disk.FreeInodes();
  const RunResult then = submit("then");
  EXPECT_EQ(then.exit, 0) << then.err << cluster.Logs();
}

// Two jobs wait. The one with the shuffle output that takes the room fails, though the other is newer. The other runs
// when there is room.
TEST(NoRoomTest, TheJobWithMostShuffleOutputFailsAndNamesDiskAndBytes) {
  Cluster cluster({.workers = 1, .slots = 1, .master_flags = {"--scheduler=fifo"}});
  SmallDisk disk(cluster.worker_data(0), "96m");
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small file system";
  const Status started = cluster.Start();
  ASSERT_TRUE(started.ok()) << started.ToString();
  const std::string in = cluster.directory() + "/in", runs = cluster.directory() + "/runs";
  ASSERT_TRUE(WriteFileDurably(in, "a line\n").ok());
  const auto submit = [&](std::vector<std::string> job, const std::string& out) {
    job.insert(job.begin(), {"submit", "--detach"});
    job.insert(job.end(), {"--input", "file://" + in, "--output", "file://" + cluster.directory() + "/" + out});
    const RunResult run = cluster.Mrctl(job);
    EXPECT_EQ(run.exit, 0) << run.err;
  };
  submit({"stream", "--map", std::string("cat >/dev/null; ") + kMuch, "--reduce", "touch '" + runs + "'; sleep 600",
          "--reduces", "2"},
         "large");
  ASSERT_TRUE(Within(Seconds(30), [&] { return PathExists(runs); })) << cluster.Logs();
  submit({"stream", "--map", "cat"}, "small");
  ASSERT_TRUE(disk.Fill(kLeft));
  const auto workers = [&] { return cluster.Mrctl({"workers", "-o", "json"}).out; };
  EXPECT_TRUE(Within(Seconds(10), [&] { return workers().find("\"state\":\"full\"") != std::string::npos; }));
  const RunResult failed = cluster.Mrctl({"wait", "job_1_0001"}, Seconds(30));
  EXPECT_EQ(failed.exit, 1) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("No space left on device: no worker has room: w1"));
  EXPECT_THAT(failed.err, HasSubstr(" of 96 MiB free in " + disk.path()));
  EXPECT_THAT(failed.err, HasSubstr("this one has most shuffle output, "));
  EXPECT_THAT(failed.err, testing::Not(HasSubstr("most shuffle output, 0 B")));
  const RunResult why = cluster.Mrctl({"why", "job_1_0002"});
  EXPECT_THAT(why.out, HasSubstr("no worker has room: w1"));
  EXPECT_THAT(cluster.Mrctl({"doctor"}).out, HasSubstr("no space on the disks of w1"));
  disk.Free();
  const RunResult small = cluster.Mrctl({"wait", "job_1_0002"}, Seconds(30));
  EXPECT_EQ(small.exit, 0) << small.err << cluster.Logs();
  EXPECT_THAT(workers(), HasSubstr("\"state\":\"live\""));
}

TEST_F(FullDiskTest, UnderAnOutputTheJobFailsAndLeavesNoParts) {
  ASSERT_TRUE(out_->Fill(kLeft));
  const RunResult run = Submit({"stream", "--map", std::string("cat >/dev/null; ") + kMuch}, "disk/out");
  ExpectFailed(run, "disk/out", Path("disk"));
  EXPECT_EQ(Shell("ls -A '" + Path("disk") + "'"), "filler\n") << "staging was left on the full disk";
  out_->Free();
  const RunResult then = Submit({"stream", "--map", std::string("cat >/dev/null; ") + kMuch}, "disk/out");
  EXPECT_EQ(then.exit, 0) << then.err << cluster_.Logs();
  ExpectAlive();
}

}  // namespace
}  // namespace mr::test
