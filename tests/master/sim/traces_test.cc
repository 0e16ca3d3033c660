// Readers of recorded workloads: a small piece of each format, the errors, and the totals of the real files if present.
#include "master/sim/traces/trace.h"

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

TEST(SwimTraceTest, SamePathSameBlocks) {
  const auto t =
      ParseSwim({"f",
                 "job0\t1\t1\t9\t0\t9\tpath1\t\t\njob1\t2\t1\t9\t0\t9\tpath2\t\t\njob2\t3\t1\t9\t0\t9\tpath1\t\t\n"
                 "job3\t4\t1\t9\t0\t9\n"});
  ASSERT_TRUE(t.ok()) << t.status().message();
  const auto key = [&](size_t j) { return t->jobs[j].stages[0].input_key; };
  EXPECT_EQ(t->jobs[0].submit, 0);
  EXPECT_EQ(key(0), key(2));
  EXPECT_NE(key(0), key(1));
  EXPECT_NE(key(0), 0u);
  EXPECT_EQ(key(3), 0u);
}

TEST(SwimTraceTest, AJobOfMoreTasksThanOneCanHaveIsRefused) {
  ExpectRefused(
      ParseSwim({"f", "job0\t1\t1\t9\t0\t9\njob1\t2\t1\t9000000000000000000\t0\t9\n"}),
      "f:2: a job of 67055225373 maps (of 128 MiB) and 0 reduces (of 1 GiB); a stage has at most 1000000 tasks");
  ExpectRefused(ParseSwim({"f", "job0\t1\t1\t9\t9000000000000000000\t9\n"}), "8381903172 reduces");
}

TEST(SwimTraceTest, TotalsOfTheRealFiles) {
  NEEDS_DATA();
  const auto plain = Real("FB-2010_samples_24_times_1hr_0.tsv");  // found as .gz
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_EQ(plain->jobs.size(), 24442u);
  const auto paths = Real("FB-2010_samples_24_times_1hr_withInputPaths_0.first12h.tsv.gz");
  ASSERT_TRUE(paths.ok()) << paths.status().message();
  EXPECT_EQ(paths->jobs.size(), 13483u);
  EXPECT_TRUE(
      std::all_of(paths->jobs.begin(), paths->jobs.end(), [](const auto& j) { return j.stages[0].input_key != 0; }));
}

constexpr char kRumenJobs[] =
    "#job_id\tuser\tpriority\toutcome\tsubmit_ms\tlaunch_ms\tfinish_ms\ttotal_maps\ttotal_reduces\n"
    "j1\tu\tNORMAL\tSUCCESS\t5000\t0\t0\t2\t1\nj2\tu\tNORMAL\tFAILED\t9000\t0\t0\t1\t0\n";
std::string RumenRow(const char* job, const char* task, const char* kind, const char* result, int64_t start,
                     int64_t finish, const char* shuffled = "-1", const char* sorted = "-1", const char* read = "-1",
                     const char* shuffle = "-1", const char* nodes = "-") {
  std::string row;
  for (const std::string& field :
       {std::string(job),      std::string(task),      std::string(kind), std::string("0"),     std::string(result),
        std::to_string(start), std::to_string(finish), std::string("r"),  std::string("n"),     std::string(shuffled),
        std::string(sorted),   std::string(read),      std::string("7"),  std::string("-1"),    std::string("-1"),
        std::string("-1"),     std::string("40"),      std::string("-1"), std::string(shuffle), std::string("-1"),
        std::string("-1"),     std::string("-1"),      std::string(nodes)}) {
    row += (row.empty() ? "" : "\t") + field;
  }
  return row + "\n";
}

TEST(RumenTraceTest, FirstSuccessOfEachTaskCounts) {
  const TraceText jobs{"x_jobs.tsv", kRumenJobs};
  const TraceText attempts{
      "x_attempts.tsv",
      RumenRow("j1", "m0", "M", "KILLED", 6000, 9000) +
          RumenRow("j1", "m0", "M", "SUCCESS", 7000, 9500, "-1", "-1", "64", "-1", "b,c") +
          RumenRow("j1", "m0", "M", "SUCCESS", 6000, 9900) + RumenRow("j1", "m1", "M", "FAILED", 8000, 6000) +
          RumenRow("j1", "m1", "M", "SUCCESS", 6000, 7000) + RumenRow("j1", "m2", "M", "FAILED", 0, 7000) +
          RumenRow("j1", "s", "SETUP", "SUCCESS", 1, 2) +
          RumenRow("j1", "r0", "R", "SUCCESS", 10000, 20000, "16000", "17000", "-1", "99") +
          RumenRow("j2", "m0", "M", "FAILED", 10000, 20000)};
  const TraceText topology{"x_topology.tsv", "#rack\tnode\nr1\ta\nr1\tb\nr2\tc\n"};
  const auto t = ParseRumen(jobs, attempts, &topology);
  ASSERT_TRUE(t.ok()) << t.status().message();
  ASSERT_EQ(t->jobs.size(), 1u);
  const JobModel& job = t->jobs[0];
  ASSERT_EQ(job.stages.size(), 2u);
  EXPECT_THAT(job.stages[0].durations, ElementsAre(2.5f, 1.0f));
  EXPECT_THAT(job.stages[0].task_bytes, ElementsAre(64, 0));
  EXPECT_THAT(job.stages[0].preferred[0], ElementsAre(1, 2));
  EXPECT_THAT(job.stages[1].durations, ElementsAre(10.0f));
  EXPECT_FLOAT_EQ(job.stages[1].shares[0].copy, .6f);
  EXPECT_FLOAT_EQ(job.stages[1].shares[0].sort, .1f);
  EXPECT_EQ(job.stages[1].bytes, 99u);
  EXPECT_THAT(t->notes,
              ElementsAre(HasSubstr("3 failed attempts"), HasSubstr("1 killed"),
                          HasSubstr("1 attempts end before they start"), HasSubstr("1 attempts have no start"),
                          HasSubstr("2 tasks without a success"), HasSubstr("1 jobs without a success")));
}

TEST(RumenTraceTest, BadRowsAreNamed) {
  const TraceText jobs{"J", kRumenJobs};
  ExpectRefused(ParseRumen({"J", "j1\tu\n"}, {"A", ""}, nullptr), "J:1: not a job of Rumen");
  ExpectRefused(ParseRumen({"J", std::string(kRumenJobs) + "j2\tu\tN\tS\t9\t0\t0\t1\t0\n"}, {"A", ""}, nullptr),
                "J:4: job j2 is there twice");
  ExpectRefused(ParseRumen(jobs, {"A", "#x\nj1\tm\n"}, nullptr), "A:2: not an attempt");
  ExpectRefused(ParseRumen(jobs, {"A", RumenRow("j7", "m", "M", "SUCCESS", 1, 2)}, nullptr),
                "A:1: job j7 is not in the table");
  ExpectRefused(ParseRumen(jobs, {"A", RumenRow("j1", "m", "X", "SUCCESS", 1, 2)}, nullptr), "A:1: 'X' is no kind");
  ExpectRefused(ParseRumen(jobs, {"A", RumenRow("j1", "m", "M", "MAYBE", 1, 2)}, nullptr), "A:1: 'MAYBE' is no result");
  ExpectRefused(ParseRumen(jobs, {"A", RumenRow("j2", "m", "M", "FAILED", 1, 2)}, nullptr), "J: no job in it");
}

TEST(RumenTraceTest, TotalsOfTheRealFiles) {
  NEEDS_DATA();
  const auto t = Real("mumak19_attempts.tsv");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ(t->jobs.size(), 18u);  // of 19: all maps of one failed
  EXPECT_EQ(Tasks(*t, sched::SlotKind::kMap), 5650u);
  EXPECT_EQ(Tasks(*t, sched::SlotKind::kReduce), 2754u);
  EXPECT_NEAR(Seconds(*t), (1718198423. + 3448270000.) * 1e-3, 20);
  EXPECT_THAT(t->notes, testing::Contains("3503 failed attempts are not replayed"));
  EXPECT_THAT(t->notes, testing::Contains("1096 killed attempts are not replayed"));
  EXPECT_THAT(t->notes, testing::Contains("3 attempts end before they start: not used"));
  EXPECT_THAT(t->notes, testing::Contains("6 attempts have no start or end: not used"));
  const auto folder = Real("folder59_jobs.tsv");
  ASSERT_TRUE(folder.ok()) << folder.status().message();
  EXPECT_EQ(folder->jobs.size(), 59u);
  EXPECT_EQ(Tasks(*folder, sched::SlotKind::kMap), 787u);
  EXPECT_EQ(Tasks(*folder, sched::SlotKind::kReduce), 321u);
}

TEST(GoogleTraceTest, DurationPerTask) {
  const auto t = ParseGoogle({"g", "100.5 2 3.0 2.0 4\n101 1 7 7 \n"});
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_THAT(t->jobs[0].stages[0].durations, ElementsAre(2.0f, 4.0f));
  EXPECT_EQ(t->jobs[1].submit, .5);
  ExpectRefused(ParseGoogle({"g", "1 2 3 2\n"}), "g:1: it says 2 tasks and has 1 durations");
  ExpectRefused(ParseGoogle({"g", "1 2 3 2 4\n1 2 3 2 5\n"}), "g:2: its durations have a mean");
  ExpectRefused(ParseGoogle({"g", "1 1 3 x\n"}), "g:1: 'x' is not a duration");
  ExpectRefused(ParseGoogle({"g", "1 0 0\n"}), "g:1: not a job");
  ExpectRefused(ParseGoogle({"g", "1 1 -3 -3\n"}), "g:1: not a job");
}

TEST(GoogleTraceTest, TotalsOfTheRealFile) {
  NEEDS_DATA();
  const auto t = Real("GOOG_subtrace.first6000jobs.tr");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ(t->jobs.size(), 6000u);
  EXPECT_EQ(Tasks(*t, sched::SlotKind::kMap), 242563u);
  EXPECT_NEAR(Seconds(*t), 3.80284e8, 1e3);
}

TEST(AlibabaTraceTest, NamesAreTheGraph) {
  const auto t =
      ParseAlibaba({"a", "3,j,J3_1_2,5,50,0.3,4\n3,j,M1,2,50,0.3,7\n3,j,R2_1,0,50,0.3,1\n1,k,task_xyz,9,50,0.3,2\n"});
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ(t->jobs[0].name, "k");
  const JobModel& job = t->jobs[1];
  EXPECT_EQ(job.submit, 2);
  ASSERT_EQ(job.stages.size(), 3u);
  EXPECT_EQ(job.stages[0].name, "M1");
  EXPECT_EQ(job.stages[1].name, "R2_1");
  EXPECT_EQ(job.stages[1].inputs[0].upstream, 0u);
  EXPECT_EQ(job.stages[2].inputs[1].upstream, 1u);
  EXPECT_EQ(job.stages[2].tasks, 4u);
  EXPECT_THAT(job.stages[1].durations, ElementsAre(1e-3f));
  EXPECT_THAT(t->notes, ElementsAre(HasSubstr("1 tasks of no duration")));
  ExpectRefused(ParseAlibaba({"a", "3,j,M1,5,50,0.3\n"}), "a:1: not a task");
  ExpectRefused(ParseAlibaba({"a", "3,j,M1,5,50,0.3,0\n"}), "a:1: not a task");
  ExpectRefused(ParseAlibaba({"a", "3,j,M1_,5,50,0.3,1\n"}), "a:1: 'M1_' names no task");
  ExpectRefused(ParseAlibaba({"a", "3,j,R2_1,5,50,0.3,1\n"}), "job j: R2_1 waits for task 1, which is not there");
  ExpectRefused(ParseAlibaba({"a", "3,j,R2_1,5,50,0.3,1\n3,j,R1_2,5,50,0.3,1\n"}),
                "job j: its stages wait for each other in a circle");
  ExpectRefused(ParseAlibaba({"a", "3,j,R2,5,50,0.3,1\n3,j,M2,5,50,0.3,1\n"}), "a:2: job j has two tasks of number 2");
}

TEST(AlibabaTraceTest, TotalsOfTheRealFile) {
  NEEDS_DATA();
  const auto t = Real("alibaba2018_tasks_first2700s.csv");
  ASSERT_TRUE(t.ok()) << t.status().message();
  size_t stages = 0;
  for (const JobModel& job : t->jobs) stages += job.stages.size();
  EXPECT_EQ(t->jobs.size(), 11972u);
  EXPECT_EQ(stages, 49332u);
  EXPECT_EQ(Tasks(*t, sched::SlotKind::kMap) + Tasks(*t, sched::SlotKind::kReduce), 2233846u);
  EXPECT_THAT(t->notes, ElementsAre("1848 tasks of no duration take a millisecond"));
}

TEST(TpchTraceTest, FirstAndRestAtOneNumberOfExecutors) {
  const TraceText edges{"e", "#query\tparent_stage\tchild_stage\n1\t1\t0\n2\t0\t1\n"};
  const char* tasks =
      "#query\tstage\texecutors\twave\tcount\tdurations_ms\n1\t0\t2\tfresh\t1\t500\n1\t0\t2\tfirst\t2\t500 "
      "600\n1\t0\t2\trest\t0\t\n"
      "1\t0\t5\tfirst\t3\t1 2 3\n1\t1\t2\tfirst\t1\t100\n1\t1\t2\trest\t1\t250\n1\t1\t5\tfirst\t1\t100\n";
  const auto t = ParseTpch({"t", tasks}, edges, 2);
  ASSERT_TRUE(t.ok()) << t.status().message();
  ASSERT_EQ(t->jobs.size(), 1u);
  EXPECT_THAT(t->jobs[0].stages[0].durations, ElementsAre(.1f, .25f));
  EXPECT_THAT(t->jobs[0].stages[1].durations, ElementsAre(.5f, .6f));
  EXPECT_EQ(t->jobs[0].stages[1].inputs[0].upstream, 0u);
  ExpectRefused(ParseTpch({"t", tasks}, edges, 3), "nothing was recorded on 3 executors; there are 2, 5");
  ExpectRefused(ParseTpch({"t", "1\t0\t2\tfirst\t2\t500\n"}, edges, 2), "t:1: it says 2 tasks and has 1 durations");
  ExpectRefused(ParseTpch({"t", "1\t0\t2\tlast\t1\t500\n"}, edges, 2), "t:1: not a wave");
  ExpectRefused(ParseTpch({"t", "1\t0\t2\tfirst\t1\t500\n"}, edges, 2), "e:2: query 1 has no such stage");
}

TEST(TpchTraceTest, EdgesStandInTheWorkingDirectoryOfANameWithoutFolder) {
  const std::string folder = testing::TempDir() + "tpch_trace";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/mine.tsv") << "1\t0\t20\tfirst\t1\t500\n1\t1\t20\tfirst\t1\t500\n";
  std::ofstream(folder + "/tpch_edges.tsv") << "1\t1\t0\n";
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  const auto t = LoadTrace({"mine.tsv", "", "tpch", 1});
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ(t->jobs[0].stages.size(), 2u);
}

TEST(TpchTraceTest, TotalsOfTheRealFile) {
  NEEDS_DATA();
  const auto t = Real("tpch_2g_tasks.tsv", "tpch:20");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ(t->jobs.size(), 19u);
  size_t stages = 0, edges = 0;
  for (const JobModel& job : t->jobs) {
    stages += job.stages.size();
    for (const StageModel& s : job.stages)
      edges +=
          static_cast<size_t>(std::count_if(s.inputs.begin(), s.inputs.end(), [](const auto& i) { return i.is_edge; }));
  }
  EXPECT_EQ(stages, 162u);
  EXPECT_EQ(edges, 149u);
  EXPECT_EQ(Tasks(*t, sched::SlotKind::kMap) + Tasks(*t, sched::SlotKind::kReduce), 15951u + 13);
  EXPECT_FALSE(Real("tpch_2g_tasks.tsv", "tpch:21").ok());
}

constexpr char kWf[] =
    "run\tsplit\tsplit\t1.5\tw\t1\t100\t50\t-\t-\t-\n"
    "run\ta1\talign\t2\tw\t1\t10\t5\t-\t-\tsplit\nrun\ta2\talign\t3\tw\t1\t20\t5\t-\t-\tsplit\n"
    "run\tz1\tzip\t4\tw\t1\t-\t5\t-\t-\ta2\nrun\tz2\tzip\t0\tw\t1\t-\t5\t-\t-\ta1\n"
    "run\tall\tmerge\t6\tw\t1\t-\t5\t-\t-\tz1,z2,split\n";

TEST(WfInstancesTraceTest, DepthAndCategoryAreAStage) {
  const auto t = ParseWfInstances({"w", kWf}, nullptr);
  ASSERT_TRUE(t.ok()) << t.status().message();
  const auto& stages = t->jobs[0].stages;
  ASSERT_EQ(stages.size(), 4u);
  EXPECT_THAT(stages[1].durations, ElementsAre(2.0f, 3.0f));
  EXPECT_THAT(stages[1].task_bytes, ElementsAre(10, 20));
  EXPECT_EQ(stages[1].inputs[0].edge, sched::EdgeKind::kAllToAll);
  // z2 reads a1 and z1 reads a2: one-to-one, in that order.
  EXPECT_EQ(stages[2].inputs[0].edge, sched::EdgeKind::kOneToOne);
  EXPECT_THAT(stages[2].durations, ElementsAre(1e-3f, 4.0f));
  EXPECT_EQ(stages[3].inputs.size(), 2u);
  const TraceText runs{"r", "run\t9\tdate\t6\tw\n"}, wrong{"r", "run\t9\tdate\t7\tw\n"};
  EXPECT_TRUE(ParseWfInstances({"w", kWf}, &runs).ok());
  ExpectRefused(ParseWfInstances({"w", kWf}, &wrong), "run run: 6 tasks, and r says 7");
  ExpectRefused(ParseWfInstances({"w", "r\ta\tc\tx\tw\t1\t1\t1\t-\t-\t-\n"}, nullptr), "w:1: not a task");
  ExpectRefused(ParseWfInstances({"w", "r\ta\tc\t1\tw\t1\t1\t1\t-\t-\tb\n"}, nullptr),
                "waits for b, which is not there");
  ExpectRefused(ParseWfInstances({"w", "r\ta\tc\t1\tw\t1\t1\t1\t-\t-\ta\n"}, nullptr), "in a circle");
}

TEST(WfInstancesTraceTest, TotalsOfTheRealFile) {
  NEEDS_DATA();
  const auto t = Real("wf_tasks.tsv");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ(t->jobs.size(), 34u);
  EXPECT_EQ(Tasks(*t, sched::SlotKind::kMap) + Tasks(*t, sched::SlotKind::kReduce), 18838u);
  EXPECT_NEAR(Seconds(*t), 1.09987e6, 10);
}

TEST(CoflowTraceTest, RacksAndMegabytes) {
  const auto t = ParseCoflow({"c", "150 2\n1 500 2 3 4 1 65:1.5\n2 100 1 22 2 1:2 0:4\n"});
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ(t->jobs[0].name, "c2");
  EXPECT_NEAR(t->jobs[1].submit, .4, 1e-9);
  EXPECT_THAT(t->jobs[1].stages[0].preferred, ElementsAre(ElementsAre(3), ElementsAre(4)));
  EXPECT_THAT(t->jobs[1].stages[1].task_bytes, ElementsAre(1'500'000));
  EXPECT_EQ(t->jobs[0].stages[1].bytes, 6'000'000u);
  ExpectRefused(ParseCoflow({"c", "150\n"}), "c:1: not a coflow trace");
  ExpectRefused(ParseCoflow({"c", "150 1\n1 500 2 3 4 1 65:1 6:1\n"}), "c:2: there are more or fewer racks");
  ExpectRefused(ParseCoflow({"c", "150 1\n1 500 2 3 150 1 65:1\n"}), "c:2: '150' is no rack");
  ExpectRefused(ParseCoflow({"c", "150 1\n1 500 1 3 1 65;1\n"}), "c:2: '65;1' is no rack:megabytes");
  ExpectRefused(ParseCoflow({"c", "150 3\n1 500 1 3 1 65:1\n"}), "its first line says 3 coflows, and 1 follow");
}

TEST(CoflowTraceTest, TotalsOfTheRealFile) {
  NEEDS_DATA();
  const auto t = Real("FB2010-1Hr-150-0.txt");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ(t->jobs.size(), 526u);
  EXPECT_EQ(Tasks(*t, sched::SlotKind::kMap), 10753u);
  EXPECT_EQ(Tasks(*t, sched::SlotKind::kReduce), 10609u);
  double bytes = 0;
  for (const JobModel& job : t->jobs) bytes += static_cast<double>(job.stages[1].bytes);
  EXPECT_NEAR(bytes, 35533534e6, 1e6);
}

TEST(GunzipTest, DamageAndSizeAreRefused) {
  // printf 'aaaa\n' | gzip -n
  const std::string packed(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c\x4c\x4c\xe4\x02\x00\x69\x2b\xcc\x34\x05\x00\x00\x00", 25);
  const auto text = Gunzip(packed, "f", 100);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text, "aaaa\n");
  EXPECT_EQ(*Gunzip(packed + packed, "f", 100), "aaaa\naaaa\n");
  EXPECT_FALSE(Gunzip(packed, "f", 4).ok());
  EXPECT_FALSE(Gunzip(packed.substr(0, 20), "f", 100).ok());
  EXPECT_FALSE(Gunzip("plain", "f", 100).ok());
}

TEST(RecogniseTest, FirstLineDecides) {
  EXPECT_EQ(RecogniseTrace("job0\t1\t2\t3\t4\t5\n"), TraceFormat::kSwim);
  EXPECT_EQ(RecogniseTrace(kRumenJobs), TraceFormat::kRumen);
  EXPECT_EQ(RecogniseTrace("1.5 1 7 7\n"), TraceFormat::kGoogle);
  EXPECT_EQ(RecogniseTrace("150 526\n1 0 1 22 1 65:1.0\n"), TraceFormat::kCoflow);
  EXPECT_EQ(RecogniseTrace("0,j,M1,268,50.0,0.3,9\n"), TraceFormat::kAlibaba);
  EXPECT_EQ(RecogniseTrace("#run\ttask_id\tcategory\n"), TraceFormat::kWfInstances);
  EXPECT_EQ(RecogniseTrace("#run\tstage_id\ttid\ttask_type\n"), TraceFormat::kBdb);
  for (const char* other : {"", "\n", "hello world\n", "a b c d e\n", "1\t2\n", "{\"json\": 1}\n"}) {
    EXPECT_EQ(RecogniseTrace(other), TraceFormat::kUnknown) << other;
  }
}

TEST(RecogniseTest, SwimIsATableOfNumbers) {
  EXPECT_EQ(RecogniseTrace("\n#id\tsubmit\r\njob0\t1.5\t2\t3\t4\t5\tpath\r\n"), TraceFormat::kSwim);
  for (const char* other : {"id\tsubmit\tgap\tinput\tshuffle\toutput\n", "j\t1\t2\t3\t4\t-\n", "j\t1\t2\t3\t4\n",
                            "j\t-1\t2\t3\t4\t5\n", "#run\tstage_id\tparent_stages\n", "#a\tb\tc\td\te\tf\n"}) {
    EXPECT_EQ(RecogniseTrace(other), TraceFormat::kUnknown) << other;
  }
}

TEST(RecogniseTest, ErrorOfAnUnknownTableShowsItsColumns) {
  const std::string path = testing::TempDir() + "unknown_table.tsv";
  const auto refused = [&](const std::string& text, const char* part) {
    std::ofstream(path) << text;
    ExpectRefused(LoadTrace({path, "", "", 1}), part);
  };
  refused("#run\tstage_id\tparents\ttasks\tfrom\tto\n",
          "unknown_table.tsv: of no format that is known, a table that begins with '#run stage_id parents tasks from "
          "to'; --format says which it is: swim, ");
  refused("\x01\t" + std::string(70, 'x') + "\n", ("'? " + std::string(58, 'x') + "...'").c_str());
  refused("hello\n", "unknown_table.tsv: of no format that is known; --format");
  std::filesystem::remove(path);
}

// A trace's phases and blocks reach the run: 2 maps of 4 and 6 s, and beside them a reduce of 10 s. 5 s of it are
// copying, half from 4 s on and half from 6.5 s on, and 1 s is sorting.
TEST(TracedRunTest, FirstAttemptsTakeTheirRecordedTimes) {
  Experiment s;
  s.cluster = *ParseCluster("2x2");
  s.tasks = Exact();
  s.check = true;
  JobModel job = MapReduce(0, "j", 2, 0, 1, 0, 0);
  job.stages[0].durations = {4, 6};
  job.stages[0].preferred = {{7, 5}, {0}};
  job.stages[1].durations = {10};
  job.stages[1].shares = {{.5f, .1f}};
  s.jobs = {job};
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_NEAR(run.jobs()[0].ended, 14, 1e-5);
  EXPECT_EQ(run.totals().read_bytes, 0) << "no bytes are recorded";
}

}  // namespace
}  // namespace mr::sim
