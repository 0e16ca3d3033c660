// The block store as its users meet it: what was put is there, whoever dies.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/io/files.h"
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

TEST(BlockStoreTest, ACopyWhoseSourceCannotBeReadReplacesNothing) {
  Cluster cluster({.workers = 1, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteWords(dir + "/damaged", 200'000, 3);
  WriteWords(dir + "/old", 100, 4);
  ASSERT_EQ(cluster.Mrctl({"fs", "put", dir + "/damaged", "/damaged"}).exit, 0);
  std::string block;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cluster.worker_data(0) + "/blocks")) {
    if (entry.path().extension() == ".blk") block = entry.path();
  }
  ASSERT_FALSE(block.empty());
  ASSERT_EQ(cluster.Mrctl({"fs", "put", dir + "/old", "/old"}).exit, 0);
  // Behind its first half, so that a part of it arrives.
  std::fstream file(block, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(std::filesystem::file_size(block) / 4 * 3);
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 1));
  file.close();
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"fs", "cp", "/damaged", "/new"}, {"fs", "cp", "--overwrite", "/damaged", "/old"}}) {
    const RunResult run = cluster.Mrctl(args);
    EXPECT_NE(run.exit, 0) << run.out;
    EXPECT_NE(run.err.find("damaged"), std::string::npos) << run.err;
  }
  EXPECT_EQ(cluster.Mrctl({"fs", "stat", "/new"}).exit, 7);
  EXPECT_EQ(cluster.Mrctl({"fs", "cat", "/old"}).out, *ReadFile(dir + "/old"));
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
