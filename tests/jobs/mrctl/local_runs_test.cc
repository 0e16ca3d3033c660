// The store of local runs: ids, limits, permissions and files that are not its own.
#include "jobs/mrctl/local_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>
#include <thread>

#include "common/io/files.h"
#include "tests/common/report/run_builder.h"

namespace mr::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LocalRunsTest : public testing::Test {
 protected:
  LocalRunsTest() {
    std::string path = testing::TempDir() + "local_runs.XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    base_ = path;
  }
  ~LocalRunsTest() override { EXPECT_TRUE(RemoveTree(base_).ok()); }

  static report::RecordedRun Named(const std::string& name) {
    report::RecordedRun recorded;
    recorded.run = report::RunBuilder().Workers(1, 1).Stage("map", {}).run();
    recorded.run.job.name = name;
    return recorded;
  }
  std::string Add(const std::string& name, size_t keep = 200) const {
    const auto id = runs().Add(Named(name), keep);
    EXPECT_TRUE(id.ok()) << id.status().ToString();
    return id.ok() ? *id : "";
  }
  std::vector<std::string> Names() const {
    const auto listed = runs().List(SIZE_MAX);
    EXPECT_TRUE(listed.ok()) << listed.status().ToString();
    std::vector<std::string> names;
    for (const JobStatus& job : listed->jobs) names.push_back(Name(job) + " " + job.name);
    return names;
  }
  LocalRuns runs() const { return LocalRuns(directory()); }
  std::string directory() const { return base_ + "/state/paceline/runs"; }
  uint32_t Mode(const std::string& path) const {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777;
  }

  std::string base_;
};

TEST_F(LocalRunsTest, ARunIsFoundUnderItsId) {
  EXPECT_EQ(Add("one"), "local_0001");
  EXPECT_EQ(Add("two"), "local_0002");
  const auto found = runs().Find(2);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(found->run.job.name, "two");
  EXPECT_EQ(Name(found->run.job), "local_0002");
  EXPECT_THAT(Names(), ElementsAre("local_0002 two", "local_0001 one"));
  EXPECT_EQ(runs().Find(3).status().code(), Code::kNotFound);
  EXPECT_THAT(LocalRuns(base_ + "/absent").List(5)->jobs, testing::IsEmpty());
}

// So that all lines of a run that goes on have its name.
TEST_F(LocalRunsTest, ANumberIsReservedBeforeTheRunEnds) {
  const auto one = runs().Reserve(), two = runs().Reserve();
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(*one, 1u);
  EXPECT_EQ(*two, 2u);
  EXPECT_THAT(Names(), ElementsAre()) << "they have no record yet";
  EXPECT_THAT(runs().Find(1).status().message(), HasSubstr("it still runs"));
  EXPECT_EQ(runs().Find(1).status().code(), Code::kNotFound);
  report::RecordedRun recorded = Named("second");
  recorded.why = {"job_1_0001 is SUCCEEDED", "at 1 s: launched attempt_1_0001_0_m_000000_1"};
  recorded.run.job.error = "task_1_0001_0_m_000000 failed";
  ASSERT_TRUE(runs().Store(2, recorded, 200).ok());
  EXPECT_THAT(Names(), ElementsAre("local_0002 second"));
  EXPECT_THAT(runs().Find(2)->why,
              ElementsAre("local_0002 is SUCCEEDED", "at 1 s: launched attempt_local_0002_0_m_000000_1"));
  EXPECT_EQ(runs().Find(2)->run.job.error, "task_local_0002_0_m_000000 failed");
  runs().Release(1);
  EXPECT_THAT(*ListDirectory(directory()), ElementsAre("local_0002.run"));
}

TEST_F(LocalRunsTest, OnlyTheUserCanReadThem) {
  Add("one");
  EXPECT_EQ(Mode(directory()), 0700u);
  EXPECT_EQ(Mode(base_ + "/state"), 0700u);
  EXPECT_EQ(Mode(directory() + "/local_0001.run"), 0600u);
}

TEST_F(LocalRunsTest, TheOldestAreRemovedBeyondTheLimitAndIdsAreNotUsedAgain) {
  for (const char* name : {"one", "two", "three"}) Add(name, 2);
  EXPECT_THAT(Names(), ElementsAre("local_0003 three", "local_0002 two"));
  Add("four", 1);
  EXPECT_THAT(*ListDirectory(directory()), ElementsAre("local_0004.run"));
}

TEST_F(LocalRunsTest, TheNewestAreKeptAndRunsThatGoOnAreNotTouched) {
  for (const char* name : {"one", "two", "three"}) Add(name);
  ASSERT_TRUE(runs().Reserve().ok());
  EXPECT_EQ(*runs().KeepNewest(2), 1u);
  EXPECT_THAT(*ListDirectory(directory()), ElementsAre("local_0002.run", "local_0003.run", "local_0004.run"));
  EXPECT_EQ(*runs().KeepNewest(2), 0u);
}

TEST_F(LocalRunsTest, TheyAreHeldToASizeButTheNewestStays) {
  Add("one");
  // Sparse files, as large as many runs.
  const std::string big = directory() + "/local_0002.run";
  ASSERT_TRUE(WriteFileDurably(big, "").ok());
  ASSERT_EQ(truncate(big.c_str(), static_cast<off_t>(kKeptRunBytes)), 0);
  Add("three");
  EXPECT_THAT(*ListDirectory(directory()), ElementsAre("local_0003.run"));
}

TEST_F(LocalRunsTest, RunsThatBeginAtOnceGetIdsOfTheirOwn) {
  constexpr int kEach = 10;
  std::vector<std::string> ids[4];
  std::vector<std::thread> threads;
  for (auto& mine : ids) {
    threads.emplace_back([this, &mine] {
      for (int i = 0; i < kEach; ++i) mine.push_back(Add("run"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& mine : ids) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 4u * kEach);
  EXPECT_EQ(Names().size(), 4u * kEach);
}

TEST_F(LocalRunsTest, WhatIsNoRunIsNamedAndDoesNoHarm) {
  Add("one");
  ASSERT_TRUE(WriteFileDurably(directory() + "/local_0002.run", "nonsense").ok());
  ASSERT_TRUE(WriteFileDurably(directory() + "/local_0003.run", "").ok());
  ASSERT_TRUE(WriteFileDurably(directory() + "/notes.txt", "mine").ok());
  ASSERT_TRUE(MakeDirectories(directory() + "/local_0004.run").ok());
  const auto listed = runs().List(SIZE_MAX);
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed->jobs.size(), 1u);
  EXPECT_THAT(listed->unreadable, testing::Contains(HasSubstr("local_0002 is not the record of a run")));
  EXPECT_EQ(runs().Find(2).status().code(), Code::kCorrupted);
  EXPECT_THAT(runs().Find(3).status().message(), HasSubstr("it still runs, or its mrctl was killed"));
  EXPECT_EQ(Add("five"), "local_0005");
  EXPECT_TRUE(PathExists(directory() + "/notes.txt"));
}

TEST_F(LocalRunsTest, ADirectoryThatCannotBeMadeIsAnError) {
  ASSERT_TRUE(WriteFileDurably(base_ + "/file", "").ok());
  const auto id = LocalRuns(base_ + "/file/runs").Add(Named("one"), 1);
  EXPECT_FALSE(id.ok());
  EXPECT_THAT(id.status().message(), HasSubstr("cannot make"));
}

TEST(LocalIdTest, NamesAreParsedAsTheyAreWritten) {
  EXPECT_EQ(LocalName(17), "local_0017");
  EXPECT_EQ(ParseLocalId("local_0017"), 17u);
  EXPECT_EQ(ParseLocalId("local_17"), 17u);
  EXPECT_EQ(ParseLocalId(LocalName(123456)), 123456u);
  for (const char* bad :
       {"", "local_", "local_0", "local_-1", "local_1x", "local_0000000001", "job_1_0001", "local_1.run"})
    EXPECT_EQ(ParseLocalId(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace mr::ctl
