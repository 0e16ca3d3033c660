// Studies as files: a figure needs no C++; a fault is an error with its line; measurements and expressions.
#include "master/sim/studies/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "master/sim/studies/measures.h"
#include "master/sim/studies/reproduce.h"

namespace mr::sim {
namespace {

using testing::HasSubstr;

// Eight maps of a second on two slots, in four waves. The second list does the same.
constexpr char kMine[] = R"toml(name = "mine"
title = "A study of one's own"
[[parameter]]
name = "maps"
value = "8"
source = "chosen"
[lists]
first = "fifo"
second = "fair"
[functions]
"ratio(a, b)" = "a.seconds / b.seconds"
[reasons]
why = "it is made so"
[tasks.exact]
exact = true
[cluster.two]
workers = [{ count = 2, slots = 1 }]
[jobs.maps]
rows = [{ maps = 8, map_seconds = [1] }]
[[figure]]
id = "waves"
what = "{first} and {second}"
cluster = "two"
tasks = "exact"
jobs = "maps"
runs = ["first", "second"]
lines = [
  { what = "first, s", paper = 4, within = 0.01, value = "first.seconds" },
  { what = "first / second", paper = 2, low = 1.5, high = 2.5, because = "why", value = "ratio(first, second)" },
]
[[figure]]
id = "wider"
like = "waves"
cluster = "4x1"
override = [{ line = "first, s", paper = 2, within = 0.01 }]
)toml";

std::string Written(const char* name, const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(file) << text;
  return file.string();
}

TEST(StudyTest, AStudyIsAFileThatRuns) {
  const std::string file = Written("mine.toml", std::string(kMine));
  const auto r = Reproduce({file, "", 2, nullptr});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->study, "mine");
  ASSERT_EQ(r->figures.size(), 2u);
  EXPECT_EQ(r->figures[0].what, "fifo and fair");
  EXPECT_NEAR(r->figures[0].lines[0].ours, 4, .01);
  EXPECT_EQ(r->figures[0].lines[0].verdict, Verdict::kMet);
  EXPECT_NEAR(r->figures[0].lines[1].ours, 1, .01);
  EXPECT_EQ(r->figures[0].lines[1].verdict, Verdict::kMissed);
  EXPECT_NEAR(r->figures[1].lines[0].ours, 2, .01);
  EXPECT_EQ(r->figures[1].lines[0].verdict, Verdict::kMet);
  EXPECT_THAT(Table(*r), HasSubstr("      it is made so\n"));
  const auto one = Reproduce({file + ":wider", "", 1, nullptr});
  ASSERT_TRUE(one.ok()) << one.status().message();
  ASSERT_EQ(one->figures.size(), 1u);
  EXPECT_EQ(one->figures[0].id, "wider");
  EXPECT_EQ(Reproduce({"/no/such/study.toml", "", 1, nullptr}).status().code(), Code::kNotFound);
}

// Each replacement of a text of the study by another is found, at its line.
TEST(StudyTest, AFaultIsAnErrorWithFileAndLine) {
  const struct {
    const char *text, *with;
    int line;
    const char* says;
  } faults[] = {{"source = \"chosen\"", "source = \"chosen\"\nsauce = 1", 7, "unknown key 'sauce'"},
                {"\"fifo\"", "\"fivo\"", 8, "is no list"},
                {"a.seconds / b.seconds", "a.seconds / ", 11, "a value is missing"},
                {"slots = 1", "slots = 1.5", 17, "slots must be a whole number from 1"},
                {"slots = 1", "slots = 0", 17, "slots must be"},
                {"map_seconds = [1]", "map_secs = [1]", 19, "did you mean 'map_seconds'"},
                {"map_seconds = [1]", "map_seconds = 1", 19, "must be an array of numbers"},
                {"cluster = \"two\"", "cluster = \"too\"", 23, "there is no [cluster.too]"},
                {"jobs = \"maps\"", "jobs = \"map\"", 25, "there is no [jobs.map]"},
                {"runs = [\"first\",", "runs = [\"frist\",", 26, "frist"},
                {"\"second\"]", "\"first\"]", 26, "is that of another run"},
                {"within = 0.01, value", "low = 1, within = 0.01, value", 28, "several bands"},
                {"paper = 4, within", "within", 28, "wants 'paper'"},
                {"low = 1.5, high = 2.5", "low = 1.5", 29, "has one end"},
                {"\"first.seconds\"", "\"first.second\"", 28, "did you mean 'seconds'"},
                {"\"first.seconds\"", "\"fist.seconds\"", 28, "did you mean 'first'"},
                {"\"first.seconds\"", "\"first.seconds +\"", 28, "a value is missing"},
                {"ratio(first, second)", "ratios(first, second)", 29, "did you mean 'ratio'"},
                {"ratio(first, second)", "ratio(first)", 29, "takes 2 values"},
                {"like = \"waves\"", "like = \"wave\"", 33, "no figure 'wave'"},
                {"line = \"first, s\"", "line = \"third\"", 35, "none of the figure's"},
                {"id = \"wider\"", "id = \"waves\"", 31, "two figures 'waves'"},
                {"[lists]", "[lists", 7, "not TOML"}};
  for (const auto& fault : faults) {
    std::string text = kMine;
    const size_t at = text.find(fault.text);
    ASSERT_NE(at, std::string::npos) << fault.text;
    text.replace(at, std::string(fault.text).size(), fault.with);
    const Status status = ParseStudy(text, "mine.toml").status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << fault.with;
    EXPECT_THAT(status.message(), testing::StartsWith("mine.toml:" + std::to_string(fault.line) + ": ")) << fault.with;
    EXPECT_THAT(status.message(), HasSubstr(fault.says)) << fault.with;
  }
}

TEST(StudyTest, ALineThatIsNotOneNumberIsAnErrorWithItsLine) {
  std::string text = kMine;
  const std::string value = "\"first.seconds\"";
  text.replace(text.find(value), value.size(), "\"first.bin_jobs\"");
  const auto r = Reproduce({Written("list.toml", text), "", 1, nullptr});
  EXPECT_EQ(r.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(r.status().message(), HasSubstr("list.toml:28"));
}

TEST(StudyTest, TheStudiesOfThePapersAreCompiledIn) {
  std::string before;
  for (const BuiltInStudy& known : BuiltInStudies()) {
    const auto study = ParseStudy(std::string(known.text), "it");
    ASSERT_TRUE(study.ok()) << study.status().message();
    EXPECT_EQ(study->name, known.name);
    EXPECT_LT(before, study->name);
    EXPECT_FALSE(study->figures.empty());
    before = study->name;
  }
  EXPECT_EQ(BuiltInStudies().size(), 5u);
}

double Value(const std::string& text, const std::map<std::string, Measures>& runs = {}) {
  Macros macros;
  EXPECT_TRUE(AddMacro("twice(x)", "2 * x", &macros).ok());
  EXPECT_TRUE(AddMacro("total(run)", "sum(run.v)", &macros).ok());
  const auto e = Expression::Parse(text, macros);
  EXPECT_TRUE(e.ok()) << e.status().message();
  const auto value = e->Evaluate(runs);
  EXPECT_TRUE(value.ok()) << value.status().message();
  return value.ok() ? *value : -1;
}

TEST(ExpressionTest, ComputesWhatItSays) {
  const std::map<std::string, Measures> runs = {{"a", {{"v", {3, 1, 2}}, {"n", {10}}}}, {"b", {{"v", {1, 1, 4}}}}};
  EXPECT_EQ(Value("1 + 2 * 3 - 4 / 2"), 5);
  EXPECT_EQ(Value("-(2 - 5) * .5"), 1.5);
  EXPECT_EQ(Value("less(50, 200)"), 75);
  EXPECT_EQ(Value("a.v[3] + a.n", runs), 12);
  EXPECT_EQ(Value("sum(a.v > b.v)", runs), 1);
  EXPECT_EQ(Value("sum(a.v * 2)", runs), 12);
  EXPECT_EQ(Value("mean(a.v)", runs), 2);
  EXPECT_EQ(Value("median([4, 1, a.n, 2])", runs), 3);
  EXPECT_EQ(Value("max(sort(a.v) - b.v)", runs), 1);
  EXPECT_EQ(Value("sum(where(a.v, b.v <= 1))", runs), 4);
  EXPECT_EQ(Value("first(where([7, 8, 9], a.v < 3))", runs), 8);
  EXPECT_EQ(Value("quantile(a.v, .5)", runs), 2);
  EXPECT_EQ(Value("min(percentiles(a.v))", runs), 1);
  EXPECT_EQ(Value("twice(total(a)) + twice(1)", runs), 14);
}

TEST(ExpressionTest, WhatHasNoValueIsAnError) {
  for (const char* text :
       {"[1, 2] + [1, 2, 3]", "[1, 2][3]", "[1][0]", "[1, 2]", "where([1, 2], 1)", "quantile(1, 2)"}) {
    const auto e = Expression::Parse(text, {});
    ASSERT_TRUE(e.ok()) << text;
    EXPECT_EQ(e->Evaluate({}).status().code(), Code::kInvalidArgument) << text;
  }
  for (const std::string& text : {std::string("1 +"), std::string("(1"), std::string("f(1)"), std::string("1 2"),
                                  std::string("less(1)"), std::string("a."), std::string(5000, '(')}) {
    EXPECT_EQ(Expression::Parse(text, {}).status().code(), Code::kInvalidArgument) << text.substr(0, 20);
  }
}

// A job of two phases, whose tasks take 1, 1, 5 s and 2, 2, 3 s, saves 5 of 8 s at the medians. A job of one task saves
// nothing.
TEST(MeasuresTest, ThePotentialIsThatOfTasksAtTheMedianOfTheirPhase) {
  Experiment e;
  e.policies = "fair";
  e.tasks = Exact();
  e.cluster = *ParseCluster("8x4");
  e.jobs.push_back(MapReduce(0, "wide", 3, 3 << 20, 3, 3 << 20, 3 << 20));
  e.jobs[0].stages[0].durations = {1, 5, 1};
  e.jobs[0].stages[1].durations = {2, 3, 2};
  e.jobs.push_back(MapReduce(20, "narrow", 1, 1 << 20, 0, 0, 1 << 20));
  e.jobs[1].stages[0].durations = {8};
  e.jobs.push_back(MapReduce(40, "larger", 11, 11 << 20, 0, 0, 11 << 20));
  e.jobs[2].stages[0].durations = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5};
  auto measured = RunMeasured(std::move(e));
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  Measures& m = *measured;
  EXPECT_THAT(m["seconds"],
              testing::ElementsAre(testing::DoubleNear(8, .1), testing::DoubleNear(8, .1), testing::DoubleNear(5, .1)));
  EXPECT_THAT(m["width"], testing::ElementsAre(3, 1, 11));
  EXPECT_NEAR(m["potential"][0], 100 * 5. / 16, .1);
  EXPECT_NEAR(m["potential"][1], 100 * 1. / 5, .1);
  EXPECT_EQ(m["potential"][2], 0) << "no job";
  EXPECT_NEAR(m["slowest50"][0], 1.5, .01) << "the nearest rank of 1.5 and 5";
}

TEST(SetupsTest, JobsOfAMixPerPhaseHaveAsManyTasksInEachPhase) {
  std::string used, skipped;
  const auto e = ExperimentOf("dolly", "150x12", "facebook", "facebook", "fair", {1, "", &used, &skipped, nullptr});
  ASSERT_TRUE(e.ok()) << e.status().message();
  std::map<uint32_t, int> of_width;  // of the first bin
  int only_maps = 0, first = 0;
  for (const JobModel& job : e->jobs) {
    const uint32_t width = job.stages[0].tasks;
    if (width > 50) continue;
    ASSERT_LE(job.stages.size(), 2u);
    if (width > 10 || job.stages.back().tasks > 10) continue;
    EXPECT_EQ(job.stages.back().tasks, width);
    ++first, ++of_width[width];
    only_maps += job.stages.size() == 1;
  }
  const auto n = static_cast<double>(e->jobs.size());
  EXPECT_NEAR(first / n, .82, .04) << "Dolly's share of the first bin";
  EXPECT_NEAR(only_maps / static_cast<double>(first), .376, .05) << "the record's share";
  ASSERT_EQ(of_width.size(), 10u);
  for (const auto& [width, jobs] : of_width) EXPECT_NEAR(jobs / static_cast<double>(first), .1, .035) << width;
}

TEST(MeasuresTest, ClonesOfTheBudgetAndOnIdleSlotsAreCountedApart) {
  const auto run = [](const char* list) {
    std::string used, skipped;
    auto e = ExperimentOf("dolly", "150x12", "hadoop", "facebook_swim", list, {1, "", &used, &skipped, nullptr});
    EXPECT_TRUE(e.ok()) << e.status().message();
    e->jobs.resize(20);
    auto measures = RunMeasured(std::move(*e));
    EXPECT_TRUE(measures.ok()) << measures.status().message();
    for (const std::string_view name : MeasureNames()) EXPECT_TRUE(measures->contains(std::string(name))) << name;
    EXPECT_EQ(measures->size(), MeasureNames().size());
    return std::move(*measures);
  };
  Measures late = run("fair,late"), dolly = run("fair,dolly"), lend = run("fair,opportunistic");
  EXPECT_EQ(late["budgeted"][0], 0);
  EXPECT_EQ(late["lent"][0], 0);
  EXPECT_GT(dolly["budgeted"][0], 0);
  EXPECT_EQ(dolly["lent"][0], 0);
  EXPECT_EQ(lend["budgeted"][0], 0);
  EXPECT_GT(lend["lent"][0], 0);
  EXPECT_LT(lend["lent"][0], lend["busy"][0]);
}

}  // namespace
}  // namespace mr::sim
