#include "jobs/mrctl/last_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/io/files.h"

namespace mr::ctl {
namespace {

class LastJobTest : public testing::Test {
 protected:
  LastJobTest() {
    char path[] = "/tmp/last_job_test.XXXXXX";
    root_ = mkdtemp(path);
    setenv("XDG_STATE_HOME", (root_ + "/state").c_str(), 1);
  }
  ~LastJobTest() override {
    unsetenv("XDG_STATE_HOME");
    (void)RemoveTree(root_);
  }
  std::string File() const { return root_ + "/state/paceline/last"; }

  std::string root_;
};

TEST_F(LastJobTest, IsTheNewestThatWasRemembered) {
  EXPECT_EQ(Last().status().code(), Code::kNotFound);
  ASSERT_TRUE(RememberLast("job_1_0007", "lab:7070").ok());
  ASSERT_TRUE(RememberLast("job_1_0008", "unix:/run/a b").ok());
  const auto last = Last();
  ASSERT_TRUE(last.ok()) << last.status().ToString();
  EXPECT_EQ(last->id, "job_1_0008");
  EXPECT_EQ(last->master, "unix:/run/a b");
  ASSERT_TRUE(RememberLast("local_0001", "").ok());
  EXPECT_EQ(Last()->master, "");
}

TEST_F(LastJobTest, OnlyTheUserMayReadIt) {
  ASSERT_TRUE(RememberLast("job_1_0007", "lab:7070").ok());
  struct stat file {};
  ASSERT_EQ(stat(File().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  ASSERT_EQ(stat((root_ + "/state/paceline").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0700u);
  EXPECT_THAT(ListDirectory(root_ + "/state/paceline").value(), testing::ElementsAre("last"));
}

TEST_F(LastJobTest, AFileOfOtherTextIsNoJob) {
  ASSERT_TRUE(RememberLast("job_1_0007", "lab:7070").ok());
  for (const char* text : {"", "job_1_0007", "job_1_0007\nlab:7070", "\nlab:7070\n", "a\nb\nc\n"}) {
    ASSERT_TRUE(WriteFileDurably(File(), text).ok());
    EXPECT_EQ(Last().status().code(), Code::kCorrupted) << text;
  }
}

TEST_F(LastJobTest, AJobThatCannotBeRememberedLeavesNoneBehind) {
  ASSERT_TRUE(RememberLast("job_1_0007", "lab:7070").ok());
  // The name of the new file is taken by a directory.
  ASSERT_TRUE(MakeDirectories(File() + "." + std::to_string(getpid())).ok());
  EXPECT_FALSE(RememberLast("job_1_0008", "lab:7070").ok());
  EXPECT_EQ(Last().status().code(), Code::kNotFound) << "the job before is not the last one";
}

TEST_F(LastJobTest, IsInTheHomeDirectoryWithoutAStateDirectory) {
  setenv("XDG_STATE_HOME", "relative", 1);  // to be ignored, says the XDG base directory specification
  const std::string before = getenv("HOME") == nullptr ? "" : getenv("HOME");
  setenv("HOME", "/home/ann", 1);
  EXPECT_EQ(StateDirectory(), "/home/ann/.local/state/paceline");
  unsetenv("HOME");
  EXPECT_EQ(StateDirectory(), "");
  EXPECT_TRUE(RememberLast("job_1_0007", "lab:7070").ok()) << "there is no place for it";
  if (!before.empty()) setenv("HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace mr::ctl
