#include "jobs/mrctl/archive.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/files.h"

namespace mr::ctl {
namespace {

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() {
    char path[] = "/tmp/archive_test.XXXXXX";
    root_ = mkdtemp(path);
  }
  ~ArchiveTest() override { (void)RemoveTree(root_); }

  std::string root_;
};

TEST_F(ArchiveTest, TarReadsWhatWasAdded) {
  for (const char* file : {"/a.tar", "/a.tar.gz", "/a.tgz", "/a.tar.zst", "/a"}) {
    TarWriter tar(1'700'000'000);
    tar.Add("README.txt", "hello\n");
    tar.Add("jobs/job_1_0001/empty", "");
    tar.Add("full", std::string(512, 'x'));
    const std::string path = root_ + file;
    const auto packed = CompressFor(path, tar.Finish());
    ASSERT_TRUE(packed.ok()) << packed.status().ToString();
    ASSERT_TRUE(WritePrivately(path, *packed, false).ok());
    const std::string out = root_ + "/out";
    ASSERT_TRUE(RemoveTree(out).ok() && MakeDirectories(out).ok());
    const std::string unpack = std::string(file) == "/a" ? "zstd -dcq '" + path + "' | tar x -C '" + out + "'"
                                                         : "tar xf '" + path + "' -C '" + out + "'";
    ASSERT_EQ(system(unpack.c_str()), 0) << file;
    EXPECT_EQ(ReadFile(out + "/README.txt").value(), "hello\n") << file;
    EXPECT_EQ(ReadFile(out + "/jobs/job_1_0001/empty").value(), "");
    EXPECT_EQ(ReadFile(out + "/full").value(), std::string(512, 'x'));
    struct stat info {};
    ASSERT_EQ(stat((out + "/full").c_str(), &info), 0);
    EXPECT_EQ(info.st_mtime, 1'700'000'000);
    EXPECT_EQ(info.st_mode & 077, 0u);
  }
}

TEST_F(ArchiveTest, AFileIsPrivateAndNeverReplacedWithoutForce) {
  const std::string path = root_ + "/b";
  ASSERT_TRUE(WritePrivately(path, "one", false).ok());
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(WritePrivately(path, "two", false).code(), Code::kRejected);
  EXPECT_EQ(ReadFile(path).value(), "one");
  ASSERT_TRUE(WritePrivately(path, "two", true).ok());
  EXPECT_EQ(ReadFile(path).value(), "two");
  ASSERT_EQ(symlink("nowhere", (root_ + "/link").c_str()), 0);
  EXPECT_EQ(WritePrivately(root_ + "/link", "x", false).code(), Code::kRejected);
  EXPECT_FALSE(WritePrivately(root_ + "/none/x", "x", false).ok());
  EXPECT_EQ(ListDirectory(root_).value(), (std::vector<std::string>{"b", "link"})) << "nothing is left behind";
}

}  // namespace
}  // namespace mr::ctl
