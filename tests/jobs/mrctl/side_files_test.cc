#include "jobs/mrctl/side_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;

class SideFilesTest : public testing::Test {
 protected:
  SideFilesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "side_files_test_XXXXXX").string();
    directory_ = mkdtemp(name.data());
    for (const char* file : {"a", "b#c", "empty"})
      std::ofstream(directory_ + "/" + file) << (file[0] == 'e' ? "" : file);
    std::filesystem::create_directory(directory_ + "/d");
    std::ofstream(directory_ + "/d/a") << "other";
  }
  ~SideFilesTest() override { std::filesystem::remove_all(directory_); }
  Result<std::vector<SideFile>> Parse(const std::vector<std::string>& words) {
    return ParseSideFiles(words, directory_);
  }

  std::string directory_;
};

TEST_F(SideFilesTest, AreNamedByTheirPathOrBehindTheHash) {
  auto files = Parse({"a", "file://" + directory_ + "/d/a#x.txt", "empty#e", "b#c"});
  ASSERT_TRUE(files.ok()) << files.status().ToString();
  ASSERT_EQ(files->size(), 4u);
  EXPECT_EQ((*files)[0].path, directory_ + "/a");
  EXPECT_EQ((*files)[0].name, "a");
  EXPECT_EQ((*files)[1].path, directory_ + "/d/a");
  EXPECT_EQ((*files)[1].name, "x.txt");
  EXPECT_EQ((*files)[1].bytes, 5u);
  EXPECT_EQ((*files)[2].bytes, 0u);
  EXPECT_EQ((*files)[3].name, "b#c");  // a file of this name is there
  ASSERT_TRUE(DigestSideFiles(&*files).ok());
  EXPECT_EQ((*files)[2].sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_F(SideFilesTest, AreRefusedWithWhatIsWrong) {
  const auto refused = [&](const std::vector<std::string>& words, Code code, const std::string& said) {
    const Status status = Parse(words).status();
    EXPECT_EQ(status.code(), code) << said;
    EXPECT_THAT(status.message(), HasSubstr(said));
  };
  refused({"missing"}, Code::kNotFound, "missing does not exist");
  refused({"missing#a"}, Code::kNotFound, "missing does not exist");
  refused({"d"}, Code::kInvalidArgument, "is no regular file");
  refused({"a#.."}, Code::kInvalidArgument, "is no name of a file");
  refused({"a#"}, Code::kInvalidArgument, "is no name of a file");
  refused({"a#x/y"}, Code::kInvalidArgument, "is no name of a file");
  refused({"a", "d/a"}, Code::kInvalidArgument, "have the same name 'a'");
  refused({"dfs:///a"}, Code::kInvalidArgument, "must be on this machine");
  refused(std::vector<std::string>(101, "a"), Code::kInvalidArgument, "the limit is 100");
}

}  // namespace
}  // namespace mr::ctl
