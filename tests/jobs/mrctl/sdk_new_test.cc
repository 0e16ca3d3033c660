#include "jobs/mrctl/sdk_new.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SdkNewTest, ANameMustServeAsLibraryJobAndTarget) {
  for (const char* good : {"a", "word_stats", "k9"}) EXPECT_TRUE(CheckProjectName(good).ok()) << good;
  for (const char* bad : {"", "Words", "9k", "a-b", "a b", "../x", "a/b", "_a", "a_", "a__b", "test", "install",
                          "paceline", "abcdefghijklmnopqrstuvwxyzabcdefghijklmno"}) {
    EXPECT_EQ(CheckProjectName(bad).code(), Code::kInvalidArgument) << bad;
  }
}

TEST(SdkNewTest, EachTemplateComesUnderItsNewName) {
  ASSERT_EQ(ProjectTemplates().size(), 3u);
  EXPECT_EQ(ProjectTemplates()[0].name, kDefaultTemplate);
  for (const ProjectTemplate& known : ProjectTemplates()) {
    const auto files = ProjectFiles("word_stats", "/opt/sdk", known.name);
    ASSERT_TRUE(files.ok());
    ASSERT_EQ(files->size(), 4u);
    for (const ProjectFile& file : *files) {
      EXPECT_THAT(file.name + file.content, Not(HasSubstr("isits"))) << known.name << " " << file.name;
      EXPECT_THAT(file.content, HasSubstr("word_stats")) << known.name << " " << file.name;
    }
    EXPECT_THAT((*files)[0].content, HasSubstr("find_package(Paceline 0.2 REQUIRED HINTS \"/opt/sdk\")"));
    EXPECT_THAT((*files)[2].content, HasSubstr("AddJob(\"word_stats\""));
  }
}

TEST(SdkNewTest, AnUnknownTemplateIsRefusedWithTheKnownOnes) {
  const auto files = ProjectFiles("word_stats", "", "tree");
  EXPECT_EQ(files.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(files.status().message(), HasSubstr("there is no project template 'tree'"));
}

}  // namespace
}  // namespace mr::ctl
