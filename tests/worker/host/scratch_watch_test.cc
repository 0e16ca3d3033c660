// The size of scratch directories, and attempts that fill them.
#include "worker/host/scratch_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>
#include <utility>

#include "common/io/files.h"
#include "tests/support/temp_directory.h"
#include "worker/task/process_tree.h"

namespace mr::worker {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class ScratchWatchTest : public testing::Test {
 protected:
  UniqueFd Write(const std::string& name, uint64_t bytes) {
    UniqueFd file = OpenFile(directory_ / name, O_RDWR | O_CREAT).value();
    EXPECT_TRUE(WriteAll(file.get(), std::string(bytes, 'x')).ok());
    EXPECT_EQ(fsync(file.get()), 0);  // before it, a file may have no blocks
    return file;
  }
  test::TempDirectory directory_;
};

TEST_F(ScratchWatchTest, FilesCountByTheirBlocksAndOnce) {
  EXPECT_LT(BytesBelow(directory_.path(), 100 * kMiB), kMiB);
  ASSERT_TRUE(MakeDirectories(directory_ / "a/b").ok());
  Write("a/b/file", 3 * kMiB);
  ASSERT_EQ(link((directory_ / "a/b/file").c_str(), (directory_ / "a/again").c_str()), 0);
  ASSERT_EQ(symlink("/usr", (directory_ / "elsewhere").c_str()), 0);
  const UniqueFd hole = OpenFile(directory_ / "hole", O_RDWR | O_CREAT).value();
  ASSERT_EQ(ftruncate(hole.get(), 64 * kMiB), 0);
  const uint64_t bytes = BytesBelow(directory_.path(), 100 * kMiB);
  EXPECT_GE(bytes, 3 * kMiB);
  EXPECT_LT(bytes, 4 * kMiB);
  EXPECT_GT(BytesBelow(directory_.path(), kMiB), kMiB);
  EXPECT_EQ(BytesBelow(directory_ / "nowhere", kMiB), 0u);
}

// Otherwise a task could use up all inodes of the file system.
TEST_F(ScratchWatchTest, EmptyFilesAndLinksCount) {
  for (int i = 0; i < 100; ++i) {
    const std::string name = directory_ / std::to_string(i);
    if (i % 2 == 0) {
      ASSERT_TRUE(OpenFile(name, O_RDWR | O_CREAT).ok());
    } else {
      ASSERT_EQ(symlink("/nowhere", name.c_str()), 0);
    }
  }
  EXPECT_GE(BytesBelow(directory_.path(), 100 * kMiB), kMiB);
}

TEST_F(ScratchWatchTest, OpenFilesWithoutANameCount) {
  struct stat info;
  ASSERT_EQ(stat(directory_.path().c_str(), &info), 0);
  const uint64_t before = task::UnlinkedBytes(getpid(), info.st_dev);
  const UniqueFd file = Write("gone", 2 * kMiB), same(dup(file.get()));
  EXPECT_EQ(task::UnlinkedBytes(getpid(), info.st_dev), before);
  ASSERT_EQ(unlink((directory_ / "gone").c_str()), 0);
  const uint64_t bytes = task::UnlinkedBytes(getpid(), info.st_dev) - before;
  EXPECT_GE(bytes, 2 * kMiB);
  EXPECT_LT(bytes, 3 * kMiB);
}

TEST_F(ScratchWatchTest, ReportsTheAttemptThatIsAboveTheLimit) {
  ASSERT_TRUE(MakeDirectories(directory_ / "small").ok());
  ASSERT_TRUE(MakeDirectories(directory_ / "large").ok());
  Write("large/file", 2 * kMiB);
  std::promise<uint64_t> over;
  bool reported = false;
  ScratchWatch watch(kMiB, [&](uint64_t attempt, uint64_t bytes) {
    EXPECT_GT(bytes, kMiB);
    if (!std::exchange(reported, true)) over.set_value(attempt);
  });
  watch.Add(7, directory_ / "small", getpid());
  watch.Add(8, directory_ / "large", getpid());
  EXPECT_EQ(over.get_future().get(), 8u);
  watch.Remove(8);
}

}  // namespace
}  // namespace mr::worker
