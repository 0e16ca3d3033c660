// The stack of an operator in the log of its attempt.
#include "jobs/mrctl/stack_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::ctl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kStuck[] = "the operator makes no progress in record 3 of its input; its stack, innermost call first:";

TEST(StackTextTest, TheNewestStackIsFoundAmongOtherLines) {
  const std::string log =
      std::string("hello\n") + kStuck + "\n  #0 Old()\nat file:///a, byte 3\nmore\n" + kStuck +
      "\n  #0 New()\n  ... 3 more of the same function\n  #4 Map()\nat file:///a, byte 3\n  #9 no\n";
  const LoggedStack stack = StackOf(log);
  EXPECT_THAT(stack.lines, ElementsAre(kStuck, "  #0 New()", "  ... 3 more of the same function", "  #4 Map()"));
  EXPECT_FALSE(stack.crashed);
}

TEST(StackTextTest, ASampleEndsWithProgressAndACrashDoesNot) {
  const std::string sample = std::string(kStuck) + "\n  #0 Map()\n";
  EXPECT_THAT(StackOf(sample + "the operator makes progress again\n").lines, IsEmpty());
  const std::string crash = "the process died of SIGSEGV at address 0x0; its stack, innermost call first:";
  const LoggedStack stack = StackOf(sample + crash + "\n  #0 Map()\nthe operator makes progress again\n");
  EXPECT_THAT(stack.lines, ElementsAre(crash, "  #0 Map()"));
  EXPECT_TRUE(stack.crashed);
  EXPECT_THAT(StackOf("").lines, IsEmpty());
}

}  // namespace
}  // namespace mr::ctl
