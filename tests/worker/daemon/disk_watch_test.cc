// The watch of a worker's disk (directories in which attempts cannot write), and the kept address of its master.
#include "worker/daemon/disk_watch.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/files.h"
#include "common/secure/cluster_files.h"
#include "worker/daemon/join.h"

namespace mr::worker {
namespace {

class DiskWatchTest : public testing::Test {
 protected:
  DiskWatchTest() {
    char path[] = "/tmp/disk_watch_test.XXXXXX";
    root_ = mkdtemp(path);
    for (const char* name : {"scratch", "lib"}) EXPECT_TRUE(MakeDirectories(Path(name)).ok());
  }
  ~DiskWatchTest() override { (void)RemoveTree(root_); }
  std::string Path(const std::string& name) const { return root_ + "/" + name; }

  std::string root_;
};

TEST_F(DiskWatchTest, AMissingDirectoryWithoutContentsIsMadeAgainAsItWas) {
  DiskWatch disk(root_, 0, {{Path("scratch"), true}});
  ASSERT_EQ(chmod(Path("scratch").c_str(), 0711), 0);
  disk.Look();
  ASSERT_TRUE(RemoveTree(Path("scratch")).ok());
  disk.Look();
  struct stat info {};
  ASSERT_EQ(stat(Path("scratch").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0711u) << "users of tasks may pass as before";
  EXPECT_EQ(disk.seen().failure, "");
}

TEST_F(DiskWatchTest, ADirectoryThatHeldOutputsIsNotMadeAgain) {
  DiskWatch disk(root_, 0, {{Path("lib")}});
  ASSERT_TRUE(RemoveTree(Path("lib")).ok());
  disk.Look();
  EXPECT_EQ(disk.seen().failure, "cannot write in " + Path("lib") + ": No such file or directory");
  EXPECT_FALSE(PathExists(Path("lib")));
}

TEST_F(DiskWatchTest, ADirectoryThatCannotBeUsedIsReportedUntilItCan) {
  DiskWatch disk(root_, 0, {{Path("lib")}, {Path("scratch"), true}});
  disk.Look();
  EXPECT_EQ(disk.seen().failure, "");
  ASSERT_TRUE(RemoveTree(Path("scratch")).ok());
  ASSERT_TRUE(WriteFileDurably(Path("scratch"), "no directory").ok());
  for (int look = 0; look < 2; ++look) {
    disk.Look();
    EXPECT_EQ(disk.seen().failure, "cannot write in " + Path("scratch") + ": Not a directory");
  }
  EXPECT_FALSE(disk.seen().full);
  ASSERT_EQ(unlink(Path("scratch").c_str()), 0);
  disk.Look();
  EXPECT_EQ(disk.seen().failure, "");
}

TEST_F(DiskWatchTest, AWriteWithoutSpaceSaysWhenUntilThereIsRoom) {
  DiskWatch disk(root_, 0);
  disk.Look();
  EXPECT_TRUE(disk.NoteError("cannot write " + Path("scratch") + "/x: No space left on device"));
  EXPECT_TRUE(disk.seen().full);
  EXPECT_NE(disk.seen().no_space_unix_ms, 0u);
  disk.Look();
  EXPECT_FALSE(disk.seen().full);
  EXPECT_EQ(disk.seen().no_space_unix_ms, 0u);
}

TEST_F(DiskWatchTest, OnlyAnErrorThatNamesADirectoryOfAttemptsCastsDoubt) {
  DiskWatch disk(root_, 0, {{Path("scratch"), true}});
  EXPECT_FALSE(disk.Doubt("cannot open /elsewhere/scratch/x: Input/output error"));
  EXPECT_TRUE(disk.Doubt("cannot write " + Path("scratch") + "/x: Input/output error"));
  disk.Look();
  EXPECT_EQ(disk.seen().failure, "") << "a write shows that it works";
}

TEST_F(DiskWatchTest, TheMasterOfTheLastRegistrationIsKeptBesideCredentialsOnly) {
  const std::string credentials = secure::CredentialsPath(root_);
  KeepMaster(root_, "old:7070");
  EXPECT_FALSE(PathExists(credentials));
  ASSERT_TRUE(MakeDirectories(credentials).ok());
  for (const std::string& master : {std::string("old:7070"), std::string("new:7070")}) {
    KeepMaster(root_, master);
    const auto kept = ReadFile(credentials + "/master");
    ASSERT_TRUE(kept.ok());
    EXPECT_EQ(*kept, master + "\n");
  }
}

}  // namespace
}  // namespace mr::worker
