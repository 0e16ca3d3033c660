#include "jobs/mrctl/operate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/mrctl/render.h"

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

JobStatus JobOf(uint32_t number, JobState state, uint64_t submitted_ms, uint64_t took_ms) {
  JobStatus job;
  job.id = {1, number};
  job.name = "j" + std::to_string(number);
  job.state = state;
  job.submitted_unix_ms = submitted_ms;
  job.elapsed_us = took_ms * 1000;
  return job;
}

TEST(OperateTest, HistoryHasWhatEndedTheLastOneFirst) {
  const std::vector<JobStatus> jobs = {JobOf(1, JobState::kSucceeded, 1000, 9000),
                                       JobOf(2, JobState::kRunning, 1000, 1), JobOf(3, JobState::kFailed, 2000, 1),
                                       JobOf(4, JobState::kKilled, 3000, 1)};
  const auto ended = EndedJobs(jobs, 10);
  ASSERT_EQ(ended.size(), 3u);
  EXPECT_EQ(ended[0].id.seq, 1u) << "submitted first, and it ended last";
  EXPECT_EQ(ended[1].id.seq, 4u);
  EXPECT_EQ(EndedJobs(jobs, 1).size(), 1u);
  EXPECT_THAT(RenderHistory(ended, OutputForm::kTable), HasSubstr("job_1_0003  j3"));
}

TEST(OperateTest, TopCountsAndShowsTheLastThatEndedBelow) {
  TopShown top;
  top.jobs = {JobOf(1, JobState::kSucceeded, 1000, 1), JobOf(2, JobState::kRunning, 1000, 1)};
  StageStatus stage;
  stage.tasks = 4;
  stage.done = 1;
  stage.running = 2;
  top.jobs[1].stages = {stage};
  WorkerStatus live, lost;
  live.state = "live";
  live.slots = 4;
  live.busy = 2;
  lost.state = "lost";
  top.workers = {live, lost};
  const std::string text = RenderTop(top, OutputForm::kTable);
  EXPECT_THAT(text, HasSubstr("1 of 2 workers live, 2 of 4 slots busy; 1 job, 1 with tasks that run; 1 ended"));
  EXPECT_LT(text.find("job_1_0002"), text.find("job_1_0001"));
  EXPECT_THAT(text, HasSubstr("1/4"));
  EXPECT_THAT(RenderTop(top, OutputForm::kJson), HasSubstr(R"("ended":1,"workers":[)"));
}

TEST(OperateTest, WorkerShowHasTheMemoryOfASlot) {
  WorkerShown shown;
  shown.worker.state = "live";
  shown.worker.slots = 4;
  shown.worker.memory_bytes = 6ull << 30;
  EXPECT_THAT(RenderWorkersShown({shown}, OutputForm::kTable),
              HasSubstr("memory      6 GiB for attempts, 1.5 GiB per slot\n"));
  EXPECT_THAT(RenderWorkersShown({shown}, OutputForm::kJson), HasSubstr(R"("slot_memory_bytes":1610612736)"));
  shown.worker.slots = 0;
  EXPECT_THAT(RenderWorkersShown({shown}, OutputForm::kTable), HasSubstr("memory      6 GiB for attempts\n"));
  EXPECT_THAT(RenderWorkersShown({shown}, OutputForm::kJson), HasSubstr(R"("slot_memory_bytes":0)"));
  shown.worker.memory_bytes = 0;
  EXPECT_THAT(RenderWorkersShown({shown}, OutputForm::kTable), HasSubstr("memory      not limited\n"));
}

TEST(OperateTest, TasksWithoutAnAttemptArePending) {
  TopShown top;
  top.jobs = {JobOf(2, JobState::kRunning, 1000, 1)};
  StageStatus stage;
  stage.tasks = 40;
  stage.done = 1;
  top.jobs[0].stages = {stage};
  const std::string idle = RenderTop(top, OutputForm::kTable);
  EXPECT_THAT(idle, testing::ContainsRegex("TASKS +PENDING +RUNNING +WAITING"));
  EXPECT_THAT(idle, testing::ContainsRegex("1/40 +39 +0 +0"));
  stage.running = 40;
  EXPECT_EQ(PendingTasks(stage), 0u) << "some have several attempts";
}

TEST(OperateTest, ALongListOfPoliciesIsCounted) {
  TopShown top;
  top.master.policies = "fair,late(cap=0.2)";
  EXPECT_THAT(RenderTop(top, OutputForm::kTable), HasSubstr("policies fair,late(cap=0.2)\n"));
  top.master.policies = "fair,late(cap=0.2,worth=on," + std::string(60, 'x') + "),fifo";
  EXPECT_THAT(RenderTop(top, OutputForm::kTable), HasSubstr("3 policies (mrctl version lists them)\n"));
}

TEST(OperateTest, TheNewestDecisionsOfAWorkerAreShown) {
  std::vector<std::string> why = {"w1 at 127.0.0.1:1 is live", "it registered at 2026-01-01 10:00:00"};
  for (int i = 0; i < 20; ++i) why.push_back("at 2026-01-01 10:00:" + std::to_string(10 + i) + ": launched");
  EXPECT_EQ(NewestOfWorker(why, "mrctl -v why w1"), why);
  for (int i = 20; i < 45; ++i) why.push_back("at 2026-01-01 10:00:" + std::to_string(10 + i) + ": launched");
  const auto shown = NewestOfWorker(why, "mrctl -v why w1");
  ASSERT_EQ(shown.size(), 23u);
  EXPECT_EQ(shown[1], why[1]);
  EXPECT_EQ(shown[2], "the newest 20 of 45 decisions; `mrctl -v why w1` prints all of them:");
  EXPECT_EQ(shown.back(), why.back());
}

TEST(OperateTest, CutsToTheTerminal) {
  EXPECT_EQ(CutTo("abc\ndef\nghi\n", 2, 2), "ab\nde\n");
  EXPECT_EQ(CutTo("a", 5, 5), "a\n");
  EXPECT_EQ(CutTo("grün\n", 1, 3), "grü\n") << "no part of a character";
}

TEST(OperateTest, ConfigShowsOriginsOnlyWhereAsked) {
  Settings settings;
  settings.shown = {{"master", "h:1", "mr.toml"}, {"queue", "", "default"}};
  EXPECT_THAT(RenderConfig(settings, false), Not(HasSubstr("mr.toml")));
  EXPECT_THAT(RenderConfig(settings, true), HasSubstr("master   h:1    mr.toml\n"));
  settings.form = OutputForm::kJson;
  settings.context = "lab";
  settings.context_origin = "MR_CONTEXT";
  EXPECT_THAT(RenderConfig(settings, false), HasSubstr(R"({"version":1,"context":{"id":"lab","origin":"MR_CONTEXT"})"));
}

TEST(OperateTest, EachCheckSaysWhatToDoNext) {
  const std::string text = RenderChecks(
      {{"tmp", Verdict::kWarn, "little room", "make room"}, {"shm", Verdict::kOk, "fine", ""}}, OutputForm::kTable);
  EXPECT_EQ(text, "warn  tmp         little room\n                  next: make room\nok    shm         fine\n");
}

TEST(OperateTest, UnreadableFilesAreToBeFoundOnAbsentWorkersOrGivenUp) {
  std::vector<WorkerStatus> workers(4);
  const char* const states[] = {"live", "lost", "stopped", "excluded"};
  for (size_t i = 0; i < workers.size(); ++i) {
    workers[i].id = "w" + std::to_string(i + 1);
    workers[i].state = states[i];
  }
  EXPECT_EQ(UnreadableNext(workers, true, "/a", "mrctl "),
            "start w2, w3 again with the same --data, where the blocks may be; mrctl worker include w4; or give such a "
            "file up: mrctl fs rm /a, and write it again");
  EXPECT_EQ(UnreadableNext(workers, false, "/a", "mrctl "), "give such a file up: mrctl fs rm /a, and write it again")
      << "each replica is there, and damaged";
  workers.resize(1);
  EXPECT_EQ(UnreadableNext(workers, true, "", "mrctl "),
            "if the --data of a worker that was removed is still there, start a worker with it; or give such a file "
            "up: mrctl fs rm PATH, and write it again");
}

TEST(OperateTest, AWorkerThatWasStoppedAfterItsDrainIsNoProblem) {
  std::vector<WorkerStatus> workers(2);
  workers[0].id = "w1";
  workers[0].state = "live";
  workers[1].id = "w2";
  workers[1].state = "stopped";
  const Check stopped = WorkersCheck(workers, "mrctl ", "m:7070");
  EXPECT_EQ(stopped.verdict, Verdict::kOk);
  EXPECT_EQ(stopped.text, "1 live, stopped after a drain: w2");
  EXPECT_EQ(stopped.next, "");
  workers[1].state = "lost";
  const Check lost = WorkersCheck(workers, "mrctl ", "m:7070");
  EXPECT_EQ(lost.verdict, Verdict::kWarn);
  EXPECT_EQ(lost.text, "1 live, lost or away: w2");
  workers[0].state = "stopped";
  EXPECT_EQ(WorkersCheck(workers, "mrctl ", "m:7070").verdict, Verdict::kFail) << "none is left";
}

TEST(OperateTest, ADrainedWorkerThatIsSafeToStopIsToBeStopped) {
  std::vector<WorkerStatus> workers(3);
  for (const size_t i : {0, 1, 2}) workers[i].id = "w" + std::to_string(i + 1);
  workers[0].state = "live";
  workers[1].state = workers[2].state = "draining";
  EXPECT_EQ(WorkersCheck(workers, "mrctl ", "m:7070").next.find("mrctl worker show w2 shows what it waits for"), 0u);
  workers[2].safe_to_stop = true;
  EXPECT_EQ(WorkersCheck(workers, "mrctl ", "m:7070").next.find("stop w3 on its host"), 0u);
}

TEST(DrainRateTest, ShowsTheTimeLeftAtTheRateOfTheLastHalfMinute) {
  DrainRate rate;
  const auto at = [](int64_t seconds) { return Instant{} + Seconds(seconds); };
  rate.Note(1000, at(0));
  EXPECT_FALSE(rate.Left().has_value()) << "one look shows no rate";
  rate.Note(900, at(10));
  EXPECT_DOUBLE_EQ(rate.PerSecond(), 10);
  EXPECT_EQ(rate.Left(), Seconds(90));
  rate.Note(500, at(20));
  EXPECT_DOUBLE_EQ(rate.PerSecond(), 25);
  rate.Note(500, at(49));
  rate.Note(500, at(60));
  EXPECT_FALSE(rate.Left().has_value()) << "nothing moved for more than half a minute";
}

TEST(DrainRateTest, BeginsAnewWhereMoreIsLeftThanBefore) {
  DrainRate rate;
  rate.Note(100, Instant{});
  rate.Note(10, Instant{} + Seconds(1));
  rate.Note(500, Instant{} + Seconds(2));
  EXPECT_FALSE(rate.Left().has_value());
  rate.Note(0, Instant{} + Seconds(3));
  EXPECT_FALSE(rate.Left().has_value()) << "nothing is left";
}

TEST(DrainRateTest, TheLineOfADrainEndsWithIt) {
  DrainStatus drain;
  drain.draining = true;
  drain.blocks = 7;
  drain.left_blocks = 3;
  drain.left_bytes = 3 << 20;
  drain.outputs = 2;
  drain.output_bytes = 1 << 20;
  DrainRate rate;
  rate.Note(8 << 20, Instant{});
  rate.Note(4 << 20, Instant{} + Seconds(2));
  EXPECT_EQ(DrainLine("w2", drain, rate),
            "w2: 3 of 7 blocks (3 MiB) left to copy, 2 outputs (1 MiB) left to copy, 2 MiB/s, about 2.0 s left");
  drain.blocks = drain.left_blocks = drain.outputs = drain.attempts = 1;
  EXPECT_EQ(DrainLine("w2", drain),
            "w2: 1 attempt runs, 1 of 1 block (3 MiB) left to copy, 1 output (1 MiB) left to copy");
}

}  // namespace
}  // namespace mr::ctl
