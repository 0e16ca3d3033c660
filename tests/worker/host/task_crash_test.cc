// Reports of operators that crash, throw, or cannot be opened, in real children.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/io/stack_lines.h"
#include "tests/worker/host/task_harness.h"

namespace mr::worker {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class TaskCrashTest : public TaskTest {
 protected:
  // A file of these lines to one shuffle port, unless the task has others.
  std::shared_ptr<Collector> RunOn(TaskSpec s, const std::string& text = "a line\n") {
    AddSplit(&s, Write("in" + std::to_string(s.attempt.task.task), text));
    if (s.ports.empty()) s.ports = {Shuffle(2)};
    auto c = std::make_shared<Collector>();
    host_->Run(std::move(s), c);
    return c;
  }
  static std::string TextOf(const std::string& path) {
    const Result<std::string> text = ReadFile(path);
    return text.ok() ? *text : "";
  }
};

// One line of a file that makes the operator fail.
struct FailingLine {
  const char* how;
  std::string message;
  std::vector<std::string> log;
};

TEST_F(TaskCrashTest, ACrashNamesItsRecordAndTheLogHasTheStack) {
  const FailingLine lines[] = {
      {"crash",
       "crashed: SIGSEGV",
       {"the process died of SIGSEGV at address 0x0 in record 3 of its input; its stack", "WriteNowhere", "FailAt("}},
      {"call", "crashed: SIGSEGV", {"#0 ?? (0x0)", "#1 (anonymous namespace)::CallNothing(", "FailAt("}},
      {"overflow",
       "crashed: SIGSEGV (stack overflow",
       {"(stack overflow) in record 3 of its input; its stack", "Overflow(", " more of the same function\n"}},
      {"terminate", "crashed: SIGABRT", {"let go", "Terminate("}},
      {"leave", "called exit(3)", {}}};
  for (const FailingLine& line : lines) {
    TaskSpec s = Spec("fail.at");
    s.config = line.how;
    const std::string log = s.log_path;
    const TaskResult r = RunOn(std::move(s), "a\n\n" + std::string(line.how) + "\nb\n")->Wait();
    EXPECT_EQ(r.end, TaskEnd::kUserError) << line.how;
    EXPECT_NE(r.message.find(line.message), std::string::npos) << r.message;
    EXPECT_THAT(r.record, AllOf(StartsWith("record 3 of its input, '" + std::string(line.how) + "', in file:///"),
                                EndsWith(", byte 3")));
    const std::string text = TextOf(log);
    for (const std::string& part : line.log) EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
    EXPECT_EQ(text.find("HelperMain"), std::string::npos) << "the stack ends above mrtask";
  }
}

TEST_F(TaskCrashTest, TheStackHasSourceLinesAndBeginsWithTheOperatorsCall) {
  TaskSpec s = Spec("fail.at");
  s.config = "crash";
  const std::string log = s.log_path;
  RunOn(std::move(s), "crash\n")->Wait();
  EXPECT_THAT(TextOf(log), ContainsRegex("#0 [^\n]*WriteNowhere[^\n]* at lib/operators\\.cc:[0-9]+ \\("));
  TaskSpec aborts = Spec("fail.at");
  aborts.config = "terminate";
  const std::string other = aborts.log_path;
  RunOn(std::move(aborts), "terminate\n")->Wait();
  // The calls inside of abort() would take the lines that a failure shows.
  EXPECT_THAT(TextOf(other), ContainsRegex("innermost call first:\n  #[1-9][^\n]*\n[^\n]* at lib/operators\\.cc:"));
}

TEST_F(TaskCrashTest, AnOperatorWithoutProgressIsSampledBeforeItsTimeoutAndNotHarmed) {
  TaskSpec s = Spec("fail.at");
  s.config = "doze";  // longer than the sample waits, and shorter than the timeout
  s.timeout = Seconds(4);
  const std::string log = s.log_path;
  const TaskResult r = RunOn(std::move(s), "a\ndoze\n")->Wait();
  EXPECT_EQ(r.end, TaskEnd::kDone) << r.message;
  EXPECT_THAT(TextOf(log), AllOf(StartsWith(std::string(kStuckLine) +
                                            " in record 2 of its input; its stack, innermost call first:\n"),
                                 HasSubstr("Doze("), ContainsRegex("\nat file:///[^\n]*, byte 2\n")));

  TaskSpec loops = Spec("spin");
  loops.timeout = Seconds(2);
  const std::string looped = loops.log_path;
  const TaskResult killed = RunOn(std::move(loops))->Wait();
  EXPECT_EQ(killed.end, TaskEnd::kUserError);
  EXPECT_THAT(killed.message, HasSubstr("made no progress"));
  const std::string text = TextOf(looped);
  EXPECT_LT(text.find(kStuckLine), text.find("the process died of SIGQUIT")) << text;
}

// The translation is another process, which would take the attempt above its limit.
TEST_F(TaskCrashTest, ASampleNearTheMemoryLimitTakesNoMore) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a limit of memory has no effect here";
#endif
  TaskSpec s = Spec("fail.at");
  s.config = "doze with memory";
  s.timeout = Seconds(4);
  s.memory_bytes = 280u << 20;
  const std::string log = s.log_path;
  const TaskResult r = RunOn(std::move(s), "a\ndoze with memory\n")->Wait();
  EXPECT_EQ(r.end, TaskEnd::kDone) << r.message;
  const std::string text = TextOf(log);
  EXPECT_THAT(text, AllOf(StartsWith(kStuckLine), ContainsRegex("test_operators[^\n]*\\[0x[0-9a-f]+\\]\n")));
  EXPECT_EQ(text.find("  #"), std::string::npos) << text;
}

TEST_F(TaskCrashTest, ACrashAtTheMemoryLimitSaysSo) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a limit of memory has no effect here";
#endif
  TaskSpec s = Spec("fail.at");
  s.config = "allocate";
  s.memory_bytes = 200u << 20;
  const TaskResult r = RunOn(std::move(s), "allocate\n")->Wait();
  EXPECT_NE(r.message.find("crashed: SIGSEGV; it was out of memory: its limit of 200 MiB (--memory) was reached"),
            std::string::npos)
      << r.message;
  TaskSpec far = Spec("fail.at");
  far.config = "crash";
  far.memory_bytes = 200u << 20;
  EXPECT_EQ(RunOn(std::move(far), "crash\n")->Wait().message, "operator fail.at crashed: SIGSEGV");
}

TEST_F(TaskCrashTest, TheTextOfAnExceptionIsInTheLog) {
  TaskSpec s = Spec("fail.at");
  s.config = "throw";
  const std::string log = s.log_path;
  RunOn(std::move(s), "a\nthrow\n")->Wait();
  EXPECT_NE(TextOf(log).find("operator fail.at batch() threw: the moon is full\nat record 2 of its input, 'throw', in "
                             "file:///"),
            std::string::npos)
      << TextOf(log);
}

TEST_F(TaskCrashTest, WhatEveryAttemptWouldMeetWhenItOpensIsFinal) {
  EXPECT_EQ(RunOn(Spec("no.such"))->Wait().end, TaskEnd::kUserFinal);
  EXPECT_EQ(RunOn(Spec("nothing", MR_REUSABLE))->Wait().end, TaskEnd::kUserFinal) << "other flags than at submit";
  TaskSpec broken = Spec("nothing");
  broken.library_path = Write("broken.so", "no library at all");
  EXPECT_EQ(RunOn(std::move(broken))->Wait().end, TaskEnd::kUserError) << "another worker may have what it needs";
  TaskSpec absent = Spec("nothing");
  absent.library_path = *directory_ + "/absent.so";
  EXPECT_EQ(RunOn(std::move(absent))->Wait().end, TaskEnd::kEnvironment) << "the worker's own loss";
  TaskSpec combines = Spec("nothing");
  combines.ports = {Shuffle(2, true)};
  EXPECT_EQ(RunOn(std::move(combines))->Wait().end, TaskEnd::kUserFinal) << "the plan wants what the operator lacks";

  const TaskResult refused = RunOn(Spec("refuse.open"))->Wait();
  EXPECT_EQ(refused.end, TaskEnd::kUserFinal);
  EXPECT_EQ(refused.message, "operator refuse.open failed: there is no such option");
  EXPECT_EQ(RunOn(Spec("open.later"))->Wait().end, TaskEnd::kEnvironment);
}

}  // namespace
}  // namespace mr::worker
