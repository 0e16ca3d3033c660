// `mrsim calibrate`: what readers observe, its output, and the file of the tree that it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "common/io/files.h"
#include "master/sim/calibrate/command.h"
#include "master/sim/calibrate/report.h"
#include "master/sim/studies/document.h"
#include "master/sim/traces/trace.h"
#include "tests/master/sim/synthetic_record.h"

namespace mr::sim {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(ObservedTest, RumenHasEachAttemptWithItsNodeAndEnd) {
  const TraceText jobs{"x_jobs.tsv", "j1\tu\tNORMAL\tSUCCESS\t5000\t0\t0\t2\t1\n"};
  const auto row = [](const char* task, const char* kind, const char* result, const char* times) {
    return std::string("j1\t") + task + "\t" + kind + "\t1\t" + result + "\t" + times +
           "\tr\tn7\t-1\t-1\t64\t7\t-1\t-1\t-1\t40\t-1\t99\t-1\t-1\t-1\t-\n";
  };
  const TraceText attempts{"x_attempts.tsv",
                           row("s", "SETUP", "SUCCESS", "1000\t3000") + row("m", "M", "SUCCESS", "7000\t9500") +
                               row("m", "M", "KILLED", "9000\t8000") + row("r", "R", "FAILED", "0\t9000") +
                               row("c", "CLEANUP", "SUCCESS", "1\t2")};
  const auto t = ParseRumen(jobs, attempts, nullptr, true);
  ASSERT_TRUE(t.ok()) << t.status().message();
  ASSERT_EQ(t->observed.size(), 3u);
  EXPECT_EQ(t->observed[0].kind, ObservedKind::kNoWork);
  const ObservedStage& maps = t->observed[1];
  EXPECT_EQ(maps.name, "map");
  ASSERT_EQ(maps.attempts.size(), 2u);
  EXPECT_EQ(maps.attempts[0].worker, "n7");
  EXPECT_EQ(maps.attempts[0].number, 1u);
  EXPECT_EQ(maps.attempts[0].start, 7);
  EXPECT_EQ(maps.attempts[0].seconds, 2.5);
  EXPECT_EQ(maps.attempts[0].bytes, 64u);
  EXPECT_EQ(maps.attempts[1].end, ObservedEnd::kKilled);
  EXPECT_EQ(maps.attempts[1].seconds, 0);  // ends before it starts
  EXPECT_EQ(t->observed[2].attempts[0].bytes, 99u);
  EXPECT_EQ(t->observed[2].attempts[0].start, kStartUnknown);
  EXPECT_THAT(ParseRumen(jobs, attempts, nullptr)->observed, IsEmpty());
}

TEST(ObservedTest, WorkflowsThatDifferInTheirNumberRepeatEachOther) {
  const auto row = [](const char* run) {
    return std::string(run) + "\tmap_1\tmap\t1.5\tworker-2\t1\t10\t20\t-\t-\t-\n";
  };
  const auto t =
      ParseWfInstances({"wf", row("bwa-site-small-001") + row("bwa-site-small-002") + row("other")}, nullptr, true);
  ASSERT_TRUE(t.ok()) << t.status().message();
  ASSERT_EQ(t->observed.size(), 3u);
  EXPECT_EQ(t->observed[0].family, "bwa");
  EXPECT_EQ(t->observed[0].workflow, "bwa-site-small");
  EXPECT_EQ(t->observed[1].workflow, "bwa-site-small");
  EXPECT_EQ(t->observed[2].workflow, "");
  EXPECT_EQ(t->observed[0].attempts[0].task, "map_1");
  EXPECT_EQ(t->observed[0].attempts[0].worker, "worker-2");
  EXPECT_EQ(t->observed[0].attempts[0].seconds, 1.5);
}

TEST(ObservedTest, TpchHasAllExecutorsAndFreshOnesApart) {
  const auto t = ParseTpch(
      {"t", "1\t0\t2\tfresh\t1\t3000\n1\t0\t2\tfirst\t1\t3000\n1\t0\t2\trest\t2\t1000 1100\n1\t0\t5\trest\t1\t900\n"},
      {"e", ""}, 2, true);
  ASSERT_TRUE(t.ok()) << t.status().message();
  ASSERT_EQ(t->observed.size(), 3u);
  EXPECT_EQ(t->observed[0].kind, ObservedKind::kFresh);
  EXPECT_EQ(t->observed[1].kind, ObservedKind::kUsual);
  EXPECT_EQ(t->observed[0].job, t->observed[1].job);
  EXPECT_NE(t->observed[2].job, t->observed[1].job);
  EXPECT_EQ(t->observed[1].attempts.size(), 2u);
  EXPECT_EQ(t->jobs[0].stages[0].durations.size(), 3u);  // "first" and "rest" at two executors, as without `observe`
}

TEST(CalibrateTest, TomlIsTomlAndSaysWhatIsNotSeparated) {
  const Fit known = FitOf("known", Synthetic{.machine = {.sigma = 0.2},
                                             .skew = {.sigma = 0.2},
                                             .luck = {.sigma = 0.1, .tail = 0.03},
                                             .jobs = 20,
                                             .span = 500,
                                             .repeats = true}
                                       .Draw());
  const Fit unknown = FitOf("unknown", Synthetic{.luck = {.sigma = 0.1}, .names_workers = false}.Draw());
  const Fit few = FitOf("few", Synthetic{.luck = {.sigma = 0.1}, .jobs = 1, .tasks = 30}.Draw());
  const std::string text = FitToml({known, unknown, few}, "the test");
  const auto parsed = ParseToml(text, "f");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message() << text;
  const auto& sources = parsed->fields.at("source").items;
  ASSERT_EQ(sources.size(), 3u);
  EXPECT_TRUE(sources[0].fields.at("separates_machine").flag);
  EXPECT_TRUE(sources[0].fields.at("separates_skew").flag);
  const auto& task = sources[0].fields.at("task").fields;
  for (const char* key : {"sigma", "tail", "tail_alpha", "tail_cap", "skew_sigma", "machine_sigma", "machine_lasts"}) {
    EXPECT_TRUE(task.contains(key)) << key;
  }
  EXPECT_FALSE(sources[1].fields.at("separates_machine").flag);
  EXPECT_FALSE(sources[1].fields.at("task").fields.contains("machine_sigma"));
  EXPECT_THAT(text, HasSubstr("# machine_sigma: the record does not name machines\n"));
  EXPECT_FALSE(sources[2].fields.contains("task"));
  const std::string table = FitTable({known, unknown, few});
  EXPECT_THAT(table, HasSubstr("machine  not separated: the record does not name machines\n"));
  EXPECT_THAT(table, HasSubstr("few: 30 attempts in stages of 20"));
}

TEST(CalibrateTest, AnUnknownSourceIsAnErrorWithTheKnownOnes) {
  const auto fits = Calibrate({"wfinstance"}, "/nowhere");
  ASSERT_FALSE(fits.ok());
  EXPECT_EQ(fits.status().code(), Code::kNotFound);
  EXPECT_THAT(fits.status().message(), HasSubstr("did you mean 'wfinstances'?"));
  EXPECT_THAT(fits.status().message(), HasSubstr("hadoop-rumen, wfinstances, google2011-sub, tpch-spark-decima"));
}

TEST(CalibrateTest, TheFileOfTheTreeIsWhatTheCommandWrites) {
  const char* data = std::getenv("MR_DATA");
  if (data == nullptr) GTEST_SKIP() << "MR_DATA is not set: it says where the traces are";
  const auto fits = Calibrate({}, data);
  ASSERT_TRUE(fits.ok()) << fits.status().message();
  const auto kept = ReadFile(MR_SOURCE_DIR "/master/sim/calibrate/calibrated.toml");
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  EXPECT_EQ(*kept, FitToml(*fits, "mrsim calibrate -o toml"))
      << "write it anew: mrsim calibrate -o toml > master/sim/calibrate/calibrated.toml";
  EXPECT_THAT(*kept, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace mr::sim
