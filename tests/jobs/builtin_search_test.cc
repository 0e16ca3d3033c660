// grep, and the jobs that do nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "common/base/rng.h"
#include "jobs/builtin/line_search.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Grep(const std::vector<std::string>& args, const std::string& text, const LocalOptions& shape = {}) {
  LocalJob job(Builtins(), shape);
  job.Input("in", text);
  const LocalResult result = job.Run("grep", args);
  EXPECT_TRUE(result.ok) << result.error;
  return result.Output();
}

TEST(GrepTest, EqualsAMatchOfEachLine) {
  Rng rng(5);
  std::string text;
  for (int i = 0; i < 400; ++i) {
    for (uint64_t n = rng.Below(12); n > 0; --n) text += "abc \r"[rng.Below(5)];
    text += '\n';
  }
  for (const char* pattern : {"ab", "^a", "c$", "^$", "a.c", "[^b]c", "a*", "\\bab\\b", "(a|b)\\s+c", "x", "\\Aa",
                              "c\\z", "^(?-m:a)", "a\\n", "b{2,}"}) {
    RE2::Options options;
    options.set_never_nl(true);
    const RE2 line_re("(?m)" + std::string(pattern), options);
    ASSERT_TRUE(line_re.ok());
    std::string matching, others;
    for (const auto& line : LinesOf(text)) {
      (RE2::PartialMatch(line, line_re) ? matching : others) += line + "\n";
    }
    for (const LocalOptions& shape : Shapes()) {
      EXPECT_EQ(Grep({"-e", pattern}, text, shape), matching) << pattern;
      EXPECT_EQ(Grep({"-v", "-e", pattern}, text, shape), others) << pattern;
    }
  }
}

TEST(GrepTest, TheLastLineNeedsNoNewline) {
  EXPECT_EQ(Grep({"-e", "b"}, "ab\nxb"), "ab\nxb\n");
  EXPECT_EQ(Grep({"-v", "-e", "b"}, "ab\nxb\n\n"), "\n");
  EXPECT_EQ(Grep({"-e", "$"}, ""), "");
}

TEST(GrepTest, CaseAndSeveralPatterns) {
  EXPECT_EQ(Grep({"-i", "KING"}, "a king\nQueen\nKINGS\n"), "a king\nKINGS\n");
  EXPECT_EQ(Grep({"-e", "^a|c", "-e", "d$"}, "ab\nb\nbc\nd\nde\n"), "ab\nbc\nd\n");
}

std::vector<std::string> Found(const LineSearch& search, const std::string& text) {
  std::vector<std::pair<size_t, size_t>> lines;
  search.Find(text, &lines);
  std::vector<std::string> found;
  for (const auto& [begin, end] : lines) found.push_back(text.substr(begin, end - begin));
  return found;
}

// Patterns of all kinds, and lines with letters of several bytes, broken ones and zeros among them.
TEST(LineSearchTest, FindsWhatRe2FindsInEachLineWhicheverWayItSearches) {
  Rng rng(8);
  const char* pieces[] = {"a",   "b", "k",    "s",        ".",     "*",           "+",   "?",   "|",   "(",
                          "(?:", ")", "[ab]", "[^a]",     "[^a]*", ".*",          "\\b", "\\w", "\\W", "\\d+",
                          "^",   "$", "{2}",  "\xc3\xa9", "\\s",   "[[:alpha:]]", "\\.", "1"};
  const char* letters[] = {"a", "b", "k", "S", "1", " ", ".", "\xc3\xa9", "\xe2\x84\xaa", "\xff", "\t", "\r"};
  int filtered = 0, tried = 0;
  while (tried < 3000) {
    std::string pattern;
    for (uint64_t n = 1 + rng.Below(6); n > 0; --n) pattern += pieces[rng.Below(std::size(pieces))];
    const bool ignore_case = rng.Below(2) == 0;
    const RE2 re("(?m)(?:" + pattern + ")", PatternOptions(ignore_case));
    if (!re.ok()) continue;
    ++tried;
    const LineSearch search(pattern, ignore_case);
    filtered += search.filtered();
    std::string text;
    for (uint64_t line = rng.Below(30); line > 0; --line) {
      for (uint64_t n = rng.Below(7); n > 0; --n) text += letters[rng.Below(std::size(letters))];
      if (rng.Below(9) == 0) text.push_back('\0');
      text += '\n';
    }
    text += "a";
    std::vector<std::string> expected;
    for (const auto& line : LinesOf(text)) {
      if (RE2::PartialMatch(line, re)) expected.push_back(line);
    }
    ASSERT_EQ(Found(search, text), expected)
        << pattern << (ignore_case ? " -i" : "") << " filtered " << search.filtered();
  }
  EXPECT_GT(filtered, 500);
  EXPECT_LT(filtered, 2500);
}

TEST(LineSearchTest, UsualPatternsAreFiltered) {
  for (const char* pattern :
       {"kmalloc", "(mutex|spin)_(un)?lock\\w*\\(&\\w+->lock\\)", "^#include .*sched", "[A-Z]+_SUSPEND", "a[^b]*c$"}) {
    EXPECT_TRUE(LineSearch(pattern, false).filtered()) << pattern;
  }
}

TEST(GrepTest, WholeWordsOnly) {
  EXPECT_EQ(Grep({"-w", "-e", "king"}, "a king\nkings\nKing\nthe-king.\n_king\nking\n"), "a king\nthe-king.\nking\n");
  EXPECT_EQ(Grep({"-w", "-e", "a|b"}, "ab\na b\n(b)\n"), "a b\n(b)\n");
  EXPECT_EQ(Grep({"-w", "-v", "-e", "a"}, "ab\na\n"), "ab\n");
}

// With LC_ALL=C, and so for lines and patterns of ASCII.
std::string GnuGrepOf(const std::vector<std::string>& args, const std::string& text) {
  const std::string file = testing::TempDir() + "grep_only." + std::to_string(getpid());
  std::ofstream(file, std::ios::binary) << text;
  std::string command = "LC_ALL=C grep -a";
  for (const std::string& arg : args) command += " '" + arg + "'";
  std::FILE* const out = popen((command + " <" + file).c_str(), "r");
  std::string found;
  std::array<char, 4096> piece;
  for (size_t n; (n = std::fread(piece.data(), 1, piece.size(), out)) > 0;) found.append(piece.data(), n);
  pclose(out);
  unlink(file.c_str());
  return found;
}

TEST(GrepTest, OnlyMatchingPrintsThePartsThatGnuGrepPrintsInAnySplits) {
  if (GnuGrepOf({"-oP", "a(?=b)"}, "ab\n") != "a\n") GTEST_SKIP() << "there is no GNU grep with -P";
  Rng rng(31);
  // Patterns whose longest part is the preferred one are also compared with -E.
  const std::pair<const char*, bool> patterns[] = {
      {"ab", true},       {"a*", true},     {"[ab]+", true}, {"^a", true},      {"b$", true},
      {"^$", true},       {"a|ab", false},  {"\\bab", true}, {"-?a", true},     {".", true},
      {"(a|b)-*b", true}, {"a.*?b", false}, {"x*", true},    {"^a|b", true},    {"[^ab]+", true},
      {"a{2}", true},     {"-", true},      {"a-|-b", true}, {"a|", false},     {"[[:alpha:]]b", true},
      {"(|a)b*", false},  {"A+", true},     {"_?b", true},   {"a|b|ab-", false}};
  for (const auto& [pattern, longest] : patterns) {
    std::string text;
    for (int line = 0; line < 60; ++line) {
      for (uint64_t n = rng.Below(9); n > 0; --n) text += "aabb-_ A"[rng.Below(8)];
      text += '\n';
    }
    if (rng.Below(3) == 0) text.pop_back();
    for (const char* options : {"-o", "-on", "-oi", "-ow", "-own", "-oiw", "-oc", "-ocw", "-ocv"}) {
      const std::string expected = GnuGrepOf({options, "-P", "-e", pattern}, text);
      const LocalOptions shape = Shapes()[rng.Below(Shapes().size())];
      ASSERT_EQ(Grep({options, "-e", pattern}, text, shape), expected)
          << options << " " << pattern << " in " << testing::PrintToString(text) << ", splits " << shape.split_bytes;
      if (!longest || std::string_view(options).find('w') != std::string_view::npos) continue;
      ASSERT_EQ(GnuGrepOf({options, "-E", "-e", pattern}, text), expected) << options << " " << pattern;
    }
  }
}

TEST(GrepTest, OnlyMatchingTakesTheEarliestPartAndThenTheFirstPattern) {
  EXPECT_EQ(Grep({"-o", "-e", "ab", "-e", "a", "-e", "b+"}, "abba\nc\n"), "ab\nb\na\n");
  EXPECT_EQ(Grep({"-o", "-e", "a|ab"}, "ab\n"), "a\n");
  EXPECT_EQ(Grep({"--only-matching", "-Hn", "\"[^\"]*\""}, "x\n\"a\" \"b\"\n"), "in:2:\"a\"\nin:2:\"b\"\n");
  EXPECT_EQ(Grep({"-o", "."}, "\u00e9e\n"), "\u00e9\ne\n") << "characters, not bytes";
  EXPECT_EQ(Grep({"-ow", "a"}, "\u00e9a \u00e9 a\u00e9\n"), "a\na\n") << "a word's letters are ASCII";
  EXPECT_EQ(Grep({"-o", "x*"}, "ab\n\n"), "");
  EXPECT_EQ(Grep({"-o", "\\Aa|b\\z"}, "aab\nab\n"), "a\nb\na\nb\n") << "by line";
}

TEST(GrepTest, OnlyMatchingIsRefusedWhereLinesHaveNoParts) {
  EXPECT_THAT(PlanRefusal("grep", {"-o", "-v", "a"}), HasSubstr("the lines of -v have none; omit one of the two"));
  for (const char* option : {"-A1", "-B0", "-C2"})
    EXPECT_THAT(PlanRefusal("grep", {"-o", option, "a"}), HasSubstr("-A, -B and -C do not apply")) << option;
  EXPECT_EQ(PlanRefusal("grep", {"-ocv", "-A1", "a"}), "") << "a count is of lines";
  EXPECT_THAT(PlanRefusal("grep", {"-o", "json", "-e", "a"}), HasSubstr("mrctl -o json submit grep"));
}

TEST(GrepTest, CountsLinesFilesAndNumbersInAnySplits) {
  Rng rng(6);
  std::string text, numbered;
  int matching = 0;
  for (int i = 1; i <= 300; ++i) {
    const std::string line(rng.Below(9), "ab"[rng.Below(2)]);
    text += line + "\n";
    if (line.find('a') == line.npos) continue;
    ++matching;
    numbered += std::to_string(i) + ":" + line + "\n";
  }
  for (const LocalOptions& shape : Shapes()) {
    EXPECT_EQ(Grep({"-n", "-e", "a"}, text, shape), numbered);
    EXPECT_EQ(Grep({"-c", "-e", "a"}, text, shape), std::to_string(matching) + "\n");
    EXPECT_EQ(Grep({"-c", "-H", "-e", "a"}, text, shape), "in:" + std::to_string(matching) + "\n");
    EXPECT_EQ(Grep({"-c", "-e", "z"}, text, shape), "0\n");
  }
  EXPECT_EQ(Grep({"-H", "-n", "-e", "b"}, "a\nb\n"), "in:2:b\n");
  EXPECT_THAT(PlanRefusal("grep", {"-c", "-n", "-e", "a"}), HasSubstr("-n does not apply"));
}

TEST(GrepTest, EachFileHasACountOfItsOwnAlsoWhereATaskReadsSeveral) {
  for (const uint32_t splits_per_task : {1u, 4u}) {
    LocalJob job(Builtins(), {.split_bytes = 1000, .reduces = 2, .splits_per_task = splits_per_task});
    const LocalResult result =
        job.Input("one", "a\nba\nc\n").Input("two", "c\n").Input("three", "a").Run("grep", {"-c", "-H", "-e", "a"});
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_THAT(SortedLinesOf(result.Output()), ElementsAre("one:2", "three:1", "two:0")) << splits_per_task;
  }
}

TEST(GrepTest, ABadPatternIsRefusedInThePlanWithItsReason) {
  EXPECT_THAT(PlanRefusal("grep", {"-e", "a(b"}), testing::AllOf(HasSubstr("'a(b'"), HasSubstr("missing )")));
  EXPECT_THAT(PlanRefusal("grep", {"-e", "*"}), HasSubstr("no argument for repetition operator"));
  EXPECT_THAT(PlanRefusal("grep", {}), HasSubstr("give a pattern"));
  EXPECT_THAT(PlanRefusal("grep", {"--invert-mtch", "a"}), HasSubstr("did you mean '--invert-match'?"));
  EXPECT_THAT(PlanRefusal("grep", {"a", "file.txt"}), HasSubstr("give files by --input"));
}

TEST(EmptyTest, HasTheTasksThatItIsAskedFor) {
  LocalJob job(Builtins(), {.reduces = 4});
  LocalResult result = job.Run("empty", {"--maps", "6"});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_THAT(result.tasks, ElementsAre(testing::Pair("map", 6u), testing::Pair("reduce", 4u)));
  result = job.Run("empty", {"--maps", "3", "--reduces", "2", "--isolate"});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_THAT(result.parts, ElementsAre("", ""));
  result = job.Run("empty", {"--map-only"});
  EXPECT_EQ(result.parts.size(), 10u);
}

TEST(EmptyTest, OnlyTheIsolatedOperatorsAskForAProcessEach) {
  for (uint32_t i = 0; i < Builtins()->operator_count; ++i) {
    const mr_operator& op = *Builtins()->operators[i];
    const bool own_process =
        std::string(op.name).find("isolated") != std::string::npos || std::string(op.name).find("stream") == 0;
    EXPECT_EQ((op.flags & MR_REUSABLE) == 0, own_process) << op.name;
  }
}

TEST(SleepTest, ANapOfNothingEnds) {
  const LocalResult result = LocalJob(Builtins()).Run("sleep", {"--ms", "0", "--tasks", "2"});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.parts.size(), 2u);
  EXPECT_THAT(PlanRefusal("sleep", {"--ms", "1s"}), HasSubstr("whole number"));
}

TEST(SleepTest, EachReduceNapsForEachStepOnce) {
  const LocalResult result =
      LocalJob(Builtins())
          .Run("sleep", {"--ms", "0", "--tasks", "3", "--reduces", "2", "--reduce-ms", "0", "--steps", "10"});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_THAT(result.parts, testing::ElementsAre("0\t10\n", "1\t10\n"));
}

}  // namespace
}  // namespace mr::builtin
