#include "jobs/mrctl/log_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/terminal_text.h"

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;

TEST(LogLinesTest, BytesPassUnchangedIntoAPipe) {
  LogLines lines({"", nullptr, false});
  const std::string bytes("\x1b[31m\0\xff half a line", 17);
  EXPECT_EQ(lines.Add(bytes), bytes);
  EXPECT_EQ(lines.Finish(), "");
}

TEST(LogLinesTest, ATerminalGetsNoControlCharacters) {
  EXPECT_EQ(TerminalText("\x1b[31mred\a\r\n\ttab 'quoted' \\\xff"), "\\x1b[31mred\\x07\\r\n\ttab 'quoted' \\\\xff");
  EXPECT_EQ(TerminalText("gr\xc3\xbc\xc3\x9f\xe2\x82\xac"), "gr\xc3\xbc\xc3\x9f\xe2\x82\xac");
  EXPECT_EQ(TerminalText("\xc2\x9b"
                         "31m"),
            "\\xc2\\x9b31m")
      << "U+009B begins a sequence, too";
  EXPECT_EQ(TerminalText("a\xe2\x80\xae"
                         "b\xe2\x81\xa6"
                         "c\xe2\x80\x8f"),
            "a\\u202eb\\u2066c\\u200f");
  EXPECT_EQ(FailureText({kExitJobFailed, "job_failed", "its stderr ends:\n  \x1b]0;x\a", ""}),
            "mrctl: its stderr ends:\n  \\x1b]0;x\\x07\n");
  LogLines lines({"", nullptr, true});
  EXPECT_EQ(lines.Add("50 % of \xe2\x82"), "50 % of ") << "a character that is not complete yet";
  EXPECT_EQ(lines.Add("\xac\n\xe2"), "\xe2\x82\xac\n");
  EXPECT_EQ(lines.Finish(), "\\xe2");
}

TEST(LogLinesTest, LinesAreMatchedWholeWhateverThePieces) {
  const auto pattern = MakeLogPattern("^b.*d$");
  ASSERT_TRUE(pattern.ok());
  LogLines lines({"attempt_x: ", *pattern, false});
  EXPECT_EQ(lines.Add("abcd\nb"), "");
  EXPECT_EQ(lines.Add("cd\n\nbd"), "attempt_x: bcd\n");
  EXPECT_EQ(lines.Finish(), "attempt_x: bd\n") << "the last line has no newline";
  EXPECT_EQ(lines.Finish(), "");
  LogLines all({"n: ", nullptr, false});
  EXPECT_EQ(all.Add("a\n\nb"), "n: a\nn: \n");
  EXPECT_EQ(all.Add(std::string((1 << 20) + 1, 'x')).size(), (1u << 20) + 6) << "a line without an end is bounded";
}

TEST(LogLinesTest, ABadPatternIsNamed) {
  const auto bad = MakeLogPattern("(");
  EXPECT_EQ(bad.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(bad.status().message(), HasSubstr("bad pattern '('"));
}

TEST(LogLinesTest, TheLastLinesAreThose) {
  EXPECT_EQ(LastLines("a\nb\nc\n", 2), "b\nc\n");
  EXPECT_EQ(LastLines("a\nb\nc", 2), "b\nc");
  EXPECT_EQ(LastLines("a\n", 5), "a\n");
  EXPECT_EQ(LastLines("a\n", 0), "");
}

}  // namespace
}  // namespace mr::ctl
