#include "common/io/file_roots.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/files.h"

namespace mr {
namespace {

using testing::HasSubstr;

class FileRootsTest : public testing::Test {
 protected:
  FileRootsTest() {
    char path[] = "/tmp/file_roots_test.XXXXXX";
    root_ = mkdtemp(path);
    EXPECT_TRUE(MakeDirectories(root_ + "/data/sub").ok());
    EXPECT_TRUE(MakeDirectories(root_ + "/database").ok());
    EXPECT_TRUE(WriteFileDurably(root_ + "/data/file", "x").ok());
    EXPECT_TRUE(WriteFileDurably(root_ + "/database/secret", "x").ok());
    EXPECT_EQ(symlink((root_ + "/database").c_str(), (root_ + "/data/out").c_str()), 0);
    EXPECT_EQ(symlink((root_ + "/not/yet").c_str(), (root_ + "/data/later").c_str()), 0);
    EXPECT_EQ(symlink((root_ + "/data").c_str(), (root_ + "/alias").c_str()), 0);
  }
  ~FileRootsTest() override { (void)RemoveTree(root_); }
  Code CodeOf(const FileRoots& roots, const std::string& below) const { return roots.Check(root_ + below).code(); }
  std::string root_;
};

TEST_F(FileRootsTest, LetInWhatIsBelowARootAndNothingElse) {
  const FileRoots roots = FileRoots::Parse(root_ + "/data/,/no/such/directory").value();
  EXPECT_FALSE(roots.any());
  for (const char* inside : {"/data", "/data/file", "/data/sub", "/data/new", "/data/new/deep/er", "/alias/file"}) {
    EXPECT_EQ(CodeOf(roots, inside), Code::kOk) << inside;
  }
  for (const char* outside : {"", "/database", "/database/secret", "/data/../database/secret", "/data/sub/..",
                              "/data/out", "/data/out/secret", "/data/out/new", "/data/later", "/data/later/new"}) {
    EXPECT_EQ(CodeOf(roots, outside), Code::kNotAllowed) << outside;
  }
  EXPECT_EQ(roots.Check("data/file").code(), Code::kNotAllowed) << "no absolute path";
  EXPECT_THAT(roots.Check("/etc/passwd").message(), HasSubstr("file:///etc/passwd"));
}

TEST_F(FileRootsTest, ARefusalDoesNotTellWhetherThePathExists) {
  const FileRoots roots = FileRoots::Parse(root_ + "/data").value();
  std::string there = roots.Check(root_ + "/database/secret").message();
  std::string absent = roots.Check(root_ + "/database/absent").message();
  there.replace(there.find("secret"), 6, "X");
  absent.replace(absent.find("absent"), 6, "X");
  EXPECT_EQ(there, absent);
}

TEST_F(FileRootsTest, AnOpenFileIsJudgedByWhereItIsAndNotByItsName) {
  const FileRoots roots = FileRoots::Parse(root_ + "/data").value();
  const auto inside = OpenFile(root_ + "/alias/file", O_RDONLY);
  EXPECT_TRUE(roots.CheckOpen(inside->get(), "/x").ok());
  const auto outside = OpenFile(root_ + "/data/out/secret", O_RDONLY);
  EXPECT_EQ(roots.CheckOpen(outside->get(), "/x").code(), Code::kNotAllowed);
  // Moved out after it was opened.
  ASSERT_EQ(rename((root_ + "/data/file").c_str(), (root_ + "/database/file").c_str()), 0);
  EXPECT_EQ(roots.CheckOpen(inside->get(), "/x").code(), Code::kNotAllowed);
}

TEST_F(FileRootsTest, APinnedDirectoryStaysTheOneThatWasChecked) {
  const FileRoots roots = FileRoots::Parse(root_ + "/data").value();
  const auto pinned = roots.Pin(root_ + "/data/sub/new");
  ASSERT_TRUE(pinned.ok()) << pinned.status().ToString();
  // Its name leads elsewhere now.
  ASSERT_EQ(rename((root_ + "/data/sub").c_str(), (root_ + "/data/moved").c_str()), 0);
  ASSERT_EQ(symlink((root_ + "/database").c_str(), (root_ + "/data/sub").c_str()), 0);
  ASSERT_TRUE(MakeDirectories(pinned->path).ok());
  EXPECT_TRUE(PathExists(root_ + "/data/moved/new"));
  EXPECT_FALSE(PathExists(root_ + "/database/new"));
  EXPECT_EQ(roots.Pin(root_ + "/data/sub").status().code(), Code::kNotAllowed);
  EXPECT_EQ(FileRoots::Any().Pin("/no/such")->path, "/no/such");
}

TEST_F(FileRootsTest, AnyLetsInAllAndNoneNothing) {
  for (const char* path : {"/", "/etc/passwd", "/no/such"}) {
    EXPECT_TRUE(FileRoots::Parse("any")->Check(path).ok()) << path;
    EXPECT_EQ(FileRoots::Parse("none")->Check(path).code(), Code::kNotAllowed) << path;
    EXPECT_EQ(FileRoots().Check(path).code(), Code::kNotAllowed) << path;
    EXPECT_TRUE(FileRoots::Parse("/")->Check(path).ok()) << path;
  }
  EXPECT_TRUE(FileRoots::Parse("any")->any());
}

TEST_F(FileRootsTest, ListsThatNameNoDirectoriesAreRefused) {
  for (const char* text : {"", ",", "data", "/a,b", "/a/..", "/a/../b", "any,/a"}) {
    EXPECT_EQ(FileRoots::Parse(text).status().code(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace mr
