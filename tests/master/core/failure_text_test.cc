#include "master/core/failure_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace mr::master {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSentence[] =
    "task 1 of stage 'map' failed 1 time, the last time as attempt_1_0001_0_m_000001_1 on w2: ";

// A job with one stage that reads files and, of it, failed attempts with these messages: one of each task.
JobView Job(const std::vector<std::string>& messages) {
  JobView job;
  job.id = {1, 1};
  StageSpec map;
  map.name = "map";
  map.inputs.resize(1);  // files
  job.spec.stages = {map};
  for (uint32_t t = 0; t < messages.size(); ++t) {
    job.notes.attempts[{{job.id, 0, t}, 1}] = {.message = messages[t], .failed = true, .sequence = t + 1};
  }
  return job;
}

AttemptNote& Last(JobView& job) { return job.notes.attempts.rbegin()->second; }

TEST(FailureTextTest, SaysWhereHowManyAlikeAndWhatItWrote) {
  JobView job = Job({"no number at 17", "no number at 90"});
  Last(job).record = "file:///in, byte 90";
  Last(job).stderr_tail = "loading\n\nno such table\n";
  EXPECT_EQ(FailureSummary(job, kSentence + std::string("no number at 90")),
            kSentence + std::string("no number at 90\nat file:///in, byte 90\n2 attempts failed alike, of 2 tasks\n"
                                    "stderr: loading\nstderr: no such table"));
}

TEST(FailureTextTest, AHungCommandsLastWordStandsBeforeItsStack) {
  JobView job = Job({"one", "no progress"});
  Last(job).stderr_tail =
      "first\nlast word\nthe process died of SIGQUIT; its stack, innermost call first:\n  #0 poll\n";
  EXPECT_THAT(FailureSummary(job, kSentence + std::string("no progress")),
              HasSubstr("\nstderr: last word\nstderr: the process died of SIGQUIT"));
}

TEST(FailureTextTest, SaysWhyMoreAttemptsFailedThanCount) {
  JobView job = Job({"another", "no number"});
  job.notes.attempts[{{job.id, 0, 1}, 2}] = {.message = "no number", .failed = true, .sequence = 1};
  EXPECT_THAT(FailureSummary(job, kSentence + std::string("no number")),
              HasSubstr("\n2 attempts failed alike, of 1 task (clones that fail beside it do not count)"));
}

TEST(FailureTextTest, ThePlaceFollowsTheFirstLineOfTheMessage) {
  AttemptNote note;
  const std::string message = "operator m failed: no number",
                    place = "record 2 of its input, 'x', in file:///in, byte 90";
  note.message = message;
  EXPECT_EQ(WithPlace(note), message);
  note.record = place;
  EXPECT_EQ(WithPlace(note), message + " (at " + place + ")");
  note.message = message + "\nmore";
  EXPECT_EQ(WithPlace(note), message + " (at " + place + ")\nmore");
  note.message = "no number in " + place;
  EXPECT_EQ(WithPlace(note), "no number in " + place) << "it names the place itself";
}

TEST(FailureTextTest, SaysWhichLimitWasReachedByFailuresThatAreNotTheOperators) {
  const JobView job = Job({"another", "no licence"});
  EXPECT_EQ(FailureSummary(job, kSentence + std::string("no licence"), 8),
            kSentence + std::string("no licence\nlimit 8 for a task: the failure is not the operator's, so "
                                    "--max-attempts does not count it"));
}

TEST(FailureTextTest, SaysNothingTwice) {
  JobView job = Job({"disk full", "file:///in, byte 90: bad; its stderr ends:\nwhy"});
  Last(job).record = "file:///in, byte 90";
  Last(job).stderr_tail = "why\n";
  const std::string message = kSentence + Last(job).message.str();
  EXPECT_EQ(FailureSummary(job, message), message);

  // The log of an attempt ends with its failure and the place of it.
  job = Job({"disk full", "no number"});
  Last(job).record = "file:///in, byte 90";
  Last(job).stderr_tail = "loading\nno number\nat file:///in, byte 90\n";
  EXPECT_EQ(FailureSummary(job, kSentence + std::string("no number")),
            kSentence + std::string("no number\nat file:///in, byte 90\nstderr: loading"));
}

TEST(FailureTextTest, AStackIsShownFromItsInnermostCall) {
  JobView job = Job({"another", "crashed: SIGSEGV"});
  std::string tail = "loading\nthe process died of SIGSEGV; its stack, innermost call first:\n";
  for (int call = 0; call < 20; ++call) tail += "  #" + std::to_string(call) + " Deep\n";
  Last(job).stderr_tail = tail;
  const std::string text = FailureSummary(job, std::string(kSentence) + "crashed: SIGSEGV");
  EXPECT_THAT(text, testing::AllOf(HasSubstr("\nstderr: the process died of SIGSEGV"), HasSubstr(" #0 Deep"),
                                   Not(HasSubstr("#19")), Not(HasSubstr("loading"))));
}

TEST(FailureTextTest, AStackShowsTheOperatorsOwnCodeBehindTheCallsOfLibraries) {
  JobView job = Job({"another", "crashed: SIGSEGV"});
  const std::string inner =
      "the process died of SIGSEGV; its stack, innermost call first:\n"
      "  #0 ?? (libc.so.6+0x16395a)\n"
      "  #1 std::char_traits<char>::compare(char const*, char const*, unsigned long) at bits/char_traits.h:385\n"
      "  #2 std::string::compare(char const*) const [clone .isra.0]+0x38 (operator library 05bf055c6149+0x83b8)\n"
      "  #3 bool std::operator==<char, std::char_traits<char> >(std::string const&, char const*) at bits/a.h:36\n"
      "  #4 std::vector<Mine>::at(unsigned long) at 12/vector:9\n"
      "  #5 std::__1 at bits/a.h:3\n  #6 std::less at bits/a.h:4\n  #7 std::sort at bits/a.h:5\n";
  Last(job).stderr_tail =
      inner + "  #8 (anonymous namespace)::Misbehave() at geo/bad.cc:19\n  #9 Map at geo/bad.cc:52\n";
  const std::string text = FailureSummary(job, std::string(kSentence) + "crashed: SIGSEGV");
  EXPECT_THAT(text, testing::AllOf(HasSubstr("#0 ??"), HasSubstr("#1 std::"), HasSubstr("#8 (anonymous"),
                                   HasSubstr("#9 Map at geo/bad.cc:52"), Not(HasSubstr("#7"))))
      << text;
  Last(job).stderr_tail = inner;
  EXPECT_THAT(FailureSummary(job, std::string(kSentence) + "crashed: SIGSEGV"),
              testing::AllOf(HasSubstr("#0 ??"), HasSubstr("#4 std::")))
      << "a stack without the operator's code";
  Last(job).stderr_tail =
      "the process died of SIGSEGV; its stack, innermost call first:\n  #0 std::string f<int>(int) at a.cc:1\n"
      "  #1 operator new(unsigned long)\n  #2 A::a()\n  #3 A::b()\n  #4 A::c()\n  #5 A::d()\n  #6 A::e()\n  #7 "
      "A::f()\n";
  EXPECT_THAT(FailureSummary(job, std::string(kSentence) + "crashed: SIGSEGV"),
              testing::AllOf(HasSubstr("#0 std::string f"), HasSubstr("#1 operator new"), HasSubstr("#2 A::a()")))
      << "only what lies before the operator's code is left out";
}

TEST(FailureTextTest, AnExceptionThatNobodyCaughtIsShownBeforeItsStack) {
  JobView job = Job({"another", "crashed: SIGABRT"});
  Last(job).stderr_tail =
      "loading\nterminate called after throwing an instance of 'E'\n  what():  in a thread\n"
      "the process died of SIGABRT; its stack, innermost call first:\n  #0 raise\n  #1 a\n  #2 b\n  #3 c\n  #4 d\n";
  EXPECT_THAT(FailureSummary(job, std::string(kSentence) + "crashed: SIGABRT"),
              testing::AllOf(HasSubstr("\nstderr: terminate called"), HasSubstr("what():  in a thread\n"),
                             HasSubstr("died of SIGABRT"), HasSubstr("#0 raise"), Not(HasSubstr("loading"))));
}

TEST(FailureTextTest, LeavesOutTheBeginOfTheBatchWhereABetterPlaceIsNamed) {
  for (const auto& [said, record] : std::vector<std::pair<std::string, std::string>>{
           {"file:///in, byte 97: no number", "file:///in, byte 90"},
           {"LINE_TOO_LONG: file:///in, byte 6: a line above 16 MiB", "file:///in, byte 0"},
           {"file:///in has no column 'x'", "file:///in, byte 0"}}) {
    JobView job = Job({"another", said});
    Last(job).record = record;
    EXPECT_EQ(FailureSummary(job, kSentence + said), kSentence + said);
  }
  JobView job = Job({"another", "no number"});
  Last(job).record = "file:///in, byte 0";
  EXPECT_THAT(FailureSummary(job, std::string(kSentence) + "no number"), HasSubstr("\nat file:///in, byte 0"));
}

TEST(FailureTextTest, SaysWhatToDoAboutAFullDisk) {
  const std::string said = "cannot write a spill run in /data: write: No space left on device";
  JobView job = Job({"another", said});
  EXPECT_THAT(FailureSummary(job, kSentence + said), HasSubstr("\nthat disk is full: make room on it"));
}

TEST(FailureTextTest, SaysWhatToDoWhereSomethingElseThanBytesRanOut) {
  for (const auto& [said, advice] : std::vector<std::pair<std::string, std::string>>{
           {"cannot create shuffle file x: IO error: Disk quota exceeded", "has no quota left there"},
           {"cannot open x: Too many open files", "as many files open as it may"},
           {"write: No space left on device; the file system of /d has no free inodes", "as many files as it may"}}) {
    const std::string text = FailureSummary(Job({"another", said}), kSentence + said);
    EXPECT_THAT(text, HasSubstr(advice));
    EXPECT_THAT(text, testing::Not(HasSubstr("disk is full")));
  }
}

TEST(FailureTextTest, SaysThatARoomMayHaveDeniedWhatATaskWanted) {
  const std::string said =
      "operator stream.map failed: the map command exited with code 1: cat /data/x; its stderr ends:";
  const std::string denied = "\ncat: /data/x: Permission denied";
  EXPECT_THAT(FailureSummary(Job({"another", said + denied}), kSentence + said + denied),
              HasSubstr("\nrooms of tasks deny files"));
  JobView job = Job({"another", "operator m failed: no table"});
  EXPECT_THAT(FailureSummary(job, kSentence + std::string("operator m failed: no table")), Not(HasSubstr("rooms")));
  Last(job).stderr_tail = "/data/x: Permission denied\n";
  EXPECT_THAT(FailureSummary(job, kSentence + std::string("operator m failed: no table")), HasSubstr("rooms"));
  const std::string own = "cannot open /data/x: Permission denied";
  EXPECT_THAT(FailureSummary(Job({"another", own}), kSentence + own), Not(HasSubstr("rooms")))
      << "the worker itself is in no room";
}

TEST(FailureTextTest, HasAtMostEightLinesAndKeepsTheLastOnes) {
  std::string long_tail = "x\n";
  for (int i = 0; i < 40; ++i) long_tail += "line " + std::to_string(i) + "\n";
  JobView job = Job({"a", "failed:\n" + long_tail});
  Last(job).record = "record 5";
  Last(job).stderr_tail = "e1\ne2\ne3\ne4\ne5\ne6\n";
  const std::string text = FailureSummary(job, kSentence + Last(job).message.str());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7) << text;
  EXPECT_THAT(text, HasSubstr("failed:\nline 37\nline 38\nline 39\nat record 5\nstderr: e4\nstderr: e5\nstderr: e6"));
}

TEST(FailureTextTest, NamesTheHotKeyThatATaskWithoutMemoryReads) {
  const std::string why = "batch() ran out of memory (std::bad_alloc); raise --memory";
  JobView job = Job({"no number at 17", why});
  StageSpec reduce;
  reduce.name = "reduce";
  reduce.inputs.resize(1);
  reduce.inputs[0].is_edge = true;
  job.spec.stages.push_back(reduce);
  job.plan.stages.resize(2);
  job.plan.stages[1].slices = {{{0, 0, 3, 0, 2}}, {{0, 3, 4, 0, 2}}};
  Skew skew;
  skew.key = {0, 3, 1, "GB", false, 40, 400};
  skew.stage_records = 100;
  skew.stage_bytes = 1000;
  job.notes.skew = {skew};
  auto failed = job.notes.attempts.extract(std::prev(job.notes.attempts.end()));
  const std::string message = "task 1 of stage 'reduce' failed as attempt_1_0001_1_r_000001_1 on w2: ";
  failed.key() = {{job.id, 1, 1}, 1};
  failed.mapped().stderr_tail = "e1\ne2\ne3\ne4\ne5\ne6\ne7\ne8\n";
  job.notes.attempts.insert(std::move(failed));
  const std::string text = FailureSummary(job, message + why);
  EXPECT_THAT(text, HasSubstr(why + "\nskew: key 'GB' has about 40 % of the 100 records from stage 'map'"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7) << text;
  // Another reason; another partition.
  Last(job).message = "no such table";
  EXPECT_THAT(FailureSummary(job, message + "no such table"), Not(HasSubstr("skew")));
  Last(job).message = why;
  job.notes.skew[0].key.partition = 2;
  EXPECT_THAT(FailureSummary(job, message + why), Not(HasSubstr("skew")));
}

TEST(FailureTextTest, LeavesAMessageThatIsOfNoAttemptAsItIs) {
  JobView job = Job({"a"});
  Last(job).stderr_tail = "b\n";
  EXPECT_EQ(FailureSummary(job, "the output exists"), "the output exists");
  EXPECT_EQ(FailureSummary(JobView(), "cannot plan"), "cannot plan");
}

}  // namespace
}  // namespace mr::master
