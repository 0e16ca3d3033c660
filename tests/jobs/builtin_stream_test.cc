// stream, with real commands: sh, cat, tr, sort, awk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "jobs/builtin/command.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LocalResult Stream(const std::vector<std::string>& args, const std::string& text,
                   const LocalOptions& shape = {.split_bytes = 30, .reduces = 2}) {
  LocalJob job(Builtins(), shape);
  job.Input("in", text);
  return job.Run("stream", args);
}

constexpr char kSum[] = "awk -F'\\t' '{c[$1]+=$2} END {for (k in c) print k \"\\t\" c[k]}'";

TEST(StreamTest, CountsWordsWithCommands) {
  const std::string text = "the cat the dog\na cat\nthe end\n";
  for (const bool combine : {false, true}) {
    std::vector<std::string> args = {"--map", "tr -s ' ' '\\n' | sed 's/$/\\t1/'", "--reduce", kSum};
    if (combine) args.insert(args.end(), {"--combine", kSum});
    const LocalResult result = Stream(args, text);
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_THAT(SortedLinesOf(result.Output()), ElementsAre("a\t1", "cat\t2", "dog\t1", "end\t1", "the\t3"));
  }
}

TEST(StreamTest, LinesWithAndWithoutATabStayAsTheyAre) {
  const LocalResult result = Stream({"--map", "cat", "--reduce", "cat"}, "b\na\t\nb\t2\na\n", {.reduces = 1});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.Output(), "a\t\na\nb\nb\t2\n");
}

TEST(StreamTest, AMapAloneWritesItsLines) {
  const LocalResult result = Stream({"--map", "tr a-z A-Z"}, "x\ty\n\tz\n", {.split_bytes = 1000});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.Output(), "X\tY\n\tZ\n");
}

TEST(StreamTest, MoreThanAPipeHoldsGoesInAndOutAtOnce) {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += "line number " + std::to_string(i) + "\n";
  const LocalResult result =
      Stream({"--map", "cat; echo end"}, text, {.split_bytes = 10u << 20, .block_bytes = 1u << 20});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.Output(), text + "end\n");
}

// Descriptors numbered `open_files` and above cannot be opened while it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t open_files) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{open_files, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(StreamTest, ACommandForWhichThereAreNoDescriptorsAsksToBeTriedAgain) {
  const auto start = [] {
    Command(
        "true", [](std::string_view) {}, [](std::string_view) {}, [] {});
  };
  const FewDescriptors few(0);
  try {
    start();
    ADD_FAILURE() << "it was started";
  } catch (const RetryableError& e) {
    EXPECT_THAT(e.what(), HasSubstr("cannot make a pipe for a command: Too many open files"));
  }
}

TEST(StreamTest, ACommandThatStopsReadingIsNoError) {
  std::string text(1 << 20, 'x');
  for (size_t i = 99; i < text.size(); i += 100) text[i] = '\n';
  const LocalResult result = Stream({"--map", "head -n 1"}, text, {.split_bytes = 10u << 20, .block_bytes = 1000});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.Output(), std::string(99, 'x') + "\n");
}

TEST(StreamTest, AFailureNamesTheCommandItsCodeAndTheEndOfItsStderr) {
  EXPECT_THAT(
      Stream({"--map", "cat >/dev/null; echo some trouble >&2; exit 3"}, "a\n").error,
      testing::AllOf(HasSubstr("the map command exited with code 3"), HasSubstr("exit 3"), HasSubstr("some trouble")));
  EXPECT_THAT(Stream({"--map", "cat", "--reduce", "no_such_program_here"}, "a\n").error,
              testing::AllOf(HasSubstr("the reduce command exited with code 127"), HasSubstr("not found")));
  EXPECT_THAT(Stream({"--map", "kill -9 $$"}, "a\n").error, HasSubstr("killed by signal 9"));
  EXPECT_THAT(Stream({"--map", "cat", "--reduce", "cat", "--combine", "exit 4"}, "a\n").error,
              HasSubstr("the combine command exited with code 4"));
}

// Reading ahead hides the record itself.
TEST(StreamTest, TheBytesThatACommandLastReadAreKnown) {
  const auto quiet = [](std::string_view) {};
  Command early("head -c 100000 >/dev/null; exit 3", quiet, quiet);
  early.Write(std::string(1 << 20, 'x'));
  EXPECT_THROW(early.Finish("map"), JobError);
  EXPECT_EQ(early.LastRead().to, 100'000u);
  EXPECT_EQ(early.LastRead().from, 100'000u - 65'536u);
  Command late("cat >/dev/null; exit 3", quiet, quiet);
  late.Write("abc\n");
  EXPECT_THROW(late.Finish("map"), JobError);
  EXPECT_EQ(late.LastRead().from, 0u);
  EXPECT_EQ(late.LastRead().to, 4u);
}

TEST(StreamTest, AProgramThatFailsInsideOfAPipeFailsItsCommand) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"--map", "no_such_program_here | sort"},
                                               {"--map", "cat", "--reduce", "no_such_program_here | sort"}}) {
    const LocalResult result = Stream(args, "a\n");
    EXPECT_FALSE(result.ok);
    EXPECT_THAT(result.error, testing::AllOf(HasSubstr("exited with code 127"), HasSubstr("no_such_program_here:")));
  }
}

TEST(StreamTest, AProgramWhoseReaderInAPipeHasReadEnoughIsNoFailure) {
  const LocalResult result = Stream({"--map", "cat >/dev/null; yes | head -n 2"}, "a\n", {.split_bytes = 1000});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.Output(), "y\ny\n");
  const LocalResult hidden = Stream({"--map", "cat >/dev/null; false | yes | head -n 1"}, "a\n");
  EXPECT_THAT(hidden.error, HasSubstr("exited with code 1:")) << "another program of the pipe has failed";
  EXPECT_THAT(Stream({"--map", "cat; sh -c 'exit 141' # a|b"}, "a\n").error, HasSubstr("exited with code 141"));
}

TEST(StreamTest, EchoReadsEscapesAsShDoes) {
  const LocalResult result = Stream({"--map", "cat >/dev/null; echo 'a\\tb'"}, "a\n", {.split_bytes = 1000});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.Output(), "a\tb\n");
}

TEST(StreamTest, ExitCodesThatTheUserAcceptsAreNoFailure) {
  const std::vector<std::string> grep = {"--map", "grep nothing | cat"};
  EXPECT_THAT(Stream(grep, "a\n").error, testing::AllOf(HasSubstr("exited with code 1 "), HasSubstr("--ok-exit 1")));
  std::vector<std::string> accepting = grep;
  accepting.insert(accepting.end(), {"--reduce", "cat; exit 7", "--ok-exit", "1", "--ok-exit", "7"});
  const LocalResult result = Stream(accepting, "a\n");
  EXPECT_TRUE(result.ok) << result.error;
  EXPECT_THAT(Stream({"--map", "exit 2", "--ok-exit", "1"}, "a\n").error, HasSubstr("exited with code 2"));
  for (const char* bad : {"0", "256", "x", ""}) {
    EXPECT_THAT(PlanRefusal("stream", {"--map", "cat", "--ok-exit", bad}), HasSubstr("--ok-exit expects")) << bad;
  }
}

TEST(StreamTest, ExitCode1IsExplainedWhereItIsAnAnswer) {
  const auto error = [](const std::string& command) { return Stream({"--map", command}, "a\n").error; };
  EXPECT_THAT(error("cat >/dev/null; cmp -s /dev/null /etc/passwd"),
              HasSubstr("code 1 (cmp exits with 1 where its inputs differ; if that is no failure, give --ok-exit 1)"));
  EXPECT_THAT(error("cat; test -e /nowhere/at/all"), HasSubstr("test exits with 1 where its condition is false"));
  EXPECT_THAT(error("cat; [ a = b ]"), HasSubstr("[ exits with 1 where its condition is false"));
  EXPECT_THAT(error("cat; expr 1 - 1"), HasSubstr("expr exits with 1 where its result is empty or 0"));
  EXPECT_THAT(error("/usr/bin/egrep b"), HasSubstr("egrep exits with 1 where no line matches"));
  EXPECT_THAT(error("./mygrep-latest 2>/dev/null; exit 1"), HasSubstr("code 1: ")) << "another program";
}

TEST(StreamTest, CountersComeFromStderr) {
  const LocalResult result =
      Stream({"--map", "cat >/dev/null; echo 'reporter:counter:my group,lines,2' >&2; echo note >&2"}, "a\nb\n",
             {.split_bytes = 2});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.counters.at({"my group", "lines"}), 4);
}

TEST(StreamTest, SaysWhichArgumentIsMissing) {
  EXPECT_THAT(PlanRefusal("stream", {"--reduce", "cat"}), HasSubstr("--map CMD"));
  EXPECT_THAT(PlanRefusal("stream", {"--map", "cat", "--combine", "cat"}), HasSubstr("--reduce"));
}

// Also where that is all that is seen of it: it has ended before anybody looked.
TEST(CommandTest, WhatItWroteBeforeItsEndIsReadFromBothOfItsPipes) {
  std::vector<std::string> out, err;
  Command command(
      "echo one; echo two >&2; printf three; printf four >&2", [&](std::string_view line) { out.emplace_back(line); },
      [&](std::string_view line) { err.emplace_back(line); }, [] {});
  siginfo_t info{};
  ASSERT_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
  command.Finish("map");
  EXPECT_THAT(out, ElementsAre("one", "three"));
  EXPECT_THAT(err, ElementsAre("two", "four"));
}

TEST(CommandTest, OneThatIsDroppedDoesNotOutliveItsOwner) {
  // Would take an hour if the destructor waited for it to end by itself.
  Command command(
      "exec sleep 3600", [](std::string_view) {}, [](std::string_view) {});
}

TEST(StreamTest, AFileWithoutALastNewlineDoesNotRunIntoTheNextOneOfItsTask) {
  LocalJob job(Builtins(), {.split_bytes = 100, .splits_per_task = 3});
  const LocalResult result = job.Input("a", "x").Input("b", "y\n").Input("c", "z").Run("stream", {"--map", "cat"});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.Output(), "x\ny\nz\n");
}

}  // namespace
}  // namespace mr::builtin
