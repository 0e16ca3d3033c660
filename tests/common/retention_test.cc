#include "common/io/retention.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/files.h"

namespace mr {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kHour = 3'600'000, kNow = 1000 * kHour;
const auto kNothing = [](const std::string&) { return false; };

std::vector<std::string> NamesOf(const std::vector<StoredFile>& files) {
  std::vector<std::string> names;
  for (const StoredFile& f : files) names.push_back(f.name);
  return names;
}

// a is the oldest, d the newest; 10 bytes each.
std::vector<StoredFile> Four() {
  return {{"d", 10, kNow - 2 * kHour},
          {"a", 10, kNow - 9 * kHour},
          {"c", 10, kNow - 3 * kHour},
          {"b", 10, kNow - 5 * kHour}};
}

TEST(RetentionTest, TheOldestGoUntilTheRestFits) {
  EXPECT_THAT(NamesOf(Surplus(Four(), {20, Seconds(86400)}, kNow, kNothing)), ElementsAre("a", "b"));
  EXPECT_THAT(NamesOf(Surplus(Four(), {40, Seconds(86400)}, kNow, kNothing)), IsEmpty());
}

TEST(RetentionTest, WhatIsTooOldGoesWhateverTheSize) {
  EXPECT_THAT(NamesOf(Surplus(Four(), {1000, Seconds(4 * 3600)}, kNow, kNothing)), ElementsAre("a", "b"));
}

TEST(RetentionTest, WhatIsInUseStaysAndTheNextOldestGoes) {
  const auto in_use = [](const std::string& name) { return name == "a"; };
  EXPECT_THAT(NamesOf(Surplus(Four(), {20, Seconds(4 * 3600)}, kNow, in_use)), ElementsAre("b", "c"));
}

TEST(RetentionTest, NewFilesStayWhateverTheLimits) {
  const std::vector<StoredFile> files = {{"new", 10, kNow - 1000}, {"old", 10, kNow - kHour}};
  EXPECT_THAT(NamesOf(Surplus(files, {0, Seconds(1)}, kNow, kNothing)), ElementsAre("old"));
}

TEST(RetentionTest, UnfinishedTransfersGoEarly) {
  const std::vector<StoredFile> files = {
      {".x.7.part", 10, kNow - 2 * kHour}, {".y.8.part", 10, kNow - kHour / 2}, {"z", 10, kNow - 2 * kHour}};
  EXPECT_THAT(NamesOf(Surplus(files, {1000, Seconds(86400)}, kNow, kNothing)), ElementsAre(".x.7.part"));
}

TEST(RetentionTest, AGroupBeyondItsLimitLosesItsOwnOldestFilesAndNoneOfAnother) {
  const auto group_of = [](const std::string& name) { return std::string(name == "a" ? "" : name == "b" ? "x" : "y"); };
  const auto removed = [&](uint64_t all, uint64_t each) {
    return NamesOf(SurplusOfGroups(Four(), {all, Seconds(86400)}, {each, group_of}, kNow, kNothing));
  };
  EXPECT_THAT(removed(100, 10), ElementsAre("c")) << "y has c and d; a is in no group";
  EXPECT_THAT(removed(100, 20), IsEmpty());
  EXPECT_THAT(removed(20, 10), ElementsAre("c", "a")) << "the limit for all comes after that";
  EXPECT_THAT(removed(100, 0), IsEmpty()) << "0 is no limit";
}

TEST(RetentionTest, FilesOfAGroupCountForALeastSize) {
  const auto group_of = [](const std::string& name) { return std::string(name == "a" ? "" : "x"); };
  const auto removed = SurplusOfGroups(Four(), {100, Seconds(86400)}, {150, group_of, 50}, kNow, kNothing);
  EXPECT_THAT(NamesOf(removed), IsEmpty());
  EXPECT_THAT(NamesOf(SurplusOfGroups(Four(), {100, Seconds(86400)}, {149, group_of, 50}, kNow, kNothing)),
              ElementsAre("b"))
      << "a is in no group";
}

TEST(RetentionTest, AFileThatChangedSinceItWasListedStays) {
  char directory[] = "/tmp/retention_test.XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/";
  for (const char* name : {"missing", "touched", "untouched"}) {
    ASSERT_TRUE(WriteFileDurably(path + name, "x").ok());
    const timespec then[] = {{1000, 0}, {1000, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (path + name).c_str(), then, 0), 0);
  }
  const std::vector<StoredFile> files = StoredFiles(directory);
  ASSERT_EQ(files.size(), 3u);
  ASSERT_EQ(unlink((path + "missing").c_str()), 0);
  TouchFile(path + "touched");
  for (const StoredFile& file : files) EXPECT_EQ(RemoveStored(directory, file), file.name != "touched") << file.name;
  EXPECT_TRUE(PathExists(path + "touched"));
  EXPECT_FALSE(PathExists(path + "untouched"));
  EXPECT_TRUE(RemoveTree(directory).ok());
}

}  // namespace
}  // namespace mr
