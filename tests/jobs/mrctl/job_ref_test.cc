#include "jobs/mrctl/job_ref.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "common/io/files.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/local_runs.h"

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;

JobStatus NamedJob(JobId id, const std::string& name, JobState state = JobState::kSucceeded) {
  JobStatus job;
  job.id = id;
  job.name = name;
  job.state = state;
  return job;
}

const std::vector<JobStatus>& JobsOfTest() {
  static const std::vector<JobStatus> jobs = {NamedJob({1, 3}, "nightly"), NamedJob({1, 4}, "once"),
                                              NamedJob({2, 3}, "nightly", JobState::kFailed),
                                              NamedJob({2, 5}, "17", JobState::kRunning), NamedJob({3, 1}, "job_x")};
  return jobs;
}

Failure NotFoundJob(const std::string& word) {
  const auto id = FindJob(word, JobsOfTest());
  EXPECT_FALSE(id.ok()) << word;
  return ToFailure(id.status());
}

TEST(JobRefTest, ANumberIsTheJobInTheNewestEpochThatHasIt) {
  EXPECT_EQ(FindJob("3", JobsOfTest()).value(), (JobId{2, 3}));
  EXPECT_EQ(FindJob("0004", JobsOfTest()).value(), (JobId{1, 4}));
  EXPECT_EQ(NotFoundJob("17").exit, kExitNotFound) << "a number is no name";
}

TEST(JobRefTest, ANameIsTheOnlyJobThatHasIt) {
  EXPECT_EQ(FindJob("once", JobsOfTest()).value(), (JobId{1, 4}));
  EXPECT_EQ(FindJob("job_x", JobsOfTest()).value(), (JobId{3, 1}));
}

TEST(JobRefTest, AnAmbiguousNameIsRefusedWithItsJobs) {
  const Failure failure = NotFoundJob("nightly");
  EXPECT_EQ(failure.exit, kExitUsage);
  EXPECT_EQ(failure.message, "2 jobs have the name 'nightly'");
  EXPECT_THAT(failure.hint, HasSubstr("job_2_0003 (FAILED), job_1_0003 (SUCCEEDED)"));
  std::vector<JobStatus> many;
  for (uint32_t i = 1; i <= 12; ++i) many.push_back(NamedJob({1, i}, "same"));
  EXPECT_THAT(ToFailure(FindJob("same", many).status()).hint, HasSubstr("job_1_0003 (SUCCEEDED) and 2 more"));
}

TEST(JobRefTest, AnUnknownNameIsNotFoundWithTheNearestOne) {
  EXPECT_EQ(NotFoundJob("nigthly").exit, kExitNotFound);
  EXPECT_THAT(NotFoundJob("nigthly").message, HasSubstr("did you mean 'nightly'"));
  EXPECT_EQ(NotFoundJob("job_1_x").exit, kExitUsage);
  EXPECT_EQ(NotFoundJob("w1").exit, kExitUsage);
  EXPECT_THAT(NotFoundJob("task_1_0001_0_m_000000").message, HasSubstr("a job is needed"));
}

TEST(JobRefTest, TheLastJobOfAnotherMasterIsRefused) {
  EXPECT_EQ(LastOf({"job_1_0004", "lab:7070"}, "lab:7070").value(), (JobId{1, 4}));
  const Failure other = ToFailure(LastOf({"job_1_0004", "lab:7070"}, "127.0.0.1:7070").status());
  EXPECT_EQ(other.exit, kExitUsage);
  EXPECT_THAT(other.message, HasSubstr("was submitted to the master at lab:7070"));
  EXPECT_THAT(other.hint, HasSubstr("add --master lab:7070"));
  EXPECT_THAT(ToFailure(LastOf({"local_0003", ""}, "127.0.0.1:7070").status()).message, HasSubstr("local_0003"));
}

TEST(JobRefTest, TheLogsOfALocalRunAreNamedIfItKeptThem) {
  std::string path = testing::TempDir() + "job_ref.XXXXXX";
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  report::RecordedRun recorded;
  recorded.run.job.id = {1, 1};
  ASSERT_TRUE(LocalRuns(path).Add(recorded, 10).ok());
  recorded.run.kept_logs = "/tmp/logs";
  ASSERT_TRUE(LocalRuns(path).Add(recorded, 10).ok());
  const auto hint = [&](const std::string& word) { return ToFailure(NotOfLocalRun(word, "its logs", path)).hint; };
  EXPECT_THAT(hint("local_0001"), HasSubstr("run it again with --keep-logs DIRECTORY"));
  EXPECT_THAT(hint("local_0002"), HasSubstr("the logs of its attempts are in /tmp/logs"));
  EXPECT_THAT(hint("attempt_local_2_0_m_000003_1"), HasSubstr("its log is /tmp/logs/attempt_local_0002_0_m_000003_1"));
  EXPECT_TRUE(NotOfLocalRun("job_1_0001", "its logs", path).ok());
  EXPECT_TRUE(RemoveTree(path).ok());
}

}  // namespace
}  // namespace mr::ctl
