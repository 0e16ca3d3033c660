#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using testing::HasSubstr;

std::string RandomLines(uint64_t seed, int lines) {
  Rng rng(seed);
  std::string text;
  for (int i = 0; i < lines; ++i) {
    for (uint64_t n = rng.Below(4); n > 0; --n)
      text +=
          "\0\x01"
          "a\xff"
          "b"[rng.Below(5)];
    text += '\n';
  }
  return text;
}

LocalResult Sort(const std::vector<std::string>& args, const std::string& text, const LocalOptions& shape) {
  LocalJob job(Builtins(), shape);
  job.Input("in", text);
  return job.Run("sort", args);
}

TEST(SortTest, PartsOneAfterTheOtherAreTheSortedLines) {
  const std::string text = RandomLines(1, 500);
  for (const bool reverse : {false, true}) {
    auto expected = SortedLinesOf(text);
    if (reverse) std::reverse(expected.begin(), expected.end());
    for (const LocalOptions& shape : Shapes()) {
      const LocalResult result =
          Sort(reverse ? std::vector<std::string>{"-r"} : std::vector<std::string>{}, text, shape);
      ASSERT_TRUE(result.ok) << result.error;
      EXPECT_EQ(LinesOf(result.Output()), expected);
      EXPECT_EQ(result.parts.size(), shape.reduces);
    }
  }
}

TEST(SortTest, FieldsNumbersAndUniqueLines) {
  const std::string text = "b 10 x\na 9 x\nc  -1.5 y\na 10 z\nd\nb 10 a\n";
  const auto sorted = [&](const std::vector<std::string>& args) {
    std::vector<std::string> lines;
    for (const LocalOptions& shape : Shapes()) {
      const LocalResult result = Sort(args, text, shape);
      EXPECT_TRUE(result.ok) << result.error;
      const auto got = LinesOf(result.Output());
      EXPECT_TRUE(lines.empty() || got == lines) << result.Output();
      lines = got;
    }
    return lines;
  };
  using testing::ElementsAre;
  EXPECT_THAT(sorted({"-k", "2,2n"}), ElementsAre("c  -1.5 y", "d", "a 9 x", "a 10 z", "b 10 a", "b 10 x"));
  EXPECT_THAT(sorted({"-k", "2,2nr", "-s"}), ElementsAre("b 10 x", "a 10 z", "b 10 a", "a 9 x", "d", "c  -1.5 y"));
  EXPECT_THAT(sorted({"-k", "1,1", "-u"}), ElementsAre("a 9 x", "b 10 x", "c  -1.5 y", "d"));
  EXPECT_THAT(sorted({"-k", "1,1r", "-k", "2n"}), ElementsAre("d", "c  -1.5 y", "b 10 a", "b 10 x", "a 9 x", "a 10 z"));
  EXPECT_THAT(sorted({"-n", "-k", "2,2r", "-s"}), ElementsAre("a 9 x", "b 10 x", "a 10 z", "b 10 a", "c  -1.5 y", "d"))
      << "a key that says something of its own is no number";
  EXPECT_THAT(sorted({"-n", "-r", "-k", "2,2", "-s"}),
              ElementsAre("b 10 x", "a 10 z", "b 10 a", "a 9 x", "d", "c  -1.5 y"));
  EXPECT_THAT(PlanRefusal("sort", {"-k", "0"}), HasSubstr("is no key"));
  EXPECT_THAT(PlanRefusal("sort", {"-k", "2,1"}), HasSubstr("ends before it begins"));
  EXPECT_THAT(PlanRefusal("sort", {"-k", "1d"}), HasSubstr("only n and r"));
  EXPECT_THAT(PlanRefusal("sort", {"-s"}), HasSubstr("needs a key"));
}

TEST(SortTest, QuantilesShareTheLinesOut) {
  Rng rng(3);
  std::string text;
  for (int i = 0; i < 4000; ++i) text += std::to_string(rng.Below(1'000'000)) + "\n";
  const LocalResult result =
      Sort({}, text, {.split_bytes = 4096, .reduces = 4, .batch_records = 100, .block_bytes = 512});
  ASSERT_TRUE(result.ok) << result.error;
  for (const auto& part : result.parts) {
    EXPECT_GT(part.size() * 4, text.size() * 7 / 10);
    EXPECT_LT(part.size() * 4, text.size() * 13 / 10);
  }
}

TEST(SortTest, LinesByTheirFirstBytesStayInOrderWhereThoseAreEqual) {
  const LocalResult result = Sort({"--key-bytes", "1"}, "b2\na9\nb1\n\na1\nb\n", Shapes()[1]);
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.Output(), "\na9\na1\nb2\nb1\nb\n");
}

TEST(SortTest, FixedRecordsSortStablyByTheirKey) {
  Rng rng(6);
  std::vector<std::string> records;
  for (int i = 0; i < 300; ++i) {
    std::string record(20, '\n');  // newlines are data here
    record[0] = static_cast<char>(rng.Below(256));
    record[9] = static_cast<char>(rng.Below(3));
    record[10] = static_cast<char>(rng.Next());
    record[19] = static_cast<char>(i);
    records.push_back(record);
  }
  std::string text, expected, reversed;
  for (const auto& r : records) text += r;
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.compare(0, 10, b, 0, 10) < 0; });
  for (const auto& r : records) expected += r;
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.compare(0, 10, b, 0, 10) > 0; });
  for (const auto& r : records) reversed += r;
  for (const LocalOptions& shape : Shapes()) {
    LocalResult result = Sort({"--format", "fixed:20"}, text, shape);
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_EQ(result.Output(), expected);
    result = Sort({"--format=fixed:20", "--reverse"}, text, shape);
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_EQ(result.Output(), reversed);
  }
}

TEST(TeraSortTest, ValidateSeesOrderWithinSplitsBetweenThemAndBetweenFiles) {
  const auto rows = [](const std::string& keys) {
    std::string text;
    for (const char key : keys) text += std::string(1, key) + std::string(99, 'x');
    return text;
  };
  const auto validate = [&](const std::string& one, const std::string& two, uint64_t split_bytes,
                            bool unsorted = false) {
    LocalJob job(Builtins(), {.split_bytes = split_bytes, .reduces = 2});
    job.Input("one", rows(one)).Input("two", rows(two));
    std::vector<std::string> args = {"validate"};
    if (unsorted) args.push_back("--unsorted");
    return job.Run("terasort", args);
  };
  for (const uint64_t split_bytes : {100u, 250u, 10'000u}) {
    const LocalResult good = validate("aabc", "cdd", split_bytes);
    ASSERT_TRUE(good.ok) << good.error;
    EXPECT_EQ(good.Output().rfind("7\t", 0), 0u) << good.Output();
    const LocalResult mixed = validate("dcab", "dca", split_bytes, /*unsorted=*/true);
    ASSERT_TRUE(mixed.ok) << mixed.error;
    EXPECT_EQ(mixed.Output(), good.Output()) << "the same rows";
    EXPECT_NE(validate("aabc", "cde", split_bytes).Output(), good.Output());
    EXPECT_THAT(validate("abac", "cdd", split_bytes).error, HasSubstr("one"));
    EXPECT_THAT(validate("abcc", "dcd", split_bytes).error, HasSubstr("two"));
    EXPECT_THAT(validate("aabd", "cdd", split_bytes).error, HasSubstr("two, row 0 is out of order"));
  }
}

TEST(SortTest, NothingSortsToNothing) {
  const LocalResult result = Sort({}, "", Shapes()[1]);
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.Output(), "");
}

TEST(SortTest, RefusesFormatsThatItCannotSort) {
  EXPECT_THAT(PlanRefusal("sort", {"--format", "csv"}), HasSubstr("cannot be sorted"));
  EXPECT_THAT(PlanRefusal("sort", {"--format", "fixed:0"}), HasSubstr("cannot be sorted"));
  EXPECT_THAT(PlanRefusal("sort", {"--format", "fixed:5", "--key-bytes", "6"}), HasSubstr("more than"));
  EXPECT_THAT(PlanRefusal("sort", {"-R"}), HasSubstr("unknown option '-R'"));
}

}  // namespace
}  // namespace mr::builtin
