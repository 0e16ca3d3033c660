// The reader of the Big Data Benchmark on Spark: two small runs, the errors, and the totals of the real file if
// present.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "master/sim/engine/simulation.h"
#include "tests/master/sim/trace_checks.h"

namespace mr::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kBdbStages[] =
    "#run\tstage_id\tparent_stages\ttask_count\tsubmitted\tcompleted\n"
    "q\t4\t6,5\t2\td\td\nq\t5\t-\t2\td\td\nq\t6\t-\t1\td\td\ns\t2\t-\t1\td\td\n";
// Times are in ms. Columns that the reader does not use are "-".
std::string BdbRow(const char* run, int stage, int tid, const char* status, const char* start, const char* finish,
                   const char* written = "-", const char* input = "-", const char* type = "SHUFFLE_MAP_TASK") {
  std::string row = std::string(run) + "\t" + std::to_string(stage) + "\t" + std::to_string(tid) + "\t" + type + "\t" +
                    status + "\t0\thost\t" + start + "\t" + finish + "\t1\t" + written;
  for (int i = 11; i < 19; ++i) row += "\t-";
  return row + "\t" + input + "\t-\t-\t-\t-\n";
}
// Run q takes 6.5 s: scans of 2 tasks and of 1, which a join of 2 reads. Run s has a scan.
std::string BdbTasks() {
  return BdbRow("q", 5, 8, "SUCCESS", "1000", "3500", "300", "70") +
         BdbRow("q", 5, 7, "SUCCESS", "1000", "2000", "200", "50") +
         BdbRow("q", 6, 9, "SUCCESS", "1500", "3000", "40") +
         BdbRow("q", 4, 11, "SUCCESS", "3600", "7500", "-", "-", "RESULT_TASK") +
         BdbRow("q", 4, 10, "SUCCESS", "3500", "7000", "-", "-", "RESULT_TASK");
}
std::string BdbScan() { return BdbRow("s", 2, 1, "SUCCESS", "500", "750", "-", "9", "RESULT_TASK"); }

TEST(BdbTraceTest, ARunIsAJobAndItsSlotTimesAreTheDurations) {
  const auto t = ParseBdb({"t", BdbScan() + BdbTasks()}, {"s", kBdbStages});
  ASSERT_TRUE(t.ok()) << t.status().message();
  ASSERT_EQ(t->jobs.size(), 2u);
  EXPECT_EQ(t->jobs[0].name, "q");
  EXPECT_EQ(t->jobs[0].submit, 0);
  const auto& stages = t->jobs[0].stages;
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages[0].name, "stage5");
  EXPECT_EQ(stages[0].kind, sched::SlotKind::kMap);
  EXPECT_THAT(stages[0].durations, ElementsAre(1.0f, 2.5f)) << "in the order of launch";
  EXPECT_THAT(stages[0].task_bytes, ElementsAre(50, 70));
  EXPECT_EQ(stages[0].bytes, 120u);
  EXPECT_EQ(stages[0].output_bytes, 500u);
  EXPECT_EQ(stages[1].name, "stage6");
  EXPECT_TRUE(stages[1].task_bytes.empty()) << "not recorded";
  EXPECT_EQ(stages[1].output_bytes, 40u);
  EXPECT_EQ(stages[2].name, "stage4");
  EXPECT_EQ(stages[2].kind, sched::SlotKind::kReduce);
  EXPECT_EQ(stages[2].tasks, 2u);
  EXPECT_THAT(stages[2].durations, ElementsAre(3.5f, 3.9f));
  ASSERT_EQ(stages[2].inputs.size(), 2u);
  EXPECT_EQ(stages[2].inputs[0].upstream, 1u);
  EXPECT_EQ(stages[2].inputs[1].upstream, 0u);
  EXPECT_EQ(stages[2].inputs[0].edge, sched::EdgeKind::kAllToAll);
  EXPECT_EQ(stages[2].bytes, 540u) << "all that both scans wrote";
  EXPECT_EQ(stages[2].output_bytes, 0u);
  EXPECT_EQ(t->jobs[1].name, "s");
  EXPECT_DOUBLE_EQ(t->jobs[1].submit, 6.5) << "when run q has ended";
  EXPECT_THAT(t->jobs[1].stages[0].task_bytes, ElementsAre(9));
  EXPECT_THAT(t->notes, ElementsAre(HasSubstr("the recorded gaps are left out")));
}

TEST(BdbTraceTest, FailedAttemptsAreCountedAndNotReplayed) {
  // Task 3 succeeded, lost its output, and ran again as task 8.
  const auto t = ParseBdb(
      {"t", BdbRow("q", 5, 3, "SUCCESS", "1000", "9000", "999") + BdbRow("q", 5, 3, "RESUBMITTED", "-", "-") +
                BdbRow("q", 5, 2, "FAILURE", "-", "-") + BdbRow("q", 4, 6, "FETCHFAILED", "-", "-") + BdbTasks()},
      {"s", kBdbStages});
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_THAT(t->jobs[0].stages[0].durations, ElementsAre(1.0f, 2.5f));
  EXPECT_EQ(t->jobs[0].stages[0].output_bytes, 500u);
  EXPECT_THAT(t->notes, ElementsAre("3 failed attempts are not replayed", "1 runs without a success are left out",
                                    HasSubstr("the recorded gaps")));
}

TEST(BdbTraceTest, BadRowsAreNamed) {
  const TraceText stages{"S", kBdbStages};
  const auto refused = [&](const std::string& row, const char* part) {
    ExpectRefused(ParseBdb({"T", BdbTasks() + row}, stages), part);
  };
  const std::string whole = BdbScan();
  refused(whole.substr(0, whole.size() - 3), "T:6: not a task of the Big Data Benchmark: 24 columns");
  refused(whole.substr(0, 20), "T:6: not a task");
  refused("s\tx" + whole.substr(3), "T:6: not a task");
  refused("s\t2\t-1" + whole.substr(5), "T:6: not a task");
  refused(BdbRow("q", 7, 1, "SUCCESS", "5", "6"), "T:6: stage 7 of run q is not in S");
  refused(BdbRow("r", 4, 1, "SUCCESS", "5", "6"), "T:6: stage 4 of run r is not in S");
  refused(BdbRow("s", 2, 1, "MAYBE", "5", "6"), "T:6: 'MAYBE' is no status");
  refused(BdbRow("s", 2, 1, "SUCCESS", "5", "6", "-", "-", "MAP"), "T:6: 'MAP' is no type of task");
  refused(BdbRow("s", 2, 1, "SUCCESS", "6", "5"), "T:6: task 1 starts at 6 ms and ends at 5 ms");
  refused(BdbRow("s", 2, 1, "SUCCESS", "-", "-"), "T:6: task 1 starts at - ms");
  refused(BdbRow("s", 2, 1, "SUCCESS", "0", "5"), "T:6: task 1 starts at 0 ms");
  refused(BdbRow("s", 2, 1, "SUCCESS", "5", "1000000000000001"), "ends at 1000000000000001 ms");
  refused(BdbRow("s", 2, 1, "SUCCESS", "5", "6", "1.5"), "of task 1 is no number of bytes");
  refused(BdbRow("s", 2, 1, "SUCCESS", "5", "6", "-", "x"), "of task 1 is no number of bytes");
  refused(BdbRow("q", 5, 7, "SUCCESS", "5", "6"), "T:6: task 7 is there twice");
  ExpectRefused(ParseBdb({"T", ""}, stages), "T: no job in it");
}

TEST(BdbTraceTest, AStageHasAsManySuccessesAsTasks) {
  const TraceText stages{"S", kBdbStages};
  const std::string tasks = BdbTasks();
  ExpectRefused(ParseBdb({"T", tasks.substr(tasks.find('\n') + 1)}, stages),
                "T: run q: 1 tasks of stage 5 succeeded, and S says 2");
  ExpectRefused(ParseBdb({"T", tasks + BdbRow("q", 6, 12, "SUCCESS", "5", "6")}, stages),
                "T: run q: 2 tasks of stage 6 succeeded, and S says 1");
  ExpectRefused(ParseBdb({"T", BdbRow("q", 6, 9, "SUCCESS", "5", "6")}, stages),
                "T: run q: 0 tasks of stage 4 succeeded, and S says 2");
}

TEST(BdbTraceTest, BadStagesAreNamed) {
  const auto refused = [](const std::string& stages, const char* part) {
    ExpectRefused(ParseBdb({"T", BdbScan()}, {"S", stages}), part);
  };
  for (const char* row : {"s\t2\t-\t1\td\n", "s\tx\t-\t1\td\td\n", "s\t2\t-\t0\td\td\n", "s\t2\t-\t2000000\td\td\n",
                          "s\t2\t\t1\td\td\n", "s\t2\t3,\t1\td\td\n", "s\t2\tx\t1\td\td\n"}) {
    refused(row, "S:1: not a stage of the Big Data Benchmark");
  }
  refused("s\t2\t-\t1\td\td\ns\t2\t-\t1\td\td\n", "S:2: run s has two stages of number 2");
  refused("s\t2\t3\t1\td\td\n", "S: run s: stage2 reads stage 3, which is not there");
  refused("s\t2\t2\t1\td\td\n", "S: run s: its stages wait for each other in a circle");
}

TEST(BdbTraceTest, TheTableOfStagesStandsBesideTheTasks) {
  const std::string folder = testing::TempDir() + "bdb_trace", path = folder + "/mine.tsv";
  std::filesystem::create_directories(folder);
  std::ofstream(path) << "#run\tstage_id\ttid\n" << BdbScan();
  const auto alone = LoadTrace({path, "", "", 1});
  EXPECT_EQ(alone.status().code(), Code::kNotFound);
  EXPECT_THAT(alone.status().message(), HasSubstr(path + " needs " + folder + "/bdb_stages.tsv"));
  std::ofstream(folder + "/bdb_stages.tsv") << kBdbStages;
  EXPECT_TRUE(LoadTrace({path, "", "", 1}).ok());
  std::ofstream(path) << BdbScan();
  EXPECT_TRUE(LoadTrace({path, "", "bdb", 1}).ok()) << "without the header";
  std::filesystem::remove_all(folder);
}

TEST(BdbTraceTest, TotalsOfTheRealFile) {
  NEEDS_DATA();
  const auto t = Real("bdb_tasks.tsv");  // found as .gz
  ASSERT_TRUE(t.ok()) << t.status().message();
  std::vector<std::string> runs;
  std::vector<std::vector<uint32_t>> tasks;
  for (const JobModel& job : t->jobs) {
    runs.push_back(job.name);
    tasks.emplace_back();
    for (const StageModel& s : job.stages) tasks.back().push_back(s.tasks);
  }
  EXPECT_THAT(runs, ElementsAre("1a_disk", "1b_disk", "1a_mem", "1b_mem", "2a", "2b", "3a", "3b"));
  const std::vector<uint32_t> scan = {100}, aggregation = {2037, 160}, join = {2037, 100, 160, 160, 1, 1};
  EXPECT_THAT(tasks, ElementsAre(scan, scan, scan, scan, aggregation, aggregation, join, join));
  EXPECT_EQ(Tasks(*t, sched::SlotKind::kMap) + Tasks(*t, sched::SlotKind::kReduce), 9712u);
  EXPECT_NEAR(Seconds(*t), 11867.88, .1);
  const auto& three = t->jobs[6].stages;
  ASSERT_EQ(three[2].inputs.size(), 2u);
  EXPECT_EQ(three[2].bytes, 5180907673u + 355543262u);
  EXPECT_EQ(t->jobs[0].stages[0].bytes, 5575480963u);
}

// The benchmark ran on 5 workers of 8 cores. Spark starts no reader early and launches tasks in the order of tids, so
// the recorded times of tasks give the recorded time of the run.
TEST(BdbTraceTest, ReplayOnTheRecordedSlotsTakesTheRecordedTime) {
  NEEDS_DATA();
  const auto t = Real("bdb_tasks.tsv");
  ASSERT_TRUE(t.ok()) << t.status().message();
  for (size_t j = 0; j + 1 < t->jobs.size(); ++j) {
    Experiment s;
    s.cluster = *ParseCluster("5x8");
    s.tasks = Exact();
    s.jobs = {t->jobs[j]};
    s.jobs[0].submit = 0;
    Simulation run(std::move(s));
    ASSERT_EQ(run.Run(nullptr), "");
    const double recorded = t->jobs[j + 1].submit - t->jobs[j].submit;
    // Tasks whose input is in memory waited for its worker while other slots were idle.
    EXPECT_NEAR(run.jobs()[0].ended, recorded, std::max(.15, .03 * recorded)) << t->jobs[j].name;
  }
}

}  // namespace
}  // namespace mr::sim
