// The findings of mrctl doctor about attempts without progress, made from logs that this file makes up.
#include "jobs/mrctl/check_attempts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "common/io/stack_lines.h"

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class CheckAttemptsTest : public testing::Test {
 protected:
  static constexpr JobId kJob{1, 1};
  static JobStatus JobOf(JobId id, JobState state = JobState::kRunning) {
    JobStatus job;
    job.id = id;
    job.state = state;
    return job;
  }
  // Adds a running attempt of the job. Its log is that of `stacks_`, if there is one.
  std::string AddAttempt(uint32_t task, const std::string& worker, uint64_t ran_us) {
    AttemptStatus attempt;
    attempt.id = Name(AttemptId{{kJob, 0, task}, 1}, TaskLetter::kMap);
    attempt.state = "running";
    attempt.worker = worker;
    attempt.ran_us = ran_us;
    attempts_.push_back(attempt);
    return attempt.id;
  }
  static std::string Stuck(const std::string& rest) {
    return "a line of the operator\n" + std::string(kStuckLine) + rest + "\n  #0 Spin() at loop.cc:7\n";
  }
  std::vector<Check> Run(const std::vector<JobStatus>& jobs) {
    return CheckAttempts({[this](JobId) -> Result<std::vector<AttemptStatus>> { return attempts_; },
                          [this](AttemptId id) -> Result<AttemptLog> {
                            ++calls_;
                            now_ = now_ + call_takes_;
                            const auto at = logs_.find(Name(id, TaskLetter::kMap));
                            if (at == logs_.end()) return NotFound("no log");
                            return at->second;
                          },
                          [this] { return now_; }},
                         jobs, "mrctl ");
  }
  void SetLog(const std::string& id, const std::string& text) {
    AttemptLog log;
    log.text = text;
    logs_.insert_or_assign(id, Result<AttemptLog>(log));
  }

  Instant now_;
  Duration call_takes_;
  int calls_ = 0;
  std::vector<AttemptStatus> attempts_;
  std::map<std::string, Result<AttemptLog>> logs_;
};

TEST_F(CheckAttemptsTest, OnlyAnAttemptThatIsStillStuckIsReported) {
  const std::string stuck = AddAttempt(0, "w1", 70'000'000), moved = AddAttempt(1, "w1", 70'000'000),
                    crashed = AddAttempt(2, "w1", 70'000'000);
  AddAttempt(3, "w1", 70'000'000);  // its log is gone
  AddAttempt(4, "w1", 900'000);     // it has just begun
  SetLog(stuck, Stuck(" for 60 s"));
  SetLog(moved, Stuck(" for 60 s") + kProgressLine + "\n");
  SetLog(crashed, std::string(kCrashLine) + "SEGV\n  #0 Crash()\n");
  const auto checks = Run({JobOf(kJob)});
  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_EQ(checks[0].id, "attempts");
  EXPECT_EQ(checks[0].verdict, Verdict::kWarn);
  EXPECT_EQ(checks[0].text, stuck + " on w1: the operator makes no progress for 60 s #0 Spin() at loop.cc:7");
  EXPECT_EQ(checks[0].next, "mrctl why " + stuck);
  EXPECT_EQ(calls_, 4);
  EXPECT_TRUE(Run({JobOf(kJob, JobState::kSucceeded)}).empty());
}

TEST_F(CheckAttemptsTest, ATerminalIsSafeFromWhatAnOperatorWrites) {
  SetLog(AddAttempt(0, "w1", 70'000'000), Stuck(" \x1b[2J"));
  const auto checks = Run({JobOf(kJob)});
  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_EQ(checks[0].text.find('\x1b'), std::string::npos);
}

TEST_F(CheckAttemptsTest, AWorkerWithoutAnAnswerIsAskedOnce) {
  for (uint32_t task = 0; task < 3; ++task) {
    logs_.insert_or_assign(AddAttempt(task, "w1", 70'000'000), Result<AttemptLog>(Unavailable("late")));
  }
  SetLog(AddAttempt(3, "w2", 60'000'000), Stuck(" for 60 s"));
  const auto checks = Run({JobOf(kJob)});
  ASSERT_THAT(checks, SizeIs(2));
  EXPECT_EQ(calls_, 2);
  EXPECT_THAT(checks[0].text, HasSubstr(" on w2: "));
  EXPECT_EQ(checks[1].text,
            "not all were checked for stacks without progress: the logs of 3 attempts and 0 jobs were left out; no "
            "answer from w1");
}

TEST_F(CheckAttemptsTest, TheLongestRunningComeFirstAndTimeEndsTheCheck) {
  for (uint32_t task = 0; task < 25; ++task) SetLog(AddAttempt(task, "w1", 2'000'000 + task), "");
  SetLog(attempts_.back().id, Stuck(" for 60 s"));
  call_takes_ = Seconds(3);
  const auto checks = Run({JobOf(kJob), JobOf({1, 2})});
  ASSERT_THAT(checks, SizeIs(2));
  EXPECT_EQ(calls_, 4) << "the fourth began after 9 s";
  EXPECT_THAT(checks[0].text, HasSubstr(attempts_.back().id));
  EXPECT_THAT(checks[1].text, HasSubstr("the logs of 16 attempts and 1 job were left out"));
}

}  // namespace
}  // namespace mr::ctl
