// Names of local runs and their parts: what is printed, and what is read again.
#include "jobs/mrctl/local_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::ctl {
namespace {

using ::testing::ElementsAre;

constexpr JobId kFirst{1, 1};

TEST(LocalNamesTest, NamesOfTheClusterAreReplacedAndOthersStay) {
  const auto named = [](const std::string& text) { return WithLocalNames(text, kFirst, "local_0007"); };
  EXPECT_EQ(named("job_1_0001 failed, the last time as attempt_1_0001_0_m_000003_2 (mrctl logs job_1_0001)"),
            "local_0007 failed, the last time as attempt_local_0007_0_m_000003_2 (mrctl logs local_0007)");
  EXPECT_EQ(named("task_1_0001_1_r_000000, task_1_0001_r_000000"),
            "task_local_0007_1_r_000000, task_local_0007_r_000000");
  for (const char* other : {"job_1_00011", "job_1_0001_x", "my_job_1_0001", "job_1_0002",
                            "attempt_1_00012_0_m_000000_1", "attempt_1_0001", "", "part-r-00000"}) {
    EXPECT_EQ(named(other), other);
  }
  EXPECT_EQ(WithLocalNames("job_1_0001", kFirst, ""), "job_1_0001") << "of a cluster";
}

TEST(LocalNamesTest, AllTextsOfAStatusHaveTheNameOfTheRun) {
  JobStatus job;
  job.id = kFirst;
  job.error = "attempt_1_0001_0_m_000000_1 failed";
  job.warnings = {"task_1_0001_0_m_000000 is slow"};
  UseLocalNames(&job, "local_0007");
  EXPECT_EQ(Name(job), "local_0007");
  EXPECT_EQ(job.error, "attempt_local_0007_0_m_000000_1 failed");
  EXPECT_THAT(job.warnings, ElementsAre("task_local_0007_0_m_000000 is slow"));
  std::vector<AttemptStatus> attempts(1);
  attempts[0].id = "attempt_1_0001_0_m_000000_1";
  UseLocalNames(&attempts, kFirst, "local_0007");
  EXPECT_EQ(attempts[0].id, "attempt_local_0007_0_m_000000_1");
}

TEST(LocalNamesTest, NoCommandAsksTheMasterOfARunThatHasEnded) {
  EXPECT_EQ(WithoutLogCommand("as attempt_local_0007_0_m_000000_1 on w1 (its log: mrctl logs attempt_x): no column"),
            "as attempt_local_0007_0_m_000000_1 on w1: no column");
  EXPECT_EQ(WithoutLogCommand("no column (7)"), "no column (7)");
  EXPECT_EQ(WithoutLogCommand("cut (its log: mrctl logs"), "cut (its log: mrctl logs");
}

// A printed name that a cluster could take for one of its own jobs would show an unrelated job.
TEST(LocalNamesTest, PartsOfARunAreReadAgainAndAreNoIdsOfACluster) {
  for (const char* recorded : {"attempt_1_0001_0_m_000003_2", "task_1_0001_1_r_000000"}) {
    const std::string printed = WithLocalNames(recorded, kFirst, "local_0007");
    const auto part = ParseLocalPart(printed);
    ASSERT_TRUE(part.has_value()) << printed;
    EXPECT_EQ(part->run, 7u);
    EXPECT_EQ(part->NameIn(kFirst), recorded);
    EXPECT_FALSE(ParseAttemptId(printed).has_value());
    EXPECT_FALSE(ParseJobId(printed).has_value());
  }
  EXPECT_FALSE(ParseJobId("local_0007").has_value());
  for (const char* bad : {"", "local_0007", "attempt_local_0007", "attempt_local_0_0_m_000000_1", "attempt_local_7_x",
                          "attempt_local_0007_0_m_000000", "task_local_0007_0_m_000000_1",
                          "attempt_1_0001_0_m_000000_1", "task_local_x_0_m_000000"}) {
    EXPECT_FALSE(ParseLocalPart(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace mr::ctl
