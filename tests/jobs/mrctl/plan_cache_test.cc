#include "jobs/mrctl/plan_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "common/io/files.h"

namespace mr::ctl {
namespace {

class PlanCacheTest : public testing::Test {
 protected:
  PlanCacheTest() {
    char path[] = "/tmp/plan_cache_test.XXXXXX";
    root_ = mkdtemp(path);
    setenv("XDG_CACHE_HOME", (root_ + "/cache").c_str(), 1);
    Write(root_ + "/mrtask", "program");
    Write(root_ + "/library", "operators");
  }
  ~PlanCacheTest() override {
    unsetenv("XDG_CACHE_HOME");
    (void)RemoveTree(root_);
  }
  static void Write(const std::string& path, const std::string& text) {
    const auto file = OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(WriteAll(file->get(), text).ok());
  }
  PlanCache Cache(const std::vector<std::string>& argv) const {
    return {argv, {root_ + "/mrtask", root_ + "/library"}};
  }
  // The only kept plan.
  std::string File() const {
    const std::string directory = root_ + "/cache/paceline/plans";
    const auto names = ListDirectory(directory);
    EXPECT_TRUE(names.ok() && names->size() == 1);
    return directory + "/" + names->front();
  }

  std::string root_;
};

TEST_F(PlanCacheTest, AKeptPlanIsFoundForTheSameWords) {
  EXPECT_EQ(Cache({"plan", "wordcount"}).Find(), std::nullopt);
  Cache({"plan", "wordcount"}).Keep("{\"plan\": 1}\n");
  EXPECT_EQ(Cache({"plan", "wordcount"}).Find(), "{\"plan\": 1}\n");
  EXPECT_EQ(Cache({"plan", "wordcount", ""}).Find(), std::nullopt);
  EXPECT_EQ(Cache({"plan\n", "wordcount"}).Find(), std::nullopt);
  EXPECT_EQ(Cache({"plan\n9 wordcount"}).Find(), std::nullopt) << "words with line breaks are taken apart";
}

TEST_F(PlanCacheTest, AnotherVersionOfAFileMakesAnotherPlan) {
  Cache({"plan"}).Keep("old");
  // The same size and, within the resolution of the clock, the same time: the rename gives another inode.
  Write(root_ + "/fresh", "operator2");
  ASSERT_EQ(rename((root_ + "/fresh").c_str(), (root_ + "/library").c_str()), 0);
  EXPECT_EQ(Cache({"plan"}).Find(), std::nullopt);
}

TEST_F(PlanCacheTest, AMissingFileKeepsNothing) {
  ASSERT_EQ(unlink((root_ + "/mrtask").c_str()), 0);
  Cache({"plan"}).Keep("kept");
  EXPECT_EQ(Cache({"plan"}).Find(), std::nullopt);
  EXPECT_FALSE(PathExists(root_ + "/cache"));
}

TEST_F(PlanCacheTest, APlanThatOthersMayWriteOrThatWasCutIsIgnored) {
  Cache({"plan"}).Keep("kept");
  struct stat info {};
  ASSERT_EQ(stat(File().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u) << "arguments may be private";
  ASSERT_EQ(chmod(File().c_str(), 0620), 0);
  EXPECT_EQ(Cache({"plan"}).Find(), std::nullopt);
  ASSERT_EQ(chmod(File().c_str(), 0600), 0);
  EXPECT_EQ(Cache({"plan"}).Find(), "kept");
  ASSERT_EQ(truncate(File().c_str(), info.st_size - 1), 0);
  EXPECT_EQ(Cache({"plan"}).Find(), std::nullopt);
  ASSERT_EQ(truncate(File().c_str(), info.st_size), 0) << "as a crash of the machine may leave it";
  EXPECT_EQ(Cache({"plan"}).Find(), std::nullopt);
}

TEST_F(PlanCacheTest, TheNumberOfPlansIsBounded) {
  for (int i = 0; i < 300; ++i) Cache({"plan", std::to_string(i)}).Keep("kept");
  const auto names = ListDirectory(root_ + "/cache/paceline/plans");
  ASSERT_TRUE(names.ok());
  EXPECT_LE(names->size(), 256u);
  EXPECT_EQ(Cache({"plan", "299"}).Find(), "kept");
}

}  // namespace
}  // namespace mr::ctl
