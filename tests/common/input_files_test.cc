// Local inputs: what a path, a directory and a pattern lead to.
#include "common/io/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/io/files.h"

namespace mr {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InputFilesTest : public testing::Test {
 protected:
  InputFilesTest() {
    std::string pattern = testing::TempDir() + "/input_files_XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  ~InputFilesTest() override { (void)RemoveTree(root_); }

  void Make(const std::string& name, const std::string& bytes = "x") {
    const std::string path = root_ + "/" + name;
    ASSERT_TRUE(MakeDirectories(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(WriteFileDurably(path, bytes).ok());
  }
  // Without the root; the status's code where there is one.
  std::vector<std::string> Names(const std::string& under) const {
    const auto files = ExpandFileUri("file://" + root_ + "/" + under, FileRoots::Any());
    if (!files.ok()) return {files.status().message()};
    std::vector<std::string> names;
    const size_t root = std::string("file://").size() + root_.size() + 1;
    for (const InputFile& file : *files) names.push_back(file.uri.substr(root));
    return names;
  }
  Code CodeOf(const std::string& under) const {
    return ExpandFileUri("file://" + root_ + "/" + under, FileRoots::Any()).status().code();
  }
  std::string root_;
};

TEST_F(InputFilesTest, ADirectoryIsAllThatIsBelowItButHiddenNames) {
  for (const char* name : {"d/b", "d/a", "d/e/c", "d/_SUCCESS", "d/.hidden", "d/_temporary/x", "d/.git/y"}) Make(name);
  EXPECT_THAT(Names("d"), ElementsAre("d/a", "d/b", "d/e/c"));
  EXPECT_THAT(Names("d/"), ElementsAre("d/a", "d/b", "d/e/c"));
  EXPECT_THAT(Names("d/_SUCCESS"), ElementsAre("d/_SUCCESS")) << "asked for by its name";
}

TEST_F(InputFilesTest, APatternLeadsToFilesAndDirectoriesButHiddenNames) {
  for (const char* name : {"2024/a", "2025/b", "_2026/c", ".2027/d", "e"}) Make(name);
  EXPECT_THAT(Names("*"), ElementsAre("2024/a", "2025/b", "e"));
  EXPECT_THAT(Names("202[4]"), ElementsAre("2024/a"));
  EXPECT_EQ(CodeOf("*6"), Code::kNotFound) << "hidden names alone";
  EXPECT_EQ(CodeOf("nothing*"), Code::kNotFound);
  EXPECT_EQ(CodeOf("nowhere/*"), Code::kNotFound);
  Make("*");
  EXPECT_THAT(Names("*"), ElementsAre("*")) << "a name that exists is taken as it is";
}

// Below a directory it may lead back up, and the walk would not end.
TEST_F(InputFilesTest, ALinkToADirectoryIsFollowedWhereItIsNamedAndRefusedBelow) {
  Make("d/e/a");
  ASSERT_EQ(symlink((root_ + "/d/e").c_str(), (root_ + "/link").c_str()), 0);
  ASSERT_EQ(symlink((root_ + "/d/e/a").c_str(), (root_ + "/d/to_a_file").c_str()), 0);
  EXPECT_THAT(Names("link"), ElementsAre("link/a"));
  EXPECT_THAT(Names("lin*"), ElementsAre("link/a"));
  EXPECT_THAT(Names("d"), ElementsAre("d/e/a", "d/to_a_file"));
  ASSERT_EQ(symlink("..", (root_ + "/d/up").c_str()), 0);
  EXPECT_EQ(CodeOf("d"), Code::kInvalidArgument);
  EXPECT_THAT(Names("d").at(0), HasSubstr("d/up is a link to a directory"));
}

TEST_F(InputFilesTest, WhatDoesNotExistIsNamedWithWhatIsNear) {
  Make("data.csv");
  EXPECT_EQ(CodeOf("dta.csv"), Code::kNotFound);
  EXPECT_THAT(Names("dta.csv").at(0), HasSubstr("nearest name there is " + root_ + "/data.csv"));
  ASSERT_EQ(symlink("gone", (root_ + "/broken").c_str()), 0);
  EXPECT_THAT(Names("broken").at(0), HasSubstr("is a link to something that does not exist"));
}

TEST_F(InputFilesTest, CompressedBytesAreCountedAmongAll) {
  Make("d/a", "12345");
  Make("d/b.gz", "123");
  const InputSize size = SizeOf(ExpandFileUri("file://" + root_ + "/d", FileRoots::Any()).value());
  EXPECT_EQ(size.bytes, 8u);
  EXPECT_EQ(size.compressed, 3u);
}

}  // namespace
}  // namespace mr
