// The master runs on an older copy of its whole data directory, with the journal's witness, under workers that have
// seen later records. Real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/http_get.h"
#include "tests/support/small_disk.h"
#include "tests/support/within.h"

namespace mr::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::set<std::string> BlockFiles(const Cluster& cluster) {
  std::set<std::string> paths;
  for (int i = 0; i < cluster.workers(); ++i) {
    for (const auto& entry : fs::recursive_directory_iterator(cluster.worker_data(i) + "/blocks")) {
      if (entry.path().extension() == ".blk") paths.insert(entry.path());
    }
  }
  return paths;
}

// true: the workers restart, too, so that only their files remember.
class OlderCopyTest : public testing::TestWithParam<bool> {};

TEST_P(OlderCopyTest, IsNoticedAndDeletesNothingAndGivesNoIdAgain) {
  Cluster cluster({.workers = 2, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteWords(dir + "/in", 2000, 3);
  const auto put = [&](const std::string& path) { return cluster.Mrctl({"fs", "put", dir + "/in", path}); };
  ASSERT_EQ(put("/kept").exit, 0);
  ASSERT_TRUE(cluster.StopMaster().ok());
  fs::copy(cluster.master_data(), dir + "/copy", fs::copy_options::recursive);

  ASSERT_TRUE(cluster.StartMaster().ok());
  ASSERT_TRUE(cluster.WaitForWorkers(2).ok()) << cluster.Logs();
  for (const char* path : {"/lost1", "/lost2", "/lost3"}) ASSERT_EQ(put(path).exit, 0);
  ASSERT_EQ(cluster.Mrctl({"submit", "wordcount", "--input", "/kept", "--output", "/counts"}).exit, 0);
  ASSERT_TRUE(Within(Seconds(20), [&] { return BlockFiles(cluster).size() >= 10; })) << "two replicas of five files";
  if (GetParam()) {
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(Within(Seconds(20), [&] {
        const auto seen = ReadFile(cluster.worker_data(i) + "/journal_seen");
        return seen.ok() && seen->find(" 2 ") != std::string::npos;
      })) << "what it saw of the second epoch is not on its disk";
      cluster.KillWorker(i);
    }
  }
  cluster.KillMaster();
  const std::set<std::string> blocks = BlockFiles(cluster);
  fs::remove_all(cluster.master_data());
  fs::copy(dir + "/copy", cluster.master_data(), fs::copy_options::recursive);
  ASSERT_TRUE(cluster.StartMaster().ok());
  if (GetParam()) {
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(cluster.StartWorker(i).ok());
  }
  ASSERT_TRUE(cluster.WaitForWorkers(2).ok()) << cluster.Logs();

  const RunResult state = cluster.Mrctl({"store", "safemode"});
  EXPECT_EQ(state.exit, 0) << state.err;
  EXPECT_THAT(state.out, HasSubstr("safe mode is on: records of the journal in " + cluster.master_data()));
  EXPECT_THAT(state.out, HasSubstr("mrctl store safemode off"));
  const RunResult doctor = cluster.Mrctl({"doctor"});
  EXPECT_EQ(doctor.exit, 1) << doctor.out;
  EXPECT_THAT(doctor.out, HasSubstr("fail  journal     safe mode: records of the journal"));
  // Ready, because files are read and the operator is awaited; the page says what for.
  const std::string ready = HttpGet(cluster.master_http_port(), "/readyz");
  EXPECT_THAT(ready, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ready, HasSubstr("ready, in safe mode: records of the journal are lost (mrctl store safemode)\n"));
  const RunResult refused = put("/new");
  EXPECT_EQ(refused.exit, 3) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("the master is in safe mode"));
  EXPECT_EQ(cluster.Mrctl({"submit", "wordcount", "--input", "/kept", "--output", "/again"}).exit, 3);
  EXPECT_EQ(cluster.Mrctl({"fs", "cat", "/kept"}).out, *ReadFile(dir + "/in")) << "files are read";

  ASSERT_EQ(cluster.Mrctl({"store", "safemode", "off"}).exit, 0);
  EXPECT_THAT(cluster.Mrctl({"store", "safemode"}).out, HasSubstr("safe mode is off"));
  EXPECT_THAT(HttpGet(cluster.master_http_port(), "/readyz"), EndsWith("\r\n\r\nready\n"));
  const RunResult submitted =
      cluster.Mrctl({"-o", "json", "submit", "wordcount", "--input", "/kept", "--output", "/counts"});
  ASSERT_EQ(submitted.exit, 0) << submitted.err;
  EXPECT_EQ(submitted.out.find("job_2_"), std::string::npos) << "ids of the lost epoch: " << submitted.out;
  ASSERT_EQ(put("/new").exit, 0);
  EXPECT_EQ(cluster.Mrctl({"fs", "cat", "/new"}).out, *ReadFile(dir + "/in"));
  // Behind a restart as well, where all replicas are reported anew.
  cluster.KillMaster();
  ASSERT_TRUE(cluster.StartMaster().ok());
  ASSERT_TRUE(cluster.WaitForWorkers(2).ok());
  EXPECT_THAT(cluster.Mrctl({"store", "safemode"}).out, HasSubstr("An operator has accepted that"));
  ASSERT_EQ(put("/newer").exit, 0);
  for (const std::string& path : blocks) EXPECT_TRUE(PathExists(path)) << path << " was deleted";
}

TEST(SafeModeCommandTest, OffIsRefusedWhileTheMasterWaitsForItsWorkers) {
  Cluster cluster({.workers = 1, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok());
  WriteWords(cluster.directory() + "/in", 100, 3);
  ASSERT_EQ(cluster.Mrctl({"fs", "put", cluster.directory() + "/in", "/in"}).exit, 0);
  cluster.KillWorker(0);
  cluster.KillMaster();
  ASSERT_TRUE(cluster.StartMaster().ok());
  const RunResult off = cluster.Mrctl({"store", "safemode", "off"});
  EXPECT_EQ(off.exit, 3) << off.err;
  EXPECT_THAT(off.err, HasSubstr("safe mode stays on"));
  ASSERT_TRUE(cluster.StartWorker(0).ok());
  ASSERT_TRUE(cluster.WaitForWorkers(1).ok());
  EXPECT_TRUE(Within(Seconds(30), [&] { return cluster.Mrctl({"store", "safemode", "off"}).exit == 0; }));
}

TEST(JournalDiskTest, TheDoctorWarnsWhenATenthIsLeft) {
  Cluster cluster({.workers = 1, .slots = 1});
  SmallDisk disk(cluster.master_data(), "64m");
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small file system";
  ASSERT_TRUE(cluster.Start().ok());
  EXPECT_THAT(cluster.Mrctl({"doctor"}).out,
              ContainsRegex("ok    journal     nothing is missing, its disk has .* free"));
  ASSERT_TRUE(disk.Fill(6 << 20));
  EXPECT_THAT(cluster.Mrctl({"doctor"}).out, ContainsRegex("warn  journal     its disk has .* free; when it is full"));
  disk.Free();
  EXPECT_THAT(cluster.Mrctl({"doctor"}).out, ContainsRegex("ok    journal "));
}

INSTANTIATE_TEST_SUITE_P(WorkersRestart, OlderCopyTest, testing::Bool());

}  // namespace
}  // namespace mr::test
