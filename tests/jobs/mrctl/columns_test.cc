#include "jobs/mrctl/columns.h"

#include <gtest/gtest.h>

namespace mr::ctl {
namespace {

TEST(ColumnsTest, CountsCharactersAndNotBytes) {
  EXPECT_EQ(Columns(""), 0u);
  EXPECT_EQ(Columns("größe"), 5u);
  EXPECT_EQ(Columns("数"), 2u);
  EXPECT_EQ(Columns("e\xcc\x81"), 1u) << "a combining accent";
  EXPECT_EQ(Columns("\xff\xc3"), 2u) << "bytes that are no characters";
}

TEST(ColumnsTest, CutsBeforeACharacterThatDoesNotFit) {
  EXPECT_EQ(CutToColumns("größe", 3), "grö");
  EXPECT_EQ(CutToColumns("数字", 3), "数");
  EXPECT_EQ(CutToColumns("abc", 10), "abc");
  EXPECT_EQ(CutToColumns("e\xcc\x81x", 1), "e\xcc\x81") << "the accent belongs to its letter";
  EXPECT_EQ(CutToColumns("abc", 0), "");
}

TEST(ColumnsTest, NothingThatMovesTheCursorOrTurnsTheTextRemains) {
  EXPECT_EQ(CutToColumns("a\x1b[2Jb\nc", 80), "a?[2Jb?c");
  EXPECT_EQ(CutToColumns("a\u202Eb\u009Bc", 80), "a?b?c");
  EXPECT_EQ(CutToColumns("a\xffz\xe2\x82", 80), "a?z??");
  EXPECT_EQ(CutToColumns("\xc0\x80\xed\xa0\x80", 80), "?????") << "overlong, and half of a pair";
}

TEST(ColumnsTest, FitsATextIntoItsColumns) {
  EXPECT_EQ(FitToColumns("ab", 4), "ab  ");
  EXPECT_EQ(FitToColumns("größere", 4), "grö~");
  EXPECT_EQ(FitToColumns("数字数", 4), "数~ ");
}

}  // namespace
}  // namespace mr::ctl
