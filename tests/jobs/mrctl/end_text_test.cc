// Tests of the texts that end a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "jobs/mrctl/follow.h"
#include "jobs/mrctl/local_names.h"

namespace mr::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

JobStatus EndedJob(JobState state, const std::string& error) {
  JobStatus job;
  job.id = {1, 4};
  job.state = state;
  job.error = error;
  job.output_uri = "dfs:///out";
  job.elapsed_us = 2'000'000;
  return job;
}

TEST(EndTextTest, AKilledJobSaysByWhomWhatWasWrittenAndWhatToDo) {
  const JobStatus job = EndedJob(JobState::kKilled, "killed by mrctl kill (alice on lab-1)");
  EXPECT_EQ(EndText(job, "lab:7070"),
            "job_1_0004 was killed after 2.0 s\n"
            "  killed by mrctl kill (alice on lab-1)\n"
            "  nothing was written to dfs:///out\n"
            "next: submit it again to get its output; mrctl --master lab:7070 why job_1_0004 shows how far it came\n");
  EXPECT_THAT(EndFailure(job, "lab:7070").hint, HasSubstr("submit it again"));
}

TEST(EndTextTest, AnEndHasAtMostTenLines) {
  std::string error;
  for (int i = 0; i < 30; ++i) error += "line " + std::to_string(i) + "\n";
  for (const JobState state : {JobState::kKilled, JobState::kFailed}) {
    const std::string text = EndText(EndedJob(state, error), "lab:7070");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10) << text;
  }
}

TEST(EndTextTest, ALocalRunHasItsOwnNameInAllLines) {
  JobStatus job =
      EndedJob(JobState::kFailed,
               "task_1_0004_0_m_000000 failed 4 times, the last time as attempt_1_0004_0_m_000000_4 (its log: "
               "mrctl logs attempt_1_0004_0_m_000000_4): no");
  UseLocalNames(&job, "local_0012");
  const std::string text = EndText(job, "", "mrctl why local_0012 explains this run");
  EXPECT_THAT(text, HasSubstr("local_0012 failed after"));
  EXPECT_THAT(text, HasSubstr("as attempt_local_0012_0_m_000000_4: no"));
  EXPECT_THAT(text, Not(HasSubstr("1_0004")));
  EXPECT_THAT(text, Not(HasSubstr("mrctl logs"))) << "the cluster is gone";
}

TEST(EndTextTest, ACrashLeadsToItsReplayUnderADebugger) {
  JobStatus job =
      EndedJob(JobState::kFailed,
               "task 0 of stage 'map' failed 4 times, the last time as attempt_1_0004_0_m_000000_4 on w1 (its "
               "log: mrctl logs attempt_1_0004_0_m_000000_4): operator my.map crashed: SIGSEGV\nstderr: no");
  const std::string replay = "task replay attempt_1_0004_0_m_000000_4";
  EXPECT_THAT(EndText(job, "lab:7070", "", "./my.so"),
              HasSubstr("next: mrctl --master lab:7070 " + replay + " --lib ./my.so --gdb\n"));
  EXPECT_THAT(EndText(job, "lab:7070", "", ""), HasSubstr(replay + " --gdb\n")) << "a built-in job has no library";
  EXPECT_THAT(EndText(job, "lab:7070"), HasSubstr(replay + " --lib LIB.so --gdb\n")) << "of another command";
  UseLocalNames(&job, "local_0012");
  EXPECT_EQ(ReplayOfFailure(job, "my.so"), "task replay attempt_local_0012_0_m_000000_4 --lib my.so --gdb");
  job.error =
      "task 0 of stage 'map' failed 4 times, the last time as attempt_1_0004_0_m_000000_4 on w1: operator my.map "
      "batch() threw: no\nstderr: crashed: SIGSEGV";
  EXPECT_EQ(ReplayOfFailure(job, "my.so"), "") << "the ABI's words, without the SDK's";
}

TEST(EndTextTest, AnExceptionOfAnOwnLibraryLeadsToItsReplay) {
  const JobStatus job =
      EndedJob(JobState::kFailed,
               "task 0 of stage 'map' failed 4 times, the last time as attempt_1_0004_0_m_000000_4 on w1 (its "
               "log: mrctl logs attempt_1_0004_0_m_000000_4): operator my.map failed: std::out_of_range: map::at");
  EXPECT_EQ(ReplayOfFailure(job, "my.so"), "task replay attempt_1_0004_0_m_000000_4 --lib my.so");
  JobStatus local = job;
  local.error =
      "task 0 of stage 'map' failed 4 times, the last time as attempt_local_0012_0_m_000000_4 on w1: operator my.map "
      "failed: no";
  EXPECT_EQ(ReplayOfFailure(local, "my.so"), "task replay attempt_local_0012_0_m_000000_4 --lib my.so");
  EXPECT_EQ(ReplayOfFailure(job, ""), "") << "built-in jobs explain their failures themselves";
  EXPECT_EQ(ReplayOfFailure(job, std::nullopt), "");
  const JobStatus disk = EndedJob(JobState::kFailed,
                                  "task 0 of stage 'map' failed 8 times, the last time as attempt_1_0004_0_m_000000_8 "
                                  "on w1 (its log: mrctl logs attempt_1_0004_0_m_000000_8): the disk is full");
  EXPECT_EQ(ReplayOfFailure(disk, "my.so"), "");
}

TEST(EndTextTest, AJobThatAskedForClonesAndGotNoneSaysSo) {
  JobStatus job = EndedJob(JobState::kSucceeded, "");
  job.causes = {{.cause = "first", .launched = 2}, {.cause = "speculative", .launched = 1}};
  EXPECT_THAT(NoCloneNote(job, Wish::kOn, "lab:7070"), AllOf(HasSubstr("--clone on: no clone was launched"),
                                                             HasSubstr("mrctl --master lab:7070 why job_1_0004")));
  EXPECT_THAT(NoCloneNote(job, Wish::kOn, ""), HasSubstr("; mrctl why job_1_0004 says more"));
  EXPECT_EQ(NoCloneNote(job, Wish::kAuto, "lab:7070"), "");
  EXPECT_EQ(NoCloneNote(job, Wish::kOff, "lab:7070"), "");
  job.causes.push_back({.cause = "opportunistic", .launched = 1});
  EXPECT_EQ(NoCloneNote(job, Wish::kOn, "lab:7070"), "");
}

TEST(UnmatchedNoteTest, LinesThatParseCouldNotReadAreCountedApartFromTheRows) {
  JobSpec spec;
  StageSpec rows;
  rows.name = "rows";
  rows.operator_name = "parse.rows";
  spec.stages = {StageSpec{}, rows};
  EXPECT_TRUE(HasParse(spec));
  EXPECT_EQ(UnmatchedNote(spec, {{"rows", "lines", 518}, {"rows", "unmatched lines", 1482}}, "dfs:///t"),
            "mrctl: warning: parse matched 518 of 2,000 lines; the others are in dfs:///t/_unmatched-*\n");
  EXPECT_EQ(UnmatchedNote(spec, {{"rows", "unmatched lines", 578806}}, ""),
            "mrctl: warning: parse matched no line (578,806 lines); they are not in the output: with --output "
            "DIRECTORY they are in its files _unmatched-*\n");
  EXPECT_EQ(UnmatchedNote(spec, {{"rows", "lines", 1}, {"rows", "unmatched lines", 1}}, "dfs:///t"),
            "mrctl: warning: parse matched 1 of 2 lines; the other is in dfs:///t/_unmatched-*\n");
  EXPECT_EQ(UnmatchedNote(spec, {{"rows", "unmatched lines", 1}}, ""),
            "mrctl: warning: parse matched no line (1 line); it is not in the output: with --output DIRECTORY it is in "
            "its files _unmatched-*\n");
  EXPECT_EQ(UnmatchedNote(spec, {{"rows", "lines", 5}, {"rows", "unmatched lines", 0}}, ""), "");
  EXPECT_EQ(UnmatchedNote(spec, {{"mine", "unmatched lines", 3}}, ""), "") << "a counter of another stage";
  rows.operator_name = "mine.rows";
  spec.stages = {rows};
  EXPECT_FALSE(HasParse(spec));
}

}  // namespace
}  // namespace mr::ctl
