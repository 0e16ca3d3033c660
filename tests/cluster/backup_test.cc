// mrmaster --backup beside a running master, and masters that start on what it made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/within.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;

class BackupTest : public testing::Test {
 protected:
  void SetUp() override {
    cluster_ = std::make_unique<Cluster>(
        ClusterOptions{.workers = 2, .slots = 2, .master_flags = {"--block_size=64k", "--snapshot_bytes=16k"}});
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    ASSERT_TRUE(cluster_->WaitForWorkers(2).ok()) << cluster_->Logs();
    WriteWords(Path("in"), 30'000, 3);
    ASSERT_EQ(Mrctl({"fs", "put", Path("in"), "/in"}).exit, 0);
    const RunResult job = Mrctl({"submit", "wordcount", "--input", "/in", "--output", "/counts"});
    ASSERT_EQ(job.exit, 0) << job.err << cluster_->Logs();
    counts_ = Mrctl({"fs", "cat", "/counts"}).out;
    ASSERT_FALSE(counts_.empty());
  }
  std::string Path(const std::string& name) const { return cluster_->directory() + "/" + name; }
  RunResult Mrctl(const std::vector<std::string>& args) const { return cluster_->Mrctl(args, Seconds(60)); }
  RunResult Backup(const std::string& to) const {
    return RunProgram({BinaryDirectory() + "/mrmaster", "--data", cluster_->master_data(), "--backup", to});
  }
  // The master's disk is lost, and a new master starts on a copy of the backup.
  void Restore(const std::string& from) {
    cluster_->KillMaster();
    ASSERT_TRUE(RemoveTree(cluster_->master_data()).ok());
    std::filesystem::copy(from, cluster_->master_data(), std::filesystem::copy_options::recursive);
    ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
    ASSERT_TRUE(cluster_->WaitForWorkers(2).ok()) << cluster_->Logs();
  }

  static uint64_t NumberBehind(const std::string& text, const std::string& words) {
    const size_t at = text.find(words);
    return at == text.npos ? 0 : std::strtoull(text.c_str() + at + words.size(), nullptr, 10);
  }
  // Returns the newest record of the journal that the worker has noted on its disk, or 0.
  uint64_t SeenBy(int worker) const {
    std::ifstream file(cluster_->worker_data(worker) + "/journal_seen");
    std::string cluster, epoch, life;
    uint64_t sequence = 0;
    file >> cluster >> epoch >> life >> sequence;
    return sequence;
  }

  std::unique_ptr<Cluster> cluster_;
  std::string counts_;
};

TEST_F(BackupTest, JobsAndFilesAreThereAfterARestore) {
  const RunResult backup = Backup(Path("backup"));
  ASSERT_EQ(backup.exit, 0) << backup.err;
  EXPECT_THAT(backup.out, HasSubstr("the copy was checked by a replay"));
  ASSERT_NO_FATAL_FAILURE(Restore(Path("backup")));
  EXPECT_THAT(Mrctl({"jobs"}).out, HasSubstr("job_1_0001"));
  EXPECT_EQ(Mrctl({"fs", "cat", "/counts"}).out, counts_);
  const RunResult job = Mrctl({"submit", "wordcount", "--input", "/in", "--output", "/again"});
  EXPECT_EQ(job.exit, 0) << job.err << cluster_->Logs();
  EXPECT_EQ(Mrctl({"profile", "show", "wordcount"}).exit, 0) << "times of earlier runs are there, too";
}

TEST_F(BackupTest, BackupsUnderAWriteLoadAreAllConsistent) {
  std::atomic<bool> stop{false};
  std::atomic<int> made{0};
  std::thread load([&] {
    while (!stop) {
      std::vector<std::string> args = {"fs", "mkdir"};
      for (int i = 0; i < 20; ++i) args.push_back("/made/" + std::to_string(made + i));
      if (Mrctl(args).exit != 0) return;
      made += 20;
    }
  });
  uint64_t backed_up = 0;
  std::vector<int> before;
  for (int i = 0; i < 5; ++i) {
    before.push_back(made);
    const RunResult backup = Backup(Path("backup" + std::to_string(i)));
    EXPECT_EQ(backup.exit, 0) << i << ": " << backup.err;
    backed_up = NumberBehind(backup.out, "up to record ");
  }
  stop = true;
  load.join();
  ASSERT_GT(made, 0);
  // A job after the backup, so that the workers know later records than the backup has, with the next heartbeat.
  ASSERT_EQ(Mrctl({"submit", "wordcount", "--input", "/in", "--output", "/later"}).exit, 0);
  ASSERT_TRUE(Within(Seconds(30), [&] { return SeenBy(0) > backed_up; })) << SeenBy(0) << " of " << backed_up;
  ASSERT_NO_FATAL_FAILURE(Restore(Path("backup4")));
  EXPECT_THAT(Mrctl({"store", "safemode"}).out, HasSubstr("safe mode is on"));
  EXPECT_EQ(Mrctl({"fs", "cat", "/counts"}).out, counts_) << "safe mode serves reads";
  const std::string list = Mrctl({"fs", "ls", "/made"}).out;
  for (int i = 0; i < before.back(); ++i) {
    EXPECT_THAT(list, HasSubstr("/made/" + std::to_string(i))) << "acknowledged before the backup";
  }
  ASSERT_EQ(Mrctl({"store", "safemode", "off"}).exit, 0);
  const RunResult job = Mrctl({"submit", "wordcount", "--input", "/in", "--output", "/again"});
  EXPECT_EQ(job.exit, 0) << job.err << cluster_->Logs();
}

TEST_F(BackupTest, AJobThatRanDuringTheBackupGoesOnAfterTheRestore) {
  const std::string go = Path("go");
  auto job =
      cluster_->MrctlInBackground({"submit", "stream", "--map", "while [ ! -e " + go + " ]; do sleep 0.1; done; cat",
                                   "--reduce", "cat", "--input", "/in", "--output", "/slow"},
                                  "job");
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(Within(Seconds(30), [&] { return Mrctl({"jobs"}).out.find("RUNNING") != std::string::npos; }));
  ASSERT_EQ(Backup(Path("backup")).exit, 0);
  ASSERT_NO_FATAL_FAILURE(Restore(Path("backup")));
  std::ofstream{go} << "go";
  EXPECT_EQ(job->Wait(Seconds(60)), 0) << *ReadFile(Path("job.err")) << cluster_->Logs(100);
}

TEST_F(BackupTest, WhatCannotBeABackupIsRefused) {
  ASSERT_TRUE(MakeDirectories(Path("full/x")).ok());
  EXPECT_EQ(Backup(Path("full")).exit, 3);
  EXPECT_EQ(Backup(cluster_->master_data() + "/backup").exit, 2);
  const RunResult slash = RunProgram({BinaryDirectory() + "/mrmaster", "--data", cluster_->master_data() + "/",
                                      "--backup", cluster_->master_data() + "/backup"});
  EXPECT_EQ(slash.exit, 2) << slash.err;
  EXPECT_FALSE(PathExists(cluster_->master_data() + "/backup"));
  const RunResult none =
      RunProgram({BinaryDirectory() + "/mrmaster", "--data", Path("nothing"), "--backup", Path("b")});
  EXPECT_NE(none.exit, 0);
  EXPECT_THAT(none.err, HasSubstr("has no journal of a master"));
  EXPECT_FALSE(PathExists(Path("b")));
}

TEST_F(BackupTest, AnUnfinishedBackupIsReplacedAndAnyOtherDirectoryIsNot) {
  ASSERT_TRUE(MakeDirectories(Path("backup.part/photos")).ok());
  const RunResult other = Backup(Path("backup"));
  EXPECT_EQ(other.exit, 3) << other.err;
  EXPECT_THAT(other.err, HasSubstr("no unfinished backup"));
  EXPECT_TRUE(PathExists(Path("backup.part/photos")));
  ASSERT_TRUE(RemoveTree(Path("backup.part")).ok());
  ASSERT_TRUE(MakeDirectories(Path("backup.part/journal")).ok());
  const RunResult again = Backup(Path("backup"));
  EXPECT_EQ(again.exit, 0) << again.err;
}

// Flips a bit in the middle of the segment that is being written. Returns false where it has few records.
bool DamageNewestSegment(const std::string& journal) {
  std::string newest;
  for (const auto& file : std::filesystem::directory_iterator(journal)) {
    const std::string name = file.path().filename().string();
    if ((name == "journal" || name.starts_with("journal.")) && name > newest) newest = name;
  }
  std::fstream file(journal + "/" + newest, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const size_t end = bytes.find_last_not_of('\0');  // space behind it is preallocated
  constexpr size_t kHeader = 4096;
  if (end == std::string::npos || end < kHeader + 2048) return false;
  const size_t at = (kHeader + end) / 2;
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(bytes[at] ^ 1));
  return true;
}

TEST_F(BackupTest, AJournalThatLacksDurableRecordsMakesNoBackup) {
  const std::string journal = cluster_->master_data() + "/journal";
  int made = 0;
  while (!DamageNewestSegment(journal)) {
    ASSERT_LT(made, 400);
    ASSERT_EQ(Mrctl({"fs", "mkdir", "/made/" + std::to_string(++made)}).exit, 0);
  }
  const RunResult backup = Backup(Path("backup"));
  EXPECT_NE(backup.exit, 0) << backup.out;
  EXPECT_THAT(backup.err, HasSubstr("was durable"));
  EXPECT_FALSE(PathExists(Path("backup")));
}

}  // namespace
}  // namespace mr::test
