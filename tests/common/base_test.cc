#include <gtest/gtest.h>

#include <type_traits>

#include "common/base/count.h"
#include "common/base/ids.h"
#include "common/base/rng.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/model/job_state.h"

namespace mr {
namespace {

TEST(IdsTest, NamesParseBackToTheSameId) {
  const AttemptId id{{{3, 12}, 1, 17}, 1001};
  EXPECT_EQ(Name(id, TaskLetter::kMap), "attempt_3_0012_1_m_000017_1001");
  EXPECT_EQ(ParseAttemptId(Name(id, TaskLetter::kMap)), id);
  EXPECT_EQ(ParseJobId(Name(id.task.job)), id.task.job);
  EXPECT_EQ(ParseWorkerId("w7"), WorkerId{7});
}

TEST(IdsTest, WhatIsNotExactlyAnIdIsRefused) {
  for (const char* text : {"", "job", "job_1", "job_0_0001", "job_1_0000", "job_1_1_1", "job_1_x", "job_1_1 "}) {
    EXPECT_FALSE(ParseJobId(text).has_value()) << text;
  }
  EXPECT_FALSE(ParseWorkerId("w0").has_value());
  EXPECT_FALSE(ParseAttemptId("attempt_1_1_0_q_0_1").has_value());
}

TEST(RngTest, StreamsAreIndependentOfEachOtherAndRepeatable) {
  Rng a = Rng::Stream(7, "late");
  Rng again = Rng::Stream(7, "late");
  Rng other = Rng::Stream(7, "dolly");
  const uint64_t first = a.Next();
  EXPECT_EQ(first, again.Next());
  EXPECT_NE(first, other.Next());
}

TEST(RngTest, BelowStaysBelowAndHitsEveryValue) {
  Rng rng(1);
  std::vector<int> seen(10);
  for (int i = 0; i < 1000; ++i) ++seen[rng.Below(10)];
  for (int count : seen) EXPECT_GT(count, 50);
}

TEST(TextTest, SizesAndDurationsNeedAUnit) {
  EXPECT_EQ(*ParseSize("64m"), 64u << 20);
  EXPECT_EQ(*ParseSize("4K"), 4096u);
  EXPECT_FALSE(ParseSize("64").ok());
  EXPECT_FALSE(ParseSize("64mb").ok());
  EXPECT_FALSE(ParseSize("-1k").ok());
  EXPECT_EQ(ParseDuration("1.5s")->ns, 1'500'000'000);
  EXPECT_EQ(ParseDuration("250ms")->ns, 250'000'000);
  EXPECT_FALSE(ParseDuration("30").ok());
}

TEST(TextTest, SuggestsTheNearestNameOnlyWhenItIsNear) {
  const std::string_view names[] = {"wordcount", "grep", "sort"};
  EXPECT_EQ(Nearest("wordcout", names), "wordcount");
  EXPECT_EQ(Nearest("frobnicate", names), "");
  EXPECT_EQ(Nearest("Grep", names), "grep");
  EXPECT_EQ(Nearest("sotr", names), "sort") << "swapped letters are one mistake";
  EXPECT_EQ(Nearest("sent", names), "") << "half of the letters";
}

TEST(TextTest, SuggestsNamesThatAWordBeginsOrIsAPartOf) {
  const std::string_view options[] = {"--output-format", "--output", "--max-attempts",
                                      "--reduces",       "--master", "--name"};
  EXPECT_EQ(Nearest("--out", options), "--output");
  EXPECT_EQ(Nearest("--outptu", options), "--output");
  EXPECT_EQ(Nearest("--attempts", options), "--max-attempts");
  EXPECT_EQ(Nearest("--num-reduces", options), "--reduces");
  for (const char* word : {"--mappers", "--nodes", "--ouch", "-", "", "--n"})
    EXPECT_EQ(Nearest(word, options), "") << word;
  EXPECT_EQ(Nearest("--max-atmpts", options), "--max-attempts") << "abbreviated";
  const std::string_view columns[] = {"id2", "name"};
  EXPECT_EQ(Nearest("id", columns), "id2");
  const std::string_view shorts[] = {"fs", "mv"};
  EXPECT_EQ(Nearest("ps", shorts), "");
  EXPECT_EQ(Nearest("vm", shorts), "mv");
}

TEST(TextTest, JsonEscapeKeepsValidTextAndReplacesBrokenBytes) {
  EXPECT_EQ(JsonEscape("a\"b\\c\n\x01"), "a\\\"b\\\\c\\n\\u0001");
  EXPECT_EQ(JsonEscape("h\xc3\xa9"), "h\xc3\xa9");
  EXPECT_EQ(JsonEscape("\xff"), "\\ufffd");
  EXPECT_EQ(JsonEscape("\xc2\x9b\xc2\xa0"), "\\u009b\xc2\xa0") << "a terminal obeys U+009B";
}

TEST(TextTest, GroupsDigits) {
  EXPECT_EQ(Grouped(7), "7");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
}

TEST(TextTest, CountsHaveTheNumberOfTheirNoun) {
  EXPECT_EQ(CountOf(0, "job"), "0 jobs");
  EXPECT_EQ(CountOf(1, "job"), "1 job");
  EXPECT_EQ(CountOf(12000, "job"), "12,000 jobs");
  EXPECT_EQ(CountOf(1, "job is", "jobs are"), "1 job is");
  EXPECT_EQ(CountOf(2, "policy", "policies"), "2 policies");
}

TEST(TextTest, AnyBytesCanStandInALine) {
  EXPECT_EQ(PrintableBytes("GB"), "GB");
  EXPECT_EQ(PrintableBytes("Zürich's \\ \t\n\r"), "Zürich\\'s \\\\ \\t\\n\\r");
  EXPECT_EQ(PrintableBytes(std::string("\x1b[2J\0\x7f\xff\xc2\x9b", 9)), "\\x1b[2J\\x00\\x7f\\xff\\xc2\\x9b");
  EXPECT_EQ(PrintableBytes("\xe2\x82"), "\\xe2\\x82") << "half a character";
}

TEST(StatusTest, TheValueOfATemporaryOutlivesIt) {
  const auto make = []() -> Result<std::vector<std::string>> {
    return std::vector<std::string>(3, std::string(100, 'x'));
  };
  // Both must return a value, or the loop would read through a dangling reference.
  static_assert(std::is_same_v<decltype(*make()), std::vector<std::string>>);
  static_assert(std::is_same_v<decltype(make().value()), std::vector<std::string>>);
  size_t bytes = 0;
  for (const std::string& text : *make()) bytes += text.size();
  EXPECT_EQ(bytes, 300u);
}

TEST(JobStateTest, OnlyThreeStatesAreTheEnd) {
  EXPECT_STREQ(Word(JobState::kCommitting), "COMMITTING");
  for (int i = 0; i <= 7; ++i) {
    const std::string word = Word(static_cast<JobState>(i));
    EXPECT_EQ(Ended(static_cast<JobState>(i)), word == "SUCCEEDED" || word == "FAILED" || word == "KILLED") << word;
  }
}

TEST(StatusTest, AStatusCanBeCopiedMovedAndAssignedToItself) {
  Status failed = NotFound("/a");
  Status copy = failed;
  Status& same = copy;
  copy = same;
  EXPECT_EQ(copy.ToString(), "not_found: /a");
  Status moved = std::move(copy);
  EXPECT_EQ(moved.ToString(), "not_found: /a");
  Status ok;
  ok = moved;
  moved = Status();
  EXPECT_TRUE(moved.ok());
  EXPECT_EQ(moved.message(), "");
  EXPECT_EQ(ok.ToString(), failed.ToString());
  Status& itself = ok;
  ok = std::move(itself);
  EXPECT_EQ(ok.code(), Code::kNotFound) << "a move to itself keeps it";
  EXPECT_EQ(Status(Code::kOk, "dropped").message(), "");
}

TEST(StatusTest, ContextStandsInFrontAndTheCodeStays) {
  const Status s = NotFound("/a does not exist").With("cannot read input");
  EXPECT_EQ(s.code(), Code::kNotFound);
  EXPECT_EQ(s.ToString(), "not_found: cannot read input: /a does not exist");
}

}  // namespace
}  // namespace mr
