#include "jobs/mrctl/argv_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

OptionKind Known(std::string_view name) {
  if (name == "-v" || name == "--overwrite" || name == "--local") return OptionKind::kFlag;
  if (name == "--input" || name == "--output" || name == "-o" || name == "--conf") return OptionKind::kValue;
  return OptionKind::kUnknown;
}

SplitArgv Split(const std::vector<std::string>& argv) { return SplitSubmitArgv(argv, Known, BuiltinClaims); }

TEST(ArgvSplitTest, FindsTheJobBehindOptionsAndTheirValues) {
  const auto split = Split({"--input", "wordcount", "-v", "--local", "grep", "-e", "x"});
  EXPECT_EQ(split.job, "grep");
  EXPECT_THAT(split.ours, ElementsAre("--input", "wordcount", "-v", "--local"));
  EXPECT_THAT(split.job_args, ElementsAre("-e", "x"));
}

TEST(ArgvSplitTest, GivesKnownOptionsBehindTheJobToSubmitAndUnknownOnesToTheJob) {
  const auto split = Split({"sort", "--numeric", "--input", "a", "word", "--output=b", "-ojson"});
  EXPECT_THAT(split.ours, ElementsAre("--input", "a", "--output=b", "-ojson"));
  EXPECT_THAT(split.job_args, ElementsAre("--numeric", "word"));
}

TEST(ArgvSplitTest, LetsAJobClaimAnOptionOnlyBehindItsName) {
  const auto split = Split({"-v", "grep", "-v", "-e", "x"});
  EXPECT_THAT(split.ours, ElementsAre("-v"));
  EXPECT_THAT(split.job_args, ElementsAre("-v", "-e", "x"));
  EXPECT_THAT(Split({"wordcount", "-v"}).ours, ElementsAre("-v"));
}

TEST(ArgvSplitTest, GivesEverythingBehindTwoDashesToTheJob) {
  const auto split = Split({"stream", "--", "--input", "--help", "--"});
  EXPECT_THAT(split.ours, IsEmpty());
  EXPECT_THAT(split.job_args, ElementsAre("--input", "--help", "--"));
  EXPECT_FALSE(split.job_help);
}

TEST(ArgvSplitTest, TakesHelpBehindTheJobAsTheJobs) {
  EXPECT_TRUE(Split({"grep", "--help"}).job_help);
  EXPECT_FALSE(Split({"--help"}).job_help);
}

TEST(ArgvSplitTest, TakesASingleDashAsTheJobFromStandardInput) {
  EXPECT_EQ(Split({"--overwrite", "-"}).job, "-");
  EXPECT_EQ(Split({"--overwrite"}).job, "");
}

TEST(ArgvSplitTest, LettersWrittenTogetherAreMrctlsUpToTheFirstOneOfTheJob) {
  const auto split = Split({"-vo", "json", "grep", "-ivn", "-k2,2n", "-ojson", "-o", "x"});
  EXPECT_EQ(split.job, "grep");
  EXPECT_THAT(split.ours, ElementsAre("-vo", "json"));
  EXPECT_THAT(split.job_args, ElementsAre("-ivn", "-k2,2n", "-ojson", "-o", "x")) << "grep claims -o";
  const auto both = Split({"wordcount", "-vn5", "-ojson", "-vo", "table", "word"});
  EXPECT_THAT(both.ours, ElementsAre("-v", "-ojson", "-vo", "table"));
  EXPECT_THAT(both.job_args, ElementsAre("-n5", "word"));
}

TEST(ArgvSplitTest, AValueFollowsUnlessItIsAttached) {
  for (const char* word : {"--input", "-o", "-vo"}) EXPECT_TRUE(ValueFollows(word, Known)) << word;
  for (const char* word : {"--input=a", "--local", "-ojson", "-vojson", "-v", "-x", "-xo", "-"}) {
    EXPECT_FALSE(ValueFollows(word, Known)) << word;
  }
}

TEST(ShellWordsTest, WordsAreQuotedWhereAShellNeedsIt) {
  EXPECT_EQ(ShellWords({"--by", "city", "--agg", "sum(amount)", "", "it's", "a=b"}),
            "--by city --agg 'sum(amount)' '' 'it'\\''s' a=b");
  EXPECT_EQ(ShellWords({}), "");
}

}  // namespace
}  // namespace mr::ctl
