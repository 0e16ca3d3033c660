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

TEST(RenderTest, DrawsHowLongTasksTook) {
  EXPECT_EQ(Histogram({1, 1, 1, 1, 5, 10}, 5), "@ : :");
  EXPECT_EQ(Histogram({}, 5), "");
  EXPECT_EQ(Histogram({0, 0}, 3), "@  ");
}

TEST(RenderTest, SaysWhyNothingOfAJobRuns) {
  JobStatus job = Job();
  EXPECT_THAT(RenderJobs({job}, OutputForm::kTable), Not(HasSubstr("pending")));
  job.waits = {"stage 'count' is pending: all 8 slots for them are taken"};
  EXPECT_THAT(RenderJobs({job}, OutputForm::kTable), HasSubstr("\njob_3_0007: stage 'count' is pending: all 8 slots"));
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), HasSubstr("waits       stage 'count' is pending: all 8 slots"));
}

TEST(RenderTest, AJobThatRunsShowsThatItsQueueHoldsItBack) {
  JobStatus job = Job();
  const std::string why = "stage 'count' has more tasks that are pending: queue 'q' holds 2 slots, its max share is 2";
  job.waits = {why};
  EXPECT_THAT(RenderJobs({job}, OutputForm::kTable), HasSubstr("\njob_3_0007: " + why));
  EXPECT_THAT(ProgressLine(job, true), testing::AllOf(HasSubstr("; " + why), HasSubstr("running"))) << "both are shown";
}

TEST(RenderTest, ShowsTasksAsTableAndAsJson) {
  TaskStatus done, pending;
  done.id = "task_3_0007_0_m_000001";
  done.state = "committed";
  done.worker = "w1";
  done.replicas = {"w1", "w2"};
  done.attempts = 2;
  done.generation = 1;
  done.input_bytes = 640;
  done.output_bytes = 32;
  done.output_records = 4;
  pending.id = "task_3_0007_1_r_000000";
  pending.stage = 1;
  pending.state = "pending";
  pending.generation = 1;
  EXPECT_EQ(RenderTasks({done, pending}, OutputForm::kTable),
            "ID                      STATE      ATTEMPTS  GENERATION  WORKER  REPLICAS\n"
            "task_3_0007_0_m_000001  committed  2         1           w1      w1,w2\n"
            "task_3_0007_1_r_000000  pending    0         1           -       -\n");
  EXPECT_EQ(RenderTasks({done}, OutputForm::kJson),
            R"({"version":1,"tasks":[{"id":"task_3_0007_0_m_000001","stage":0,"state":"committed","attempts":2,)"
            R"("generation":1,"worker":"w1","copies":["w1","w2"],"input_bytes":640,"output_bytes":32,)"
            R"("output_records":4}]})"
            "\n");
  const std::string lines = RenderTasks({done, pending}, OutputForm::kNdjson);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_THAT(lines, HasSubstr(R"({"id":"task_3_0007_1_r_000000","stage":1,"state":"pending")"));
}

TEST(RenderTest, ShowsAttemptsAsTableAndAsJson) {
  AttemptStatus failed;
  failed.id = "attempt_3_0007_0_m_000001_1";
  failed.state = "failed";
  failed.cause = "first";
  failed.worker = "w1";
  failed.progress = 0.256;
  failed.ran_us = 1'500'000;
  failed.message = "the operator threw\nstd::bad_alloc";
  failed.reason = "a slot was free here";
  failed.failure = "user";
  failed.launched_us = 10;
  failed.started_us = 20;
  failed.ended_us = 1'500'010;
  EXPECT_EQ(RenderAttempts({failed}, OutputForm::kTable),
            "ID                           STATE   CAUSE  WORKER  PROGRESS  RAN    MESSAGE\n"
            "attempt_3_0007_0_m_000001_1  failed  first  w1      26%       1.5 s  the operator threw\n");
  EXPECT_EQ(RenderAttempts({failed}, OutputForm::kJson),
            R"({"version":1,"attempts":[{"id":"attempt_3_0007_0_m_000001_1","state":"failed","cause":"first",)"
            R"("worker":"w1","progress":0.256,"ran_us":1500000,"message":"the operator threw\nstd::bad_alloc",)"
            R"("reason":"a slot was free here","launched_us":10,"started_us":20,"inputs_us":null,"sort_us":null,)"
            R"("reduce_us":null,"ended_us":1500010,"won":false,"failure":"user"}]})"
            "\n");
}

TEST(RenderTest, ShowsAProfileByStages) {
  ProfileStatus profile;
  profile.id = "00000000000000ff";
  profile.name = "nightly";
  profile.last = {1, 7};
  profile.runs = 3;
  ProfileStage map, sum;
  map.name = "map";
  map.tasks = 4;
  map.inputs = {{"", 0}};
  map.run = {1, 2, 3, 4};
  map.wait = {0, 0, 1, 1};
  map.fails = .05;
  map.input_bytes = 64 << 20;
  sum.name = "sum";
  sum.tasks = 1;
  sum.inputs = {{"all_to_all", 0}};
  sum.run = {9};
  profile.stages = {map, sum};
  const std::string text = RenderProfiles({profile}, OutputForm::kTable);
  EXPECT_THAT(text, StartsWith("nightly, plan 00000000000000ff: 3 runs, the last job_1_0007 at "));
  EXPECT_THAT(text, HasSubstr("5.0%"));
  EXPECT_THAT(text, HasSubstr("64 MiB"));
  const std::string json = RenderProfiles({profile}, OutputForm::kJson);
  EXPECT_THAT(json, StartsWith(R"({"version":1,"profiles":[{"id":"00000000000000ff","name":"nightly","runs":3)"));
  EXPECT_THAT(json, HasSubstr(R"("run_s":[1.0,2.0,3.0,4.0])"));
  EXPECT_THAT(json, HasSubstr(R"("inputs":[{"edge":"all_to_all","from":"map"}])"));
}

TEST(RenderTest, SaysOfADeadlineWhatIsLeftAndWhatItRestsOn) {
  JobStatus job = Job();
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), Not(HasSubstr("deadline")));
  job.elapsed_us = 60'000'000;
  job.deadline = DeadlineStatus{.deadline_us = 600'000'000,
                                .steered = true,
                                .predicted = true,
                                .runs = 3,
                                .guaranteed = 4,
                                .held = 6,
                                .scale = 2};
  const std::string text = RenderJob(job, OutputForm::kTable);
  EXPECT_THAT(text, HasSubstr("deadline    10m00s after its submission, in 9m00s\n"));
  EXPECT_THAT(text, HasSubstr("predicted   of 3 earlier runs, with 2 times their input\n"));
  EXPECT_THAT(text, HasSubstr("guaranteed  4 slots, holds 6\n"));
  const std::string json = RenderJob(job, OutputForm::kJson);
  EXPECT_THAT(json, HasSubstr(R"("deadline":{"deadline_s":600.0,"steered":true,"best_effort":false,"predicted":true,)"
                              R"("earlier_runs":3,"input_scale":2.0,"guaranteed_slots":4,"held_slots":6,)"
                              R"("asked_slots":null,"ends_s":null,"ends_spread_s":null,)"
                              R"("promised_ends_s":null})"));
  job.state = JobState::kSucceeded;
  job.elapsed_us = 600'000'000;
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), HasSubstr("after its submission, met\n")) << "at the very end";
  job.elapsed_us = 700'000'000;
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), HasSubstr("after its submission, missed\n"));
  job.deadline->steered = false;
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), HasSubstr("steers by deadlines\n"));
}

TEST(RenderTest, PredictsTheEndOfAJobThatIsSteeredByItsDeadline) {
  setenv("TZ", "UTC", 1);
  JobStatus job = Job();
  job.submitted_unix_ms = 1'700'000'000'000;  // 22:13:20 UTC
  job.elapsed_us = 60'000'000;
  EXPECT_EQ(DeadlineLine(job), "");
  job.deadline = DeadlineStatus{.deadline_us = 3'600'000'000,
                                .steered = true,
                                .predicted = true,
                                .runs = 3,
                                .guaranteed = 6,
                                .held = 6,
                                .asked = 4,
                                .ends_us = 3'120'000'000,
                                .spread_us = 50'000'000};
  EXPECT_EQ(DeadlineLine(job), "ends 23:05 +- 1 min, deadline 23:13, 6 slots guaranteed, 4 would do");
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), HasSubstr("expected    ends 23:05 +- 1 min, deadline 23:13"));
  EXPECT_EQ(DeadlineLines({job}), "\n" + Name(job.id) + ": " + DeadlineLine(job) + "\n");
  job.deadline->held = 12;
  job.deadline->promised_ends_us = job.deadline->ends_us;
  job.deadline->ends_us = 1'560'000'000;
  EXPECT_EQ(DeadlineLine(job),
            "ends 22:39 +- 1 min with the 12 slots that it holds, deadline 23:13, 6 slots guaranteed "
            "(ends 23:05 with these alone), 4 would do");
  job.deadline->promised_ends_us = 0;
  job.deadline->spread_us = 0;
  job.deadline->ends_us = 7'200'000'000;
  job.deadline->asked = 9;
  EXPECT_EQ(DeadlineLine(job),
            "ends 2023-11-15 00:13, will probably miss its deadline 23:13, 6 slots guaranteed, 9 would do");
  job.deadline->asked = 6;
  EXPECT_THAT(DeadlineLine(job), Not(HasSubstr("would do"))) << "no number of slots is enough";
  job.deadline->guaranteed = 0;
  EXPECT_EQ(DeadlineLine(job), "ends 2023-11-15 00:13, will probably miss its deadline 23:13, no slots guaranteed");
  job.deadline->guaranteed = 6;
  job.elapsed_us = 3'660'000'000;
  EXPECT_EQ(DeadlineLine(job), "ends 2023-11-15 00:13, missed its deadline 23:13 by 1m00s so far, 6 slots guaranteed");
  job.state = JobState::kSucceeded;
  EXPECT_EQ(DeadlineLine(job), "");
  job.state = JobState::kRunning;
  job.deadline = DeadlineStatus{.deadline_us = 30'000'000, .steered = true, .predicted = true, .guaranteed = 1};
  job.elapsed_us = 2'000'000;
  EXPECT_EQ(DeadlineLine(job),
            "deadline 22:13:50, 1 slot guaranteed by a guess from its input: no earlier run is known");
  job.deadline->steered = false;
  EXPECT_EQ(DeadlineLine(job), "") << "nothing is done about it";
  job.elapsed_us = 31'000'000;
  EXPECT_EQ(DeadlineLine(job), "missed its deadline 22:13:50 by 1.0 s so far");
}

TEST(RenderTest, ExplainsTimesBySlotsWithABarEach) {
  Explained e;
  e.stages = {{"map", false, 8, 8, 6, 3, 64 << 20}, {"sum", true, 2, 0, 0, 0, 64 << 20}};
  e.slots = 4;
  e.basis = "3 earlier runs; confidence good";
  e.runs = 3;
  e.times = {{1, 8'000'000, 9'000'000, false}, {4, 2'000'000, 3'000'000, true}, {5, 2'000'000, 3'000'000, true}};
  e.has_admission = e.admitted = e.steered = true;
  e.needs_slots = e.available_slots = 4;
  e.earliest_us = 3'600'000;
  e.account = "can be promised: it needs 4 slots";
  const std::string text = ExplainText(e, 5'000'000);
  EXPECT_THAT(text, HasSubstr("map    map     8      64 MiB     8       6               3\n"));
  EXPECT_THAT(text, HasSubstr("sum    reduce  2      <= 64 MiB  -       -               -\n"));
  EXPECT_THAT(text, HasSubstr("1      8.0 s   9.0 s     ========================================\n"));
  EXPECT_THAT(text, HasSubstr("4      2.0 s   3.0 s     ========== can be promised\n"));
  EXPECT_THAT(text, HasSubstr("5      2.0 s   3.0 s     ========== can be promised, if it had them\n"));
  EXPECT_THAT(text, HasSubstr("deadline 5.0 s can be promised: it needs 4 slots\n"));
  e.runs = 0;
  EXPECT_THAT(ExplainText(e, 5'000'000), HasSubstr("4      2.0 s    ==========\n")) << "a guess promises nothing";
  EXPECT_THAT(ExplainText(e, 5'000'000), Not(HasSubstr("19 OF 20")));
  e.times.clear();
  e.basis = "too large";
  EXPECT_THAT(ExplainText(e, 0), HasSubstr("time: no prediction: too large\n"));
}

TEST(RenderTest, KeepsJsonWholeWhateverBytesAnOperatorWrote) {
  JobStatus job = Job();
  job.error = "bad \xff\xfe byte\n";
  EXPECT_THAT(RenderJob(job, OutputForm::kJson), HasSubstr("\xef\xbf\xbd"));
}

TEST(RenderTest, ShowsSpeculativeAttemptsWhereThereWereAny) {
  JobStatus job = Job();
  job.causes = {{"first", 40, 38, 2'500'000}, {"speculative", 3, 2, 1'500'000}, {"restart", 0, 0, 0}};
  const std::string text = RenderJob(job, OutputForm::kTable);
  EXPECT_THAT(text, HasSubstr("3 speculative attempts launched, 2 won, 1.5 s of their slot time wasted\n"));
  EXPECT_THAT(text, HasSubstr("2.5 s of slot time wasted by first attempts and retries that were ended or failed\n"));
  EXPECT_THAT(text, HasSubstr("4.0 s of slot time, by attempts that did not commit\n"));
  EXPECT_THAT(text, Not(HasSubstr("restart")));
  EXPECT_THAT(RenderJob(job, OutputForm::kJson),
              HasSubstr(R"("speculative":{"launched":3,"won":2,"wasted_slot_s":1.5})"));
  job.causes = {{"opportunistic", 2, 1, 500'000}};
  EXPECT_THAT(RenderJob(job, OutputForm::kTable),
              HasSubstr("2 clones on idle slots launched, 1 won, 500 ms of their slot time"));
  job.causes.clear();
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), Not(HasSubstr("slot time")));
}

TEST(RenderTest, ShowsClonesTheirReadsAndWarnings) {
  JobStatus job = Job();
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), Not(HasSubstr("clones")));
  EXPECT_THAT(RenderJob(job, OutputForm::kJson), Not(HasSubstr("clones")));
  job.clones = CloneStatus{.launched = 4,
                           .won = 1,
                           .killed = 2,
                           .extra_us = 2'500'000,
                           .exclusive = 6,
                           .contended = 2,
                           .rebound = 1,
                           .omega_us = 2'000'000,
                           .omega_known = true,
                           .budget_used = 3,
                           .budget = 40};
  job.warnings = {"stage 'map' is not deterministic"};
  std::string text = RenderJob(job, OutputForm::kTable);
  EXPECT_THAT(text, HasSubstr("4 launched, 1 won, 2 killed; 2.5 s of slot time beside the attempts that committed; "
                              "3 of 40 slots for clones in use now\n"));
  EXPECT_THAT(text, HasSubstr("6 from an exclusive replica, 2 from a shared one, 1 moved to another replica; "
                              "readers wait up to 2.0 s"));
  EXPECT_THAT(text, HasSubstr("warning     stage 'map' is not deterministic\n"));
  std::string json = RenderJob(job, OutputForm::kJson);
  EXPECT_THAT(json, HasSubstr(R"("reads":{"exclusive":6,"contended":2,"rebound":1})"));
  EXPECT_THAT(json, HasSubstr(R"("omega_s":2.0)"));
  EXPECT_THAT(json, HasSubstr(R"("warnings":["stage 'map' is not deterministic"])"));
  job.clones->omega_us = UINT64_MAX;
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), HasSubstr("readers wait without limit"));
  EXPECT_THAT(RenderJob(job, OutputForm::kJson), HasSubstr(R"("omega_s":"inf")"));
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), Not(HasSubstr("on idle slots")));
  job.clones->lent_launched = 7;
  job.clones->lent_won = 2;
  job.clones->lent_killed = 3;
  job.clones->lent_extra_us = 1'500'000;
  EXPECT_THAT(
      RenderJob(job, OutputForm::kTable),
      HasSubstr("7 clones on idle slots launched, 2 won, 3 killed; 1.5 s of slot time beside the attempts that"));
  job.clones->lent_launched = 1;
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), HasSubstr("1 clone on an idle slot launched, 2 won, "));
  job.clones->lent_launched = 7;
  EXPECT_THAT(RenderJob(job, OutputForm::kJson),
              HasSubstr(R"("opportunistic":{"launched":7,"won":2,"killed":3,"extra_slot_s":1.5})"));
  job.clones->omega_known = false;
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), HasSubstr("not chosen yet"));
  EXPECT_THAT(RenderJob(job, OutputForm::kJson), Not(HasSubstr("omega_s")));
}

TEST(RenderTest, NamesHotKeys) {
  JobStatus job = Job();
  EXPECT_THAT(RenderJob(job, OutputForm::kJson), HasSubstr(R"("skew":[])"));
  EXPECT_EQ(SkewHint(job, "mrctl "), "");
  SkewStatus skew;
  skew.key = "GB";
  skew.records = 41;
  skew.bytes = 410;
  skew.stage_records = 100;
  skew.stage_bytes = 1000;
  skew.partition = 3;
  skew.text = "key 'GB' has about 41 % of the 100 records";
  job.skew = {skew};
  EXPECT_THAT(RenderJob(job, OutputForm::kTable),
              HasSubstr("skew        key 'GB' has about 41 % of the 100 records\n"));
  EXPECT_THAT(
      RenderJob(job, OutputForm::kJson),
      HasSubstr(R"("skew":[{"stage":"count","key":"GB","key_cut":false,"records":41,"bytes":410,"stage_records":100,)"
                R"("stage_bytes":1000,"partition":3,"partition_bytes":null,"median_bytes":null,"text":"key 'GB')"));
  job.skew[0].partitions_known = true;
  job.skew[0].partition_bytes = 500;
  job.skew[0].median_bytes = 50;
  EXPECT_THAT(RenderJob(job, OutputForm::kJson), HasSubstr(R"("partition_bytes":500,"median_bytes":50,)"));
  job.state = JobState::kSucceeded;
  EXPECT_EQ(SkewHint(job, ""), "mrctl: skew: key 'GB' has about 41 % of the 100 records\n");
  job.skew.push_back(job.skew[0]);
  job.skew[1].bytes = 900;
  job.skew[1].text = "key 'US' is worse";
  EXPECT_EQ(SkewHint(job, ""), "mrctl: skew: key 'US' is worse\n");
  EXPECT_THAT(SkewHint(job, "mrctl "), testing::EndsWith("; `mrctl job show " + Name(job.id) + "` names 1 more\n"));
  job.state = JobState::kFailed;
  EXPECT_EQ(SkewHint(job, "mrctl "), "") << "its failure says it, where it is the reason";
}

TEST(RenderTest, AlignsColumnsAndLeavesNoSpaceBehind) {
  Table table({"A", "B"});
  table.Add({"long one", "x"});
  EXPECT_EQ(table.Text(), "A         B\nlong one  x\n");
}

TEST(RenderTest, ShowsQueuesAsATableAndAsJson) {
  const std::vector<QueueStatus> queues = {{"default", 1, 0, 0, 2, 5, true}, {"night", 2.5, 1, 7, 0, 0, false}};
  EXPECT_EQ(RenderQueues(queues, OutputForm::kTable),
            "ID       WEIGHT  MIN  MAX  SLOTS  JOBS  WAITS\n"
            "default  1       0    -    5      2     yes\n"
            "night    2.5     1    7    0      0     no\n");
  EXPECT_THAT(
      RenderQueues(queues, OutputForm::kJson),
      HasSubstr(R"({"id":"night","weight":2.5,"min_share":1,"max_share":7,"jobs":0,"held_slots":0,"waits":false})"));
}

TEST(RenderTest, ShowsOfAFileHowManyReplicasItHasOfThoseWanted) {
  FileRow row;
  row.path = "/a";
  row.blocks = 2;
  row.replication = 3;
  row.least_replicas = 1;
  EXPECT_THAT(RenderFiles({row}, OutputForm::kTable), HasSubstr(" 1/3 "));
  EXPECT_THAT(RenderFiles({row}, OutputForm::kJson), HasSubstr(R"("replication":3,"least_replicas":1)"));
}

TEST(RenderTest, AFileShowsItsOwnerAndWhoReadsItWhereItHasOne) {
  FileRow row;
  row.path = "/a";
  EXPECT_THAT(RenderFiles({row}, OutputForm::kTable), HasSubstr(" -      -     "));
  EXPECT_THAT(RenderFiles({row}, OutputForm::kJson), Not(HasSubstr("owner")));
  row.owner = "anna";
  EXPECT_THAT(RenderFiles({row}, OutputForm::kTable), HasSubstr(" anna   owner "));
  EXPECT_THAT(RenderFiles({row}, OutputForm::kJson), HasSubstr(R"("owner":"anna","read":"owner")"));
  row.read_by_all = true;
  EXPECT_THAT(RenderFiles({row}, OutputForm::kTable), HasSubstr(" anna   all   "));
  EXPECT_THAT(RenderFiles({row}, OutputForm::kJson), HasSubstr(R"("owner":"anna","read":"all")"));
}

TEST(RenderTest, ADirectoryHasSizesOnlyWhereTheyAreSums) {
  FileRow row;
  row.path = "/d";
  row.directory = true;
  EXPECT_THAT(RenderFiles({row}, OutputForm::kTable), HasSubstr("dir   -      -       -"));
  row.summed = true;
  row.bytes = 1536;
  row.blocks = 2;
  EXPECT_THAT(RenderFiles({row}, OutputForm::kTable), HasSubstr("dir   1536   2       -"));
  FileRow small;
  small.path = "/d/a";
  small.bytes = 7;
  EXPECT_EQ(RenderUse({small, row}, false), "   7  /d/a\n1536  /d\n");
  EXPECT_EQ(RenderUse({small, row}, true), "    7 B  /d/a\n1.5 KiB  /d\n");
}

TEST(RenderTest, WorkersThatAreFullDrainingOrGoneTakeNoBlocks) {
  std::vector<WorkerStatus> workers(4);
  workers[0].state = "live";
  workers[1].state = "full";
  workers[2].state = "draining";
  workers[3].state = "lost";
  EXPECT_EQ(TakingBlocks(workers), 1u);
}

TEST(RenderTest, ShowsTheLastFailureOfAJobThatRuns) {
  JobStatus job = Job();
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), Not(HasSubstr("failure")));
  job.last_failure = "attempt_x failed on w1: no space left";
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), HasSubstr("failure     attempt_x failed on w1: no space left\n"));
  EXPECT_THAT(RenderJob(job, OutputForm::kJson),
              HasSubstr(R"("last_failure":"attempt_x failed on w1: no space left")"));
}

TEST(FailureTest, KeepsHintAndMessageApart) {
  const Failure failure = ToFailure(WithHint(Rejected("output exists"), "say --overwrite"));
  EXPECT_EQ(failure.exit, kExitRejected);
  EXPECT_EQ(failure.message, "output exists");
  EXPECT_EQ(failure.hint, "say --overwrite");
  EXPECT_EQ(
      FailureJson(failure),
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

// The output of a follower that gets these statuses, one per second.
std::string Followed(ProgressOptions options, const std::vector<JobStatus>& statuses) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  Progress progress(options, out);
  Instant now{1};
  for (const JobStatus& status : statuses) {
    progress.Show(status, now);
    now = now + Seconds(1);
  }
  std::fclose(out);
  std::string said(text, size);
  free(text);
  return said;
}

TEST(RenderTest, DrawsGuaranteedSlotsAndTheExpectedEnd) {
  JobStatus job = Job();
  EXPECT_THAT(RenderJob(job, OutputForm::kTable), Not(HasSubstr("guaranteed"))) << "nobody steers it";
  job.state = JobState::kSucceeded;
  job.elapsed_us = 55'000'000;
  job.steering = SteeringStatus{{{0, 0, 8, 8, 50, 60}, {20, .5, 4, 2, 30, 60}, {40, .9, 2, 1, 12, 60}}, 200};
  const std::string text = RenderJob(job, OutputForm::kTable);
  EXPECT_THAT(text,
              HasSubstr("guaranteed slots, from 0.0 s to 40.0 s after the submit (most 8, now 0, 200 s of slot time)"));
  EXPECT_THAT(text, HasSubstr("ended 5.0 s before its deadline\n"));
  // The top row of six is full for the 30 columns in which all eight slots are guaranteed, and empty behind.
  std::string top;
  for (int i = 0; i < 30; ++i) top += "█";
  EXPECT_THAT(text, HasSubstr("     8 " + top + " "));
  EXPECT_THAT(text, HasSubstr("    60 ---")) << "the deadline above the expected end";
  for (SteeringPoint& point : job.steering->points) point.slots = 1;
  const std::string constant = RenderJob(job, OutputForm::kTable);
  EXPECT_EQ(constant.find("█"), constant.find("     1 ") + 7);
  EXPECT_EQ(constant.find('\n', constant.find("█")) + 1, constant.find("expected end")) << "one row is enough";
  EXPECT_THAT(RenderJob(job, OutputForm::kJson),
              HasSubstr(R"("steering":{"held_slot_s":200.0,"points":[{"at_s":0.0,)"));
}

TEST(ProgressTest, SaysTheFirstFailureAtOnceAndLaterOnesNowAndThen) {
  std::vector<JobStatus> statuses(14, Job());
  for (size_t i = 1; i < statuses.size(); ++i) statuses[i].last_failure = "failure " + std::to_string(i);
  const std::string lines = Followed({}, statuses);
  EXPECT_THAT(lines, HasSubstr("job_3_0007 last failure: failure 1\n"));
  EXPECT_THAT(lines, Not(HasSubstr("failure 2")));
  EXPECT_THAT(lines, HasSubstr("failure 11\n"));
  EXPECT_THAT(lines, Not(HasSubstr("failure 12")));
}

// Lines that the statuses give off a terminal, one per second, as one text.
std::vector<JobStatus> SecondsOf(size_t n, const JobStatus& status) { return std::vector<JobStatus>(n, status); }

TEST(ProgressTest, OffATerminalThereIsOneLineInTenSeconds) {
  std::vector<JobStatus> statuses = SecondsOf(25, Job());
  for (size_t i = 0; i < statuses.size(); ++i) statuses[i].stages[0].done = static_cast<uint32_t>(i);
  const std::string lines = Followed({}, statuses);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3) << lines;
  EXPECT_THAT(lines, StartsWith("job_3_0007 RUNNING: count 0/40, 3 running\n"));
  EXPECT_THAT(lines, HasSubstr("\njob_3_0007 RUNNING: count 20/40, 3 running, ETA 2.0 s\n"));
}

TEST(ProgressTest, OffATerminalAJobThatIsAboutToRunAndOneThatEndedHaveNoLine) {
  JobStatus pending = Job(), ended = Job();
  pending.state = JobState::kPending;
  ended.state = JobState::kSucceeded;
  EXPECT_EQ(Followed({}, {pending, ended}), "");
  EXPECT_THAT(Followed({}, {pending, Job(), ended}), StartsWith("job_3_0007 RUNNING: "));
  EXPECT_THAT(Followed({}, SecondsOf(11, pending)), StartsWith("job_3_0007 PENDING")) << "it still waits after 10 s";
  pending.waits = {"all 8 slots are taken"};
  EXPECT_THAT(Followed({}, {pending}), StartsWith("job_3_0007 PENDING: all 8 slots are taken\n")) << "at once";
}

JobStatus JobWithStages(const std::vector<std::string>& names) {
  JobStatus job = Job();
  const StageStatus stage = job.stages[0];
  job.stages.clear();
  for (const std::string& name : names) {
    job.stages.push_back(stage);
    job.stages.back().name = name;
  }
  return job;
}

std::vector<std::string> ShownNames(const std::vector<std::string>& names, bool all = false) {
  std::vector<std::string> shown;
  for (const StageStatus& stage : ShownStages(JobWithStages(names).stages, all)) shown.push_back(stage.name);
  return shown;
}

TEST(ProgressTest, HidesStagesThatTheEngineAdds) {
  using ::testing::ElementsAre;
  EXPECT_THAT(ShownNames({"sample", "splitters", "partition", "sort"}), ElementsAre("partition", "sort"));
  EXPECT_THAT(ShownNames({"sample", "splitters", "partition", "sort"}, true), testing::SizeIs(4));
  EXPECT_THAT(ShownNames({"left_header", "right_header", "columns", "left", "right", "join"}),
              ElementsAre("left", "right", "join"));
  EXPECT_THAT(ShownNames({"csv_quotes", "a.header", "a.columns", "a.rows", "b.sample", "b.sum"}),
              ElementsAre("a.rows", "b.sample", "b.sum"))
      << "a sample of a user is no internal stage";
  EXPECT_THAT(ShownNames({"edges", "round1", "totals1", "write"}), ElementsAre("edges", "round1", "write"));
  EXPECT_THAT(ShownNames({"header", "totals"}), ElementsAre("header", "totals"));
  const JobStatus sort = JobWithStages({"sample", "splitters", "partition", "sort"});
  EXPECT_THAT(Followed({.terminal = true}, {sort, sort}), HasSubstr("\x1b[2A"));
  EXPECT_THAT(Followed({.terminal = true, .all_stages = true}, {sort, sort}), HasSubstr("\x1b[4A"));
}

TEST(ProgressTest, NamesAreNeverCutWithinACharacter) {
  StageStatus stage = Job().stages[0];
  stage.name = "zählen_zählen_zählen";
  EXPECT_THAT(StageLine(stage, 60), StartsWith("zählen_zählen_z~ 10/40"));
  stage.name = "数える数える数える";
  EXPECT_THAT(StageLine(stage, 60), StartsWith("数える数える数~  10/40"));
  JobStatus failing = Job();
  failing.last_failure = "aaaaaaé";
  EXPECT_THAT(Followed({.terminal = true, .width = 21}, {failing}), HasSubstr("\rlast failure: aaaaaa\x1b[K"));
}

TEST(ProgressTest, OnATerminalTheLastFailureHasALineOfItsOwn) {
  JobStatus failing = Job();
  failing.last_failure = std::string(200, 'x');
  const std::string drawn = Followed({.terminal = true, .width = 40}, {Job(), failing, failing, Job()});
  EXPECT_THAT(drawn, HasSubstr("\x1b[2A"));
  EXPECT_THAT(drawn, HasSubstr("\rlast failure: " + std::string(25, 'x') + "\x1b[K\n")) << "cut to the width";
}

TEST(ProgressTest, SaysOfAStageWhatIsDoneAndWhatIsLeft) {
  EXPECT_EQ(StageLine(Job().stages[0], 60), "count            10/40  3 running  ETA 6.0 s");
  StageStatus taken = Job().stages[0];  // all its input, and it goes on
  taken.input_bytes = taken.taken_bytes = 1000;
  EXPECT_THAT(StageLine(taken, 80), Not(HasSubstr("ETA")));
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
