#include "worker/host/log_sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "common/model/report.h"

namespace mr::worker {
namespace {

class LogSinkTest : public testing::Test {
 protected:
  LogSinkTest() {
    char path[] = "/tmp/log_sink_test.XXXXXX";
    root_ = mkdtemp(path);
    EXPECT_EQ(pipe2(ends_, O_NONBLOCK | O_CLOEXEC), 0);
  }
  ~LogSinkTest() override {
    close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
    (void)RemoveTree(root_);
  }
  // Writes like the child, and lets the sink take it.
  void Say(const std::string& text) {
    ASSERT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_TRUE(sink_.Drain(ends_[0]));
  }
  std::string Log(const std::string& name) { return ReadFile(root_ + "/" + name).value(); }

  std::string root_;
  int ends_[2];
  LogSink sink_;
};

// A process runs many tasks, one behind the other.
TEST_F(LogSinkTest, WordsOfATaskAreInItsLogAndInNoOther) {
  sink_.Open(root_ + "/one");
  Say("first task\n");
  EXPECT_EQ(sink_.Tail(), "first task\n");
  sink_.Open("");
  EXPECT_EQ(sink_.Tail(), "");
  Say("between tasks\n");
  sink_.Open(root_ + "/two");
  EXPECT_EQ(sink_.Tail(), "");
  Say("second task\n");
  EXPECT_EQ(sink_.Tail(), "second task\n");
  EXPECT_EQ(Log("one"), "first task\n");
  EXPECT_EQ(Log("two"), "second task\n");
}

TEST_F(LogSinkTest, TheTailHasTheOperatorsOwnWordsAndNoSamplesOfItsStack) {
  sink_.Open(root_ + "/log");
  Say("the last words\nthe operator makes no progress in record 1 of its input; its stack, innermost call first:\n"
      "  #0 Spin()+0x1 (a.so+0x2)\n  ... 2 more of the same function\nat file:///a, byte 0\nat last\n");
  sink_.Note("the operator makes progress again");
  EXPECT_EQ(sink_.Tail(), "the last words\nat last\n");
  EXPECT_NE(Log("log").find("  #0 Spin()"), std::string::npos) << "they are for people who look at the log";
}

TEST_F(LogSinkTest, ANoteIsALineOfItsOwn) {
  sink_.Open(root_ + "/log");
  sink_.Note("first");
  Say("half a line");
  sink_.EndLine();
  sink_.EndLine();
  Say("another half");
  sink_.Note("last");
  EXPECT_EQ(Log("log"), "first\nhalf a line\nanother half\nlast\n");
}

TEST_F(LogSinkTest, TheTailHasTheLastWholeLines) {
  sink_.Open("");
  std::string all;
  for (int i = 0; i < 300; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    Say(line);
    all += line;
  }
  const std::string tail = sink_.Tail();
  EXPECT_LE(tail.size(), LogSink::kTailBytes);
  EXPECT_GT(tail.size() + 9, LogSink::kTailBytes);
  EXPECT_EQ(tail, all.substr(all.size() - tail.size()));
  EXPECT_EQ(tail.rfind("line ", 0), 0u) << tail.substr(0, 20);
  const std::string endless(2 * LogSink::kTailBytes, 'x');
  Say(endless);
  EXPECT_EQ(sink_.Tail(), endless.substr(LogSink::kTailBytes)) << "no line begins in it";
}

TEST_F(LogSinkTest, TheTailOfACrashBeginsWithWhatItDiedOf) {
  sink_.Open("");
  for (int i = 0; i < 100; ++i) Say("loading\n");
  Say("terminate called after throwing an instance of 'std::runtime_error'\n  what():  let go\n");
  Say("the process died of SIGABRT; its stack, innermost call first:\n  #0 First()\n");
  for (int i = 1; i < 100; ++i) Say("  #" + std::to_string(i) + " " + std::string(60, 'f') + "\n");
  const std::string tail = sink_.Tail();
  EXPECT_LE(tail.size(), LogSink::kTailBytes);
  EXPECT_EQ(tail.rfind("loading\n", 0), 0u) << "the last words before it";
  EXPECT_NE(tail.find("terminate called after throwing an instance of 'std::runtime_error'\n  what():  let go\nthe "
                      "process died of SIGABRT; its stack, innermost call first:\n  #0 First()\n"),
            std::string::npos)
      << tail;
  EXPECT_EQ(tail.back(), '\n') << "whole lines";
}

TEST_F(LogSinkTest, TheEndForTheMasterIsAsItWasWritten) {
  sink_.Open(root_ + "/one");
  std::string all;
  for (int i = 0; i < 40; ++i) {
    const std::string lines = std::string(4000, static_cast<char>('a' + i % 26)) + "\n";
    Say(lines);
    all += lines;
  }
  EXPECT_EQ(sink_.bytes(), all.size());
  EXPECT_EQ(sink_.End(), all.substr(all.size() - kKeptLogBytes));
  EXPECT_LE(sink_.Tail().size(), LogSink::kTailBytes);
  sink_.Open("");
  EXPECT_EQ(sink_.End(), "");
  EXPECT_EQ(sink_.bytes(), 0u);
}

TEST_F(LogSinkTest, TheEndOfThePipeIsSeen) {
  sink_.Open("");
  Say("x");
  close(std::exchange(ends_[1], -1));
  EXPECT_FALSE(sink_.Drain(ends_[0]));
  EXPECT_EQ(sink_.Tail(), "x");
}

}  // namespace
}  // namespace mr::worker
