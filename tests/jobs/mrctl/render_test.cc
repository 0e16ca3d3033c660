#include "jobs/mrctl/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/progress.h"

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

JobStatus Job() {
  JobStatus job;
  job.id = {3, 7};
  job.name = "word \"count\"";
  job.state = JobState::kRunning;
  StageStatus stage;
  stage.name = "count";
  stage.planned = true;
  stage.tasks = 40;
  stage.done = 10;
  stage.running = 3;
  stage.elapsed_us = 2'000'000;
  job.stages = {stage};
  return job;
}

TEST(RenderTest, WritesOneJsonDocumentWithItsVersionAndAnIdEach) {
  const std::string json = RenderJobs({Job(), Job()}, OutputForm::kJson);
  EXPECT_THAT(json, StartsWith(R"({"version":1,"jobs":[{"id":"job_3_0007","name":"word \"count\"","state":"RUNNING")"));
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 1);
}

TEST(RenderTest, WritesOneLinePerElementAsNdjson) {
  const std::string json = RenderJobs({Job(), Job()}, OutputForm::kNdjson);
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 2);
  EXPECT_THAT(json, Not(HasSubstr("version")));
}

TEST(RenderTest, KeepsJsonWholeWhateverBytesAnOperatorWrote) {
  JobStatus job = Job();
  job.error = "bad \xff\xfe byte\n";
  EXPECT_THAT(RenderJob(job, OutputForm::kJson), HasSubstr("\xef\xbf\xbd"));
}

TEST(RenderTest, AlignsColumnsAndLeavesNoSpaceBehind) {
  Table table({"A", "B"});
  table.Add({"long one", "x"});
  EXPECT_EQ(table.Text(), "A         B\nlong one  x\n");
}

TEST(RenderTest, GroupsDigits) {
  EXPECT_EQ(Grouped(7), "7");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
}

TEST(FailureTest, KeepsHintAndMessageApart) {
  const Failure failure = ToFailure(WithHint(Rejected("output exists"), "say --overwrite"));
  EXPECT_EQ(failure.exit, kExitRejected);
  EXPECT_EQ(failure.message, "output exists");
  EXPECT_EQ(failure.hint, "say --overwrite");
  EXPECT_EQ(FailureJson(failure),
            "{\"version\":1,\"error\":{\"code\":\"rejected\",\"message\":\"output exists\",\"hint\":\"say --overwrite\"}}\n");
  EXPECT_EQ(FailureText(failure), "mrctl: output exists\n  say --overwrite\n");
}

TEST(FailureTest, HasAnExitCodeForEveryCode) {
  EXPECT_EQ(ExitCodeFor(Code::kInvalidArgument), 2);
  EXPECT_EQ(ExitCodeFor(Code::kRejected), 3);
  EXPECT_EQ(ExitCodeFor(Code::kUnavailable), 5);
  EXPECT_EQ(ExitCodeFor(Code::kNotAllowed), 6);
  EXPECT_EQ(ExitCodeFor(Code::kNotFound), 7);
  EXPECT_EQ(ExitCodeFor(Code::kInternal), 70);
  EXPECT_EQ(ExitCodeFor(Code::kDeadline), 124);
  EXPECT_EQ(ExitCodeFor(Code::kCancelled), 130);
}

TEST(ProgressTest, SaysOfAStageWhatIsDoneAndWhatIsLeft) {
  EXPECT_EQ(StageLine(Job().stages[0], 60), "count            10/40  3 running  ETA 6.0 s");
  EXPECT_THAT(StageLine(Job().stages[0], 100), HasSubstr("[=====               ] 10/40"));
  StageStatus open;
  open.name = "sum";
  EXPECT_THAT(StageLine(open, 80), HasSubstr("waits for its inputs"));
}

TEST(ProgressTest, KeepsALineWithinTheTerminal) {
  StageStatus stage = Job().stages[0];
  stage.name = "a name that is far too long for a column";
  EXPECT_LE(StageLine(stage, 40).size(), 40u);
}

}  // namespace
}  // namespace mr::ctl
