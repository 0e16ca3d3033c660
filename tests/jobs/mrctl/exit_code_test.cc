#include "jobs/mrctl/exit_code.h"

#include <gtest/gtest.h>

namespace mr::ctl {
namespace {

std::vector<JobStatus> Jobs(const std::vector<JobState>& states) {
  std::vector<JobStatus> jobs(states.size());
  for (size_t i = 0; i < states.size(); ++i) jobs[i].state = states[i];
  return jobs;
}

TEST(ExitCodeTest, AWaitForSeveralJobsEndsAsTheFirstThatDidNotSucceed) {
  using enum JobState;
  EXPECT_EQ(ExitOf(Jobs({kSucceeded, kSucceeded})), 0);
  EXPECT_EQ(ExitOf(Jobs({kFailed, kKilled})), 1);
  EXPECT_EQ(ExitOf(Jobs({kKilled, kFailed})), 4);
  EXPECT_EQ(ExitOf(Jobs({kSucceeded, kKilled})), 4);
  EXPECT_EQ(ExitOf(Jobs({kFailed, kSucceeded})), 1) << "a later success takes nothing back";
}

TEST(ExitCodeTest, AJobThatStillRunsAtTheLimitIsNeitherFailedNorKilled) {
  EXPECT_EQ(ToFailure(Status(Code::kDeadline, "--timeout ran out")).exit, 124);
  EXPECT_EQ(ToFailure(Status(Code::kCancelled, "interrupted")).exit, 130);
}

}  // namespace
}  // namespace mr::ctl
