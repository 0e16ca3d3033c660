// Redundancy with real processes: how many replicas an acknowledgement stands for, that no job succeeds over an output
// that nobody can read, and that damage is found, named and mended.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <sstream>
#include <thread>

#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/within.h"

namespace mr::test {
namespace {

namespace fs = std::filesystem;

// Turns one byte in the middle of each block file of a worker around; their number.
size_t DamageAll(const std::string& worker_data) {
  size_t n = 0;
  for (const auto& entry : fs::recursive_directory_iterator(worker_data + "/blocks")) {
    if (entry.path().extension() != ".blk" || entry.path().parent_path().filename() == "quarantine") continue;
    const auto fd = OpenFile(entry.path().string(), O_RDWR);
    const auto at = entry.file_size() / 2;
    char c = 0;
    EXPECT_TRUE(fd.ok() && PreadUpTo(fd->get(), &c, 1, at).ok());
    EXPECT_TRUE(PwriteAll(fd->get(), std::string(1, static_cast<char>(~c)), at).ok());
    ++n;
  }
  return n;
}

size_t Files(const std::string& directory, const std::string& extension) {
  size_t n = 0;
  std::error_code gone;
  for (fs::recursive_directory_iterator it(directory, gone), end; !gone && it != end; it.increment(gone)) {
    n += it->path().extension() == extension ? 1 : 0;
  }
  return n;
}

// The id under which the master knows a worker of the cluster.
std::string IdOf(const Cluster& cluster, int index) {
  std::istringstream lines(cluster.Mrctl({"workers"}).out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(":" + std::to_string(cluster.worker_port(index))) != std::string::npos)
      return line.substr(0, line.find(' '));
  }
  return "";
}

TEST(RedundancyTest, AfterARestartAWriteWaitsForASecondOfTheWorkersThatWereAlive) {
  Cluster cluster({.workers = 3, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  ASSERT_TRUE(WriteFileDurably(dir + "/in", "precious\n").ok());
  const std::string two = IdOf(cluster, 1), three = IdOf(cluster, 2);
  // The master first, so that it does not see the others die.
  cluster.KillMaster();
  for (int i = 0; i < 3; ++i) cluster.KillWorker(i);
  ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.StartWorker(0).ok()) << cluster.Logs();
  const RunResult refused = cluster.Mrctl({"fs", "put", dir + "/in", "/p"});
  EXPECT_NE(refused.exit, 0);
  EXPECT_NE(refused.err.find(two), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("mrctl worker exclude "), std::string::npos) << refused.err;
  EXPECT_EQ(cluster.Mrctl({"fs", "stat", "/p"}).exit, 7);
  const RunResult doctor = cluster.Mrctl({"doctor"});
  EXPECT_NE(doctor.out.find("have not come back"), std::string::npos) << doctor.out;
  // A further restart forgets nothing of it.
  cluster.KillMaster();
  ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.WaitForWorkers(1).ok());
  EXPECT_NE(cluster.Mrctl({"fs", "put", dir + "/in", "/p"}).exit, 0);
  // An operator may give the lost ones up.
  for (const std::string& worker : {two, three}) ASSERT_EQ(cluster.Mrctl({"worker", "exclude", worker}).exit, 0);
  const RunResult put = cluster.Mrctl({"fs", "put", dir + "/in", "/p"});
  EXPECT_EQ(put.exit, 0) << put.err;
  EXPECT_EQ(cluster.Mrctl({"fs", "cat", "/p"}).out, "precious\n");
}

// A job of two reduces: one ends at once, and the other waits for a file. When the first has committed, its
// worker is killed; then the second goes on.
class LostOutputTest : public testing::Test {
 protected:
  LostOutputTest() : cluster_({.workers = 2, .slots = 1, .master_flags = {"--replication=1"}}) {}
  void RunToTheLastPart() {
    ASSERT_TRUE(cluster_.Start().ok());
    const std::string dir = cluster_.directory();
    WriteWords(dir + "/in", 3000, 4);
    auto follower = cluster_.MrctlInBackground(
        {"submit", "--clone", "off", "--speculation", "off", "stream", "--map", "cat", "--reduce",
         "cat; test \"$MR_PARTITION\" = 0 || while ! test -e " + dir + "/go; do sleep .05; done", "--reduces", "2",
         "--input", "file://" + dir + "/in", "--output", "/out"},
        "follower");
    ASSERT_TRUE(follower.ok());
    follower_ = std::make_unique<Process>(std::move(*follower));
    ASSERT_TRUE(Within(Seconds(30),
                       [&] {
                         const std::string tasks = cluster_.Mrctl({"job", "tasks", "job_1_0001"}).out;
                         std::istringstream lines(tasks);
                         for (std::string line; std::getline(lines, line);) {
                           if (line.find("_r_000000") == std::string::npos ||
                               line.find("committed") == std::string::npos)
                             continue;
                           for (int i = 0; i < 2; ++i) {
                             // Whoever has a block has the part: nothing else is in the block store.
                             if (Files(cluster_.worker_data(i) + "/blocks", ".blk") > 0) holder_ = i;
                           }
                         }
                         return holder_ >= 0;
                       }))
        << cluster_.Mrctl({"job", "tasks", "job_1_0001"}).out << cluster_.Logs();
  }
  void GoOn() { ASSERT_TRUE(WriteFileDurably(cluster_.directory() + "/go", "").ok()); }

  Cluster cluster_;
  std::unique_ptr<Process> follower_;
  int holder_ = -1;
};

TEST_F(LostOutputTest, AJobDoesNotSucceedOverAPartThatNobodyCanRead) {
  RunToTheLastPart();
  ASSERT_FALSE(HasFatalFailure());
  cluster_.KillWorker(holder_);
  GoOn();
  EXPECT_EQ(follower_->Wait(Seconds(90)), 1) << cluster_.Logs();
  const std::string said = *ReadFile(cluster_.directory() + "/follower.err");
  EXPECT_NE(said.find("part-r-00000 has no replica on a live worker"), std::string::npos) << said;
  EXPECT_EQ(cluster_.Mrctl({"fs", "stat", "/out"}).exit, 7);
}

TEST_F(LostOutputTest, AJobWaitsForTheWorkerThatHasAPartOfItsOutput) {
  RunToTheLastPart();
  ASSERT_FALSE(HasFatalFailure());
  cluster_.KillWorker(holder_);
  ASSERT_TRUE(cluster_.WaitForWorkers(1).ok());
  GoOn();
  ASSERT_TRUE(Within(Seconds(30), [&] { return cluster_.Logs(200).find("is not committed yet") != std::string::npos; }))
      << cluster_.Logs(200);
  ASSERT_TRUE(cluster_.StartWorker(holder_).ok());
  EXPECT_EQ(follower_->Wait(Seconds(60)), 0) << *ReadFile(cluster_.directory() + "/follower.err") << cluster_.Logs();
  std::string parts;
  for (const char* part : {"/out/part-r-00000", "/out/part-r-00001"}) parts += cluster_.Mrctl({"fs", "cat", part}).out;
  EXPECT_EQ(SortedLines(parts), SortedLines(*ReadFile(cluster_.directory() + "/in")));
}

TEST_F(LostOutputTest, AMasterThatStoodStillWaitsTheRestOfTheTimeForAPart) {
  RunToTheLastPart();
  ASSERT_FALSE(HasFatalFailure());
  cluster_.KillWorker(holder_);
  ASSERT_TRUE(cluster_.WaitForWorkers(1).ok());
  GoOn();
  ASSERT_TRUE(Within(Seconds(30), [&] { return cluster_.Logs(200).find("is not committed yet") != std::string::npos; }))
      << cluster_.Logs(200);
  ASSERT_EQ(::kill(cluster_.master_pid(), SIGSTOP), 0);
  std::this_thread::sleep_for(std::chrono::seconds(16));  // longer than the wait: the stop is what is tested
  ASSERT_EQ(::kill(cluster_.master_pid(), SIGCONT), 0);
  ASSERT_TRUE(Within(Seconds(30), [&] { return cluster_.Logs(200).find("stood still for") != std::string::npos; }));
  ASSERT_TRUE(cluster_.StartWorker(holder_).ok());
  EXPECT_EQ(follower_->Wait(Seconds(60)), 0) << *ReadFile(cluster_.directory() + "/follower.err") << cluster_.Logs();
}

TEST(RedundancyTest, DamageThatALocalReadFindsIsMendedAndQuarantineIsEmptied) {
  Cluster cluster({.workers = 3, .slots = 2, .master_flags = {"--block_size=64k", "--replication=2"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteWords(dir + "/in", 60'000, 3);
  ASSERT_EQ(cluster.Mrctl({"fs", "put", dir + "/in", "/in"}).exit, 0);
  ASSERT_GT(DamageAll(cluster.worker_data(0)), 0u);
  // Maps read their splits where these are: no client reads the damaged replicas.
  const RunResult run = cluster.Mrctl({"submit", "wordcount", "--input", "/in", "--output", "/out"});
  ASSERT_EQ(run.exit, 0) << run.err << cluster.Logs();
  EXPECT_TRUE(Within(Seconds(30),
                     [&] {
                       const RunResult doctor = cluster.Mrctl({"doctor"});
                       size_t marked = 0, aside = 0;
                       for (int i = 0; i < 3; ++i) {
                         marked += Files(cluster.worker_data(i) + "/blocks", ".bad");
                         aside += Files(cluster.worker_data(i) + "/blocks/quarantine", ".blk");
                       }
                       return marked == 0 && aside == 0 &&
                              doctor.out.find("all blocks with enough replicas") != std::string::npos;
                     }))
      << cluster.Mrctl({"doctor"}).out << cluster.Logs(200);
  const RunResult back = cluster.Mrctl({"fs", "cat", "/in"});
  EXPECT_TRUE(back.out == *ReadFile(dir + "/in"));
}

TEST(RedundancyTest, AMergeOfPartsOfWhichOneCannotBeReadFailsAndLeavesNoFile) {
  Cluster cluster({.workers = 1, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteWords(dir + "/in", 200, 3);
  ASSERT_EQ(cluster.Mrctl({"fs", "put", dir + "/in", "/d/part-r-00000"}).exit, 0);
  ASSERT_EQ(DamageAll(cluster.worker_data(0)), 1u);
  ASSERT_EQ(cluster.Mrctl({"fs", "put", dir + "/in", "/d/part-r-00001"}).exit, 0);
  for (const std::string& target : {dir + "/merged", std::string("-")}) {
    const RunResult merge = cluster.Mrctl({"fs", "getmerge", "/d", target});
    EXPECT_NE(merge.exit, 0) << target;
    EXPECT_NE(merge.err.find("/d/part-r-00000"), std::string::npos) << merge.err;
  }
  EXPECT_FALSE(PathExists(dir + "/merged"));
}

TEST(RedundancyTest, WhereEachReplicaIsDamagedTheErrorAndTheDoctorNameThem) {
  Cluster cluster({.workers = 3, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteWords(dir + "/in", 2000, 3);
  ASSERT_EQ(cluster.Mrctl({"fs", "put", dir + "/in", "/in"}).exit, 0);
  ASSERT_TRUE(Within(Seconds(10), [&] {
    size_t replicas = 0;
    for (int i = 0; i < 3; ++i) replicas += Files(cluster.worker_data(i) + "/blocks", ".blk");
    return replicas == 3;
  }));
  for (int i = 0; i < 3; ++i) ASSERT_EQ(DamageAll(cluster.worker_data(i)), 1u);
  RunResult cat = cluster.Mrctl({"fs", "cat", "/in"});
  EXPECT_NE(cat.exit, 0);
  EXPECT_NE(cat.err.find("damaged"), std::string::npos) << cat.err;
  // Also when it has long been known, and behind a restart of everybody.
  for (int round = 0; round < 2; ++round) {
    cat = cluster.Mrctl({"fs", "cat", "/in"});
    EXPECT_NE(cat.err.find("its replicas on "), std::string::npos) << cat.err;
    for (int i = 0; i < 3; ++i) {
      EXPECT_NE(cat.err.find(":" + std::to_string(cluster.worker_port(i))), std::string::npos) << cat.err;
    }
    const RunResult doctor = cluster.Mrctl({"doctor"});
    EXPECT_EQ(doctor.exit, 1) << doctor.out;
    EXPECT_NE(doctor.out.find("/in: 1 of 1 block damaged in each replica"), std::string::npos) << doctor.out;
    if (round == 1) break;
    cluster.KillMaster();
    for (int i = 0; i < 3; ++i) cluster.KillWorker(i);
    ASSERT_TRUE(cluster.StartMaster().ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(cluster.StartWorker(i).ok());
    ASSERT_TRUE(cluster.WaitForWorkers(3).ok());
  }
}

}  // namespace
}  // namespace mr::test
