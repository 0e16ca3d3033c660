// Files that a user names: what is there decides how it is written.
#include "common/io/target_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/files.h"

namespace mr {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class TargetFileTest : public testing::Test {
 protected:
  TargetFileTest() {
    std::string path = testing::TempDir() + "target_file.XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    root_ = path + "/";
  }
  ~TargetFileTest() override { EXPECT_TRUE(RemoveTree(root_).ok()); }

  mode_t ModeOf(const std::string& name) const {
    struct stat at {};
    return lstat((root_ + name).c_str(), &at) == 0 ? at.st_mode : 0;
  }

  std::string root_;
};

TEST_F(TargetFileTest, ALinkIsFollowedAndItsTargetReplaced) {
  ASSERT_TRUE(MakeDirectories(root_ + "below").ok());
  ASSERT_TRUE(WriteTarget(root_ + "below/file", "old").ok());
  ASSERT_EQ(chmod((root_ + "below/file").c_str(), 0640), 0);
  ASSERT_EQ(symlink("below/file", (root_ + "link").c_str()), 0);
  ASSERT_EQ(symlink("link", (root_ + "link to link").c_str()), 0);
  ASSERT_TRUE(CheckTarget(root_ + "link to link").ok());
  ASSERT_TRUE(WriteTarget(root_ + "link to link", "new").ok());
  EXPECT_TRUE(S_ISLNK(ModeOf("link")) && S_ISLNK(ModeOf("link to link")));
  EXPECT_EQ(*ReadFile(root_ + "below/file"), "new");
  EXPECT_EQ(ModeOf("below/file") & 0777, 0640u) << "the mode of the file is kept";
  EXPECT_THAT(*ListDirectory(root_ + "below"), ElementsAre("file"));
}

TEST_F(TargetFileTest, ALinkToNothingMakesItsTarget) {
  ASSERT_EQ(symlink("later", (root_ + "link").c_str()), 0);
  EXPECT_EQ(WriteTarget(root_ + "link", false, [](int fd) { return WriteAll(fd, "a"); }).code(), Code::kRejected);
  ASSERT_TRUE(WriteTarget(root_ + "link", "a").ok());
  EXPECT_TRUE(S_ISLNK(ModeOf("link")));
  EXPECT_EQ(*ReadFile(root_ + "later"), "a");
  ASSERT_EQ(symlink("round", (root_ + "round").c_str()), 0);
  EXPECT_FALSE(WriteTarget(root_ + "round", "a").ok());
}

TEST_F(TargetFileTest, AFifoIsWrittenAndStays) {
  ASSERT_EQ(mkfifo((root_ + "fifo").c_str(), 0600), 0);
  const auto reader = OpenFile(root_ + "fifo", O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(CheckTarget(root_ + "fifo").ok());
  ASSERT_TRUE(WriteTarget(root_ + "fifo", false, [](int fd) { return WriteAll(fd, "bytes"); }).ok());
  char bytes[16];
  EXPECT_EQ(read(reader->get(), bytes, sizeof bytes), 5);
  EXPECT_TRUE(S_ISFIFO(ModeOf("fifo")));
  EXPECT_THAT(*ListDirectory(root_), ElementsAre("fifo"));
}

TEST_F(TargetFileTest, AReaderThatLeavesAFifoIsNoError) {
  ASSERT_EQ(mkfifo((root_ + "fifo").c_str(), 0600), 0);
  auto reader = OpenFile(root_ + "fifo", O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(reader.ok());
  signal(SIGPIPE, SIG_IGN);
  EXPECT_TRUE(WriteTarget(root_ + "fifo", true, [&](int fd) {
                reader->reset();
                return WriteAll(fd, "bytes");
              }).ok());
}

TEST_F(TargetFileTest, ADeviceIsWrittenAndStays) {
  ASSERT_EQ(symlink("/dev/full", (root_ + "full").c_str()), 0);
  EXPECT_TRUE(CheckTarget("/dev/full").ok());
  const Status full = WriteTarget(root_ + "full", "bytes");
  EXPECT_EQ(full.code(), Code::kOverloaded) << full.ToString();
  struct stat at {};
  EXPECT_TRUE(stat("/dev/full", &at) == 0 && S_ISCHR(at.st_mode));
  EXPECT_TRUE(WriteTarget("/dev/null", "bytes").ok());
}

TEST_F(TargetFileTest, ANameOfADescriptorContinuesWhereItsFileStands) {
  const auto file = OpenFile(root_ + "out", O_RDWR | O_CREAT);
  ASSERT_TRUE(file.ok() && WriteAll(file->get(), "first ").ok());
  const std::string name = "/dev/fd/" + std::to_string(file->get());
  EXPECT_TRUE(CheckTarget(name).ok());
  ASSERT_TRUE(WriteTarget(name, false, [](int fd) { return WriteAll(fd, "second"); }).ok());
  EXPECT_EQ(*ReadFile(root_ + "out"), "first second");
  EXPECT_FALSE(CheckTarget("/dev/fd/987654").ok());
}

TEST_F(TargetFileTest, ErrorsNameTheTarget) {
  const Status absent = WriteTarget(root_ + "no/dir/x", "a");
  EXPECT_EQ(absent.code(), Code::kNotFound);
  EXPECT_EQ(absent.message(), "cannot write " + root_ + "no/dir/x: the directory " + root_ + "no/dir does not exist");
  EXPECT_EQ(CheckTarget(root_ + "no/dir/x").message(), absent.message());
  EXPECT_EQ(WriteTarget(root_, "a").code(), Code::kInvalidArgument) << "a directory";
  ASSERT_TRUE(WriteTarget(root_ + "file", "a").ok());
  EXPECT_EQ(WriteTarget(root_ + "file/x", "a").code(), Code::kNotFound);
  EXPECT_EQ(WriteTarget(root_ + "new/", "a").code(), Code::kNotFound);
  const Status read_only = WriteTarget("/proc/sys/x", "a");
  EXPECT_THAT(read_only.message(), HasSubstr("/proc/sys/x"));
  EXPECT_THAT(read_only.message(), Not(HasSubstr(".part-")));
}

TEST_F(TargetFileTest, AFailedWriteKeepsTheOldFile) {
  ASSERT_TRUE(WriteTarget(root_ + "file", "old").ok());
  const Status failed = WriteTarget(root_ + "file", true, [](int fd) {
    EXPECT_TRUE(WriteAll(fd, "half").ok());
    return Internal("no");
  });
  EXPECT_EQ(failed.code(), Code::kInternal);
  EXPECT_EQ(*ReadFile(root_ + "file"), "old");
  EXPECT_THAT(*ListDirectory(root_), ElementsAre("file"));
}

}  // namespace
}  // namespace mr
