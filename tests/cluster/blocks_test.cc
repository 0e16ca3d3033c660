// The block store as its users meet it: what was put is there, whoever dies.

#include <gtest/gtest.h>

#include "common/io/sha256.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

TEST(BlockStoreTest, AFileOutlivesAWorkerAndItsDisk) {
  Cluster cluster({.workers = 3, .slots = 1, .master_flags = {"--block_size=1m"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteWords(dir + "/in", 150'000, 9);
  ASSERT_EQ(cluster.Mrctl({"fs", "put", dir + "/in", "/a/words"}).exit, 0);
  cluster.LoseWorker(1);
  const RunResult got = cluster.Mrctl({"fs", "get", "/a/words", dir + "/back"});
  ASSERT_EQ(got.exit, 0) << got.err << cluster.Logs();
  EXPECT_EQ(*Sha256File(dir + "/back"), *Sha256File(dir + "/in"));
}

TEST(BlockStoreTest, FilesAndJobOutputsOutliveTheMaster) {
  Cluster cluster({.workers = 3, .slots = 1, .master_flags = {"--block_size=1m"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in");
  ASSERT_EQ(cluster.Mrctl({"fs", "put", dir + "/in", "/in"}).exit, 0);
  RunResult run = cluster.Mrctl({"submit", "wordcount", "--input", "/in", "--output", "/out"});
  ASSERT_EQ(run.exit, 0) << run.err;
  cluster.KillMaster();
  ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.WaitForWorkers(3).ok()) << cluster.Logs();
  run = cluster.Mrctl({"fs", "getmerge", "/out", dir + "/merged"});
  ASSERT_EQ(run.exit, 0) << run.err << cluster.Logs();
  EXPECT_EQ(SortedLines(*ReadFile(dir + "/merged")), ExpectedWordCount(dir + "/in"));
  ASSERT_EQ(cluster.Mrctl({"fs", "get", "/in", dir + "/back"}).exit, 0);
  EXPECT_EQ(*Sha256File(dir + "/back"), *Sha256File(dir + "/in"));
}

TEST(BlockStoreTest, AJobsOutputIsThereWholeOrNotAtAll) {
  Cluster cluster({.workers = 3, .slots = 1, .master_flags = {"--block_size=1m"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in");
  ASSERT_EQ(cluster.Mrctl({"fs", "put", dir + "/in", "/in"}).exit, 0);
  // One of three parts fails for good, when the others may long be written.
  RunResult run = cluster.Mrctl({"submit", "stream", "--map", "cat", "--reduce", "cat; test \"$MR_PARTITION\" != 2",
                                 "--input", "/in", "--output", "/out", "--reduces", "3"},
                                Seconds(120));
  EXPECT_EQ(run.exit, 1) << run.err;
  EXPECT_EQ(cluster.Mrctl({"fs", "stat", "/out/part-r-00000"}).exit, 7);
  run = cluster.Mrctl({"submit", "wordcount", "--input", "/in", "--output", "/out", "--reduces", "3"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(cluster.Mrctl({"fs", "stat", "/out/_SUCCESS"}).exit, 0);
  EXPECT_EQ(cluster.Mrctl({"submit", "wordcount", "--input", "/in", "--output", "/out"}).exit, 3);
}

}  // namespace
}  // namespace mr::test
