#include "jobs/mrctl/job_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kNow = 1'000'000'000;  // ms

JobStatus EndedJob(uint32_t seq, const std::string& name, JobState state, uint64_t ended_before_now_ms) {
  JobStatus job;
  job.id = {1, seq};
  job.name = name;
  job.owner = seq % 2 == 0 ? "anna" : "bob";
  job.state = state;
  job.submitted_unix_ms = kNow - ended_before_now_ms - 10'000;
  job.elapsed_us = 10'000'000;
  return job;
}

std::vector<uint32_t> Listed(const std::vector<std::string>& states, const std::string& name, const std::string& since,
                             const std::string& owner = "") {
  const auto filter = MakeJobFilter(states, name, owner, since);
  EXPECT_TRUE(filter.ok()) << filter.status().ToString();
  std::vector<uint32_t> numbers;
  const std::vector<JobStatus> jobs = {EndedJob(1, "sales-2025", JobState::kSucceeded, 7'200'001),
                                       EndedJob(2, "sales-2026", JobState::kFailed, 7'199'000),
                                       EndedJob(3, "clicks", JobState::kRunning, 90'000'000),
                                       EndedJob(4, "clicks", JobState::kKilled, 0)};
  for (const JobStatus& job : FilterJobs(jobs, *filter, kNow)) numbers.push_back(job.id.seq);
  return numbers;
}

TEST(JobFilterTest, ListsAllInTheirOrderWithoutAFilter) { EXPECT_THAT(Listed({}, "", ""), ElementsAre(1, 2, 3, 4)); }

TEST(JobFilterTest, TakesSeveralStates) {
  EXPECT_THAT(Listed({"running,failed"}, "", ""), ElementsAre(2, 3));
  EXPECT_THAT(Listed({"Running", "KILLED"}, "", ""), ElementsAre(3, 4));
}

TEST(JobFilterTest, TakesAGlobOfNames) {
  EXPECT_THAT(Listed({}, "sales-*", ""), ElementsAre(1, 2));
  EXPECT_THAT(Listed({}, "sales-202[6-9]", ""), ElementsAre(2));
  EXPECT_THAT(Listed({}, "sales", ""), ElementsAre());
}

TEST(JobFilterTest, TakesAnOwner) {
  EXPECT_THAT(Listed({}, "", "", "anna"), ElementsAre(2, 4));
  EXPECT_THAT(Listed({}, "clicks", "", "bob"), ElementsAre(3));
  EXPECT_THAT(Listed({}, "", "", "ann"), ElementsAre()) << "the whole name";
}

TEST(JobFilterTest, LeavesOutJobsThatEndedBefore) {
  EXPECT_THAT(Listed({}, "", "2h"), ElementsAre(2, 3, 4)) << "one that runs since long ago is listed";
  EXPECT_THAT(Listed({"failed"}, "*", "1h"), ElementsAre());
}

TEST(JobFilterTest, RefusesOtherWords) {
  EXPECT_THAT(MakeJobFilter({"runing"}, "", "", "").status().message(), HasSubstr("did you mean 'running'"));
  EXPECT_EQ(MakeJobFilter({"running,"}, "", "", "").status().code(), Code::kInvalidArgument);
  EXPECT_THAT(MakeJobFilter({}, "", "", "2").status().message(), HasSubstr("--since"));
}

}  // namespace
}  // namespace mr::ctl
