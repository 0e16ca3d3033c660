#include "jobs/mrctl/job_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/mrctl/chain.h"
#include "jobs/mrctl/job_file.h"
#include "jobs/mrctl/options.h"
#include "jobs/mrctl/submit.h"

namespace mr::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Status ApplyToml(const std::string& toml, SubmitOptions* options) {
  const auto table = ParseToml(toml, "x.toml");
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  return ApplyJobFile(*table, "x.toml", options);
}

std::string Mistakes(const std::string& toml) {
  SubmitOptions options;
  const Status status = ApplyToml(toml, &options);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  return status.message();
}

TEST(JobStepsTest, AStepReadsTheOneBeforeWhereItSaysNothing) {
  SubmitOptions options;
  const Status status = ApplyToml(
      "input = 'in'\noutput = 'out'\n[[step]]\njob = 'grep'\nargs = ['-e', 'error']\n"
      "[[step]]\nname = 'words'\njob = 'wordcount'\nreduces = 3\n",
      &options);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(options.steps.size(), 2u);
  EXPECT_EQ(options.steps[0].name, "grep");
  EXPECT_THAT(options.steps[0].inputs, IsEmpty());
  EXPECT_THAT(options.steps[0].args, ElementsAre("-e", "error"));
  EXPECT_THAT(options.steps[1].inputs, ElementsAre("@grep"));
  EXPECT_EQ(options.steps[1].tasks, 3u);
  EXPECT_THAT(options.inputs, ElementsAre("in"));
}

TEST(JobStepsTest, StepsOfJsonAreThoseOfToml) {
  SubmitOptions options;
  const auto table = ParseJsonTable(
      R"({"step":[{"job":"grep","args":["x"],"input":["a"]},{"operator":"o","config":{"n":7},"edge":"group"}]})", "j");
  ASSERT_TRUE(table.ok());
  ASSERT_TRUE(ApplyJobFile(*table, "j", &options).ok());
  ASSERT_EQ(options.steps.size(), 2u);
  EXPECT_THAT(options.steps[0].args, ElementsAre("x"));
  EXPECT_THAT(options.steps[1].config, ElementsAre("n=7"));
  EXPECT_THAT(options.steps[1].edges, ElementsAre("group"));
}

TEST(JobStepsTest, AllMistakesAreToldAtOnceWithTheirSteps) {
  const std::string text = Mistakes(
      "outptu = 'x'\n"
      "[[step]]\nname = 'a'\njob = 'grep'\ninput = '@missing'\n"
      "[[step]]\nname = 'a'\njob = 'sort'\nreduces = 0\n"
      "[[step]]\nname = 'wide'\njob = 'sort'\nreduces = 10000000\n"
      "[[step]]\nname = 'both'\njob = 'sort'\noperator = 'x'\n"
      "[[step]]\nname = 'c'\njob = 'sort'\ninptu = 'y'\ninput = '@d'\n"
      "[[step]]\nname = 'd'\njob = 'sort'\ninput = '@c'\n"
      "[[step]]\nname = 'e'\noperator = 'o'\nedge = 'gruop'\nargs = ['z']\n");
  EXPECT_THAT(text, HasSubstr("unknown key 'outptu' (did you mean 'output'?)"));
  EXPECT_THAT(text, HasSubstr("step 'a': reads @missing, but no step has that name"));
  EXPECT_THAT(text, HasSubstr("two steps are named 'a'"));
  EXPECT_THAT(text, HasSubstr("step 'a': reduces takes a whole number from 1 to 100000, not '0'"));
  EXPECT_THAT(text, HasSubstr("step 'wide': reduces takes a whole number from 1 to 100000, not '10000000'"));
  EXPECT_THAT(text, HasSubstr("step 'both': must have either a job or an operator"));
  EXPECT_THAT(text, HasSubstr("step 'c': unknown key 'inptu' (did you mean 'input'?)"));
  EXPECT_THAT(text, HasSubstr("in a cycle: c -> d -> c"));
  EXPECT_THAT(text, HasSubstr("step 'e': unknown edge 'gruop' (did you mean 'group'?)"));
  EXPECT_THAT(text, HasSubstr("step 'e': args is for a step with a job"));
  EXPECT_THAT(text, HasSubstr("x.toml: 10 mistakes:"));
}

TEST(JobStepsTest, AllInputsThatAreNotThereAreToldAtOnce) {
  SubmitOptions options;
  ASSERT_TRUE(ApplyToml("input = ['a', 'b']\n[[step]]\njob = 'grep'\n[[step]]\njob = 'sort'\ninput = ['c', '@grep']\n",
                        &options)
                  .ok());
  options.local = 1;
  const Status missing = PrepareSubmit(options, Settings(), "/nowhere").status();
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_EQ(missing.message(),
            "input /nowhere/a does not exist\n  input /nowhere/b does not exist\n"
            "  step 'sort': input /nowhere/c does not exist");
  options.local = 0;
  EXPECT_TRUE(PrepareSubmit(options, Settings(), "/nowhere").status().code() == Code::kInvalidArgument)
      << "--output is missing";
}

TEST(JobStepsTest, LocalIsChosenOnTheCommandLine) {
  EXPECT_THAT(Mistakes("local = true\n[[step]]\njob = 'grep'\n"),
              HasSubstr("unknown key 'local'; whether a job runs without a cluster is chosen at its submit: mrctl "
                        "submit --local FILE"));
}

TEST(JobStepsTest, AJobBesideStepsIsRefused) {
  EXPECT_THAT(Mistakes("job = 'sort'\n[[step]]\njob = 'grep'\n"), HasSubstr("beside [[step]] tables"));
  EXPECT_THAT(Mistakes("step = 'sort'\n"), HasSubstr("write [[step]]"));
  EXPECT_THAT(Mistakes("[[step]]\njob = 'grep'\nargs = [1.5]\n"),
              HasSubstr("step 'grep': args (line 3) must be a string"));
}

// ---- Chains --------------------------------------------------------------------------------------

PlannedStep JobStepOf(const std::string& name, std::vector<std::string> inputs, bool map_only = false,
                      const std::string& written = "text") {
  PlannedStep planned;
  planned.step.name = planned.step.job = name;
  planned.step.inputs_given = !inputs.empty();
  planned.step.inputs = std::move(inputs);
  PlanStage map;
  map.name = "map";
  map.op = name + ".map";
  PlanInput files;
  files.files = true;
  files.input = -1;
  files.format = "text";
  map.inputs = {files};
  PlanPort last;
  last.files = true;
  last.format = written;
  map.ports = {map_only ? last : PlanPort{}};
  planned.plan.stages = {map};
  planned.plan.operator_flags[map.op] = 9;
  if (map_only) return planned;
  PlanStage reduce;
  reduce.name = "reduce";
  reduce.op = name + ".reduce";
  PlanInput edge;
  edge.kind = "all_to_all";
  edge.grouped = true;
  reduce.inputs = {edge};
  reduce.ports = {last};
  planned.plan.stages.push_back(reduce);
  planned.plan.operator_flags[reduce.op] = 1;
  return planned;
}

PlannedStep OpStepOf(const std::string& name, std::vector<std::string> inputs, std::vector<std::string> edges = {}) {
  PlannedStep planned;
  planned.step.name = planned.step.op = name;
  planned.step.inputs_given = true;
  planned.step.inputs = std::move(inputs);
  planned.step.edges = std::move(edges);
  PlanStage stage;
  stage.name = stage.op = name;
  planned.plan.stages = {stage};
  planned.plan.operator_flags[name] = 1;
  return planned;
}

Plan Chained(std::vector<PlannedStep> steps) {
  JobFileFaults faults;
  Plan plan = ChainPlans(std::move(steps), &faults);
  EXPECT_TRUE(faults.ToStatus("x").ok()) << faults.ToStatus("x").message();
  return plan;
}

std::string Faults(std::vector<PlannedStep> steps) {
  JobFileFaults faults;
  (void)ChainPlans(std::move(steps), &faults);
  return faults.ToStatus("x").message();
}

TEST(ChainTest, FilesOfOneStepBecomeAnEdgeOfTheNext) {
  auto sort = JobStepOf("sort", {"@grep"});
  sort.step.tasks = 4;
  // Written in the other order: the plan has what is read first.
  const Plan plan = Chained({sort, JobStepOf("grep", {"/logs"}, true)});
  ASSERT_EQ(plan.stages.size(), 3u);
  EXPECT_EQ(plan.stages[0].name, "grep");
  EXPECT_THAT(plan.stages[0].inputs[0].uris, ElementsAre("/logs"));
  ASSERT_EQ(plan.stages[0].ports.size(), 1u);
  EXPECT_FALSE(plan.stages[0].ports[0].files);
  EXPECT_EQ(plan.stages[1].name, "sort.map");
  const PlanInput& edge = plan.stages[1].inputs[0];
  EXPECT_FALSE(edge.files);
  EXPECT_EQ(edge.kind, "one_to_one");
  EXPECT_EQ(edge.from, 0u);
  EXPECT_EQ(edge.format, "text");
  EXPECT_EQ(edge.written, "text");
  EXPECT_EQ(edge.file, "@grep");
  EXPECT_EQ(plan.stages[2].inputs[0].from, 1u);
  EXPECT_EQ(plan.stages[2].tasks, 4u);
  EXPECT_TRUE(plan.stages[2].ports[0].files);
  EXPECT_EQ(plan.stages[0].flags, 9u);
}

TEST(ChainTest, AHeaderReachesOnlyStepsThatReadOne) {
  const auto table = [](const std::string& name, const std::string& config) {
    PlannedStep step = JobStepOf(name, {"@sums"});
    step.plan.stages[0].inputs[0].format = "csv";
    step.plan.stages[0].config = config;
    return step;
  };
  const auto written = [&](const PlannedStep& reader, const std::string& format = "csv") {
    const Plan plan = Chained({JobStepOf("sums", {"/in"}, true, format), reader});
    return plan.stages.size() > 1 ? plan.stages[1].inputs[0].written : "";
  };
  EXPECT_EQ(written(table("top", "csv=csv\nheader=1\n")), "text") << "with the header";
  EXPECT_EQ(written(table("top", "csv=csv\n")), "text");
  EXPECT_EQ(written(table("top", "csv=csv\nheader=0\n")), "csv") << "without it";
  EXPECT_EQ(written(JobStepOf("sort", {"@sums"}), "csv(0x3b,none)"), "csv(0x3b,none)");
  EXPECT_EQ(written(JobStepOf("sort", {"@sums"}), "csv.zst"), "csv");
  EXPECT_EQ(written(OpStepOf("mine", {"@sums"}, {"one_to_one"})), "csv");
  for (const auto& writer : {JobStepOf("sums", {"/in"}, true), OpStepOf("sums", {"/in"})}) {
    EXPECT_THAT(Faults({writer, table("top", "csv=csv\nheader=1\n")}),
                HasSubstr("reads the first line of each file of @sums as a header, but that step writes none"));
  }
}

TEST(ChainTest, AllStepsBehindATableWithoutAHeaderAreReportedOnce) {
  const auto table = [](const std::string& name, const std::string& from) {
    auto step = JobStepOf(name, {from}, true, "csv");
    step.plan.stages[0].inputs[0].format = "csv";
    step.plan.stages[0].config = "csv=csv\nheader=1\n";
    return step;
  };
  const std::string faults =
      Faults({JobStepOf("sums", {"/in"}, true), table("second", "@sums"), table("third", "@second")});
  for (const std::string part : {"'second': reads the first line of each file of @sums as a header",
                                 "'third': reads the first line of each file of @second as a header"}) {
    const size_t at = faults.find(part);
    ASSERT_NE(at, faults.npos) << faults;
    EXPECT_EQ(faults.find(part, at + 1), faults.npos) << faults;
  }
}

TEST(ChainTest, OneStepMayBeReadByTwoStagesAndTwoSteps) {
  auto join = JobStepOf("join", {"@a", "@b"});
  join.plan.stages[0].inputs[0].input = 0;
  PlanStage right = join.plan.stages[0];
  right.name = "right";
  right.inputs[0].input = 1;
  join.plan.stages.insert(join.plan.stages.begin() + 1, right);
  const Plan plan =
      Chained({JobStepOf("grep", {"/logs"}, true), JobStepOf("a", {"@grep"}), JobStepOf("b", {"@grep"}), join});
  ASSERT_EQ(plan.stages.size(), 8u);
  EXPECT_EQ(plan.stages[plan.stages[5].inputs[0].from].name, "a.reduce");
  EXPECT_EQ(plan.stages[plan.stages[6].inputs[0].from].name, "b.reduce");
}

TEST(ChainTest, OperatorsReadEachOtherByTheirEdges) {
  auto count = OpStepOf("count", {"@split"}, {"group"});
  auto split = OpStepOf("split", {"/in", "/more"});
  split.step.combine = true;
  const Plan plan = Chained({split, count, OpStepOf("top", {"@count"}, {"many_to_one"})});
  EXPECT_THAT(plan.stages[0].inputs[0].uris, ElementsAre("/in", "/more"));
  EXPECT_TRUE(plan.stages[0].ports[0].sorted && plan.stages[0].ports[0].combine);
  EXPECT_TRUE(plan.stages[1].inputs[0].grouped);
  EXPECT_EQ(plan.stages[1].inputs[0].kind, "all_to_all");
  EXPECT_EQ(plan.stages[1].inputs[0].format, "");
  EXPECT_FALSE(plan.stages[1].ports[0].sorted);
  EXPECT_TRUE(plan.stages[2].ports[0].files);
}

// Whichever of its readers comes last.
TEST(ChainTest, APortIsSortedWhereOneOfItsReadersGroups) {
  for (const bool group_first : {true, false}) {
    const Plan plan =
        Chained({OpStepOf("split", {"/in"}), OpStepOf("a", {"@split"}, {group_first ? "group" : "all_to_all"}),
                 OpStepOf("b", {"@split"}, {group_first ? "all_to_all" : "group"}),
                 OpStepOf("end", {"@a", "@b"}, {"many_to_one"})});
    EXPECT_TRUE(plan.stages[0].ports[0].sorted);
    EXPECT_EQ(plan.stages[1].inputs[0].grouped, group_first);
    EXPECT_EQ(plan.stages[2].inputs[0].grouped, !group_first);
  }
}

TEST(ChainTest, WhatCannotBeChainedIsNamedWithItsStep) {
  EXPECT_THAT(Faults({JobStepOf("a", {"/in"}), JobStepOf("b", {"/in"})}),
              HasSubstr("the steps 'a', 'b' are not read by others"));
  EXPECT_THAT(Faults({JobStepOf("a", {"/in"}), JobStepOf("b", {"@a", "/in"})}),
              HasSubstr("step 'b': its stage 'map' reads a step and files as one input"));
  EXPECT_THAT(Faults({JobStepOf("a", {"/in"}, true, "record"), JobStepOf("b", {"@a"})}),
              HasSubstr("step 'b': its stage 'map' reads files of format text, but step 'a' writes record"));
  auto lines_only = JobStepOf("b", {"@a"});
  lines_only.step.format = "csv";
  lines_only.plan.stages[0].inputs[0].only_format = true;
  EXPECT_THAT(Faults({JobStepOf("a", {"/in"}), lines_only}),
              HasSubstr("step 'b': its stage 'map' reads files of format text only, not csv"));
  auto named = JobStepOf("b", {});
  named.plan.stages[0].inputs[0].uris = {"@aa"};
  EXPECT_THAT(Faults({JobStepOf("a", {"/in"}), named}),
              HasSubstr("step 'b': reads @aa, but no step has that name (did you mean 'a'?)"));
  auto numbered = JobStepOf("b", {"@a", "/unread"});
  numbered.plan.stages[0].inputs[0].input = 0;
  PlanStage other = numbered.plan.stages[0];
  numbered.plan.stages[0].inputs.push_back(other.inputs[0]);
  numbered.plan.stages[0].inputs[1].input = 2;
  EXPECT_THAT(Faults({JobStepOf("a", {"/in"}), numbered}),
              HasSubstr("step 'b': its job reads 3 inputs, but 'input' lists 2"));
  EXPECT_THAT(Faults({OpStepOf("split", {"/in"}), OpStepOf("count", {"@split:1"})}),
              HasSubstr("step 'split': nothing reads its port 0"));
  EXPECT_THAT(Faults({JobStepOf("a", {"/in"}), JobStepOf("a.map", {"@a"}, true)}),
              HasSubstr("steps 'a' and 'a.map' would both have a stage 'a.map': rename one of them"));
  EXPECT_EQ(Faults({JobStepOf("a", {"/in"}), JobStepOf("a.b", {"@a"}, true)}), "");
  EXPECT_THAT(Faults({JobStepOf("a", {"/in"}), OpStepOf("b", {"@a"}, {"group"})}),
              HasSubstr("step 'b': cannot read @a by edge group"));
  EXPECT_THAT(Faults({OpStepOf("s", {"/in"}), OpStepOf("x", {"@s"}, {"group"}), OpStepOf("y", {"@s", "@x"})}),
              HasSubstr("its port 0 is read by keys"));
}

TEST(ChainTest, AMistakeThatTwoStagesMakeIsToldOnce) {
  auto named = JobStepOf("a", {"/in"});
  named.plan.stages.back().ports.push_back(named.plan.stages.back().ports.back());
  auto twice = JobStepOf("b", {"@a"});
  twice.plan.stages.push_back(twice.plan.stages[0]);
  twice.plan.stages.back().name = "sample";
  const std::string faults = Faults({named, twice});
  EXPECT_THAT(faults, HasSubstr("step 'b': cannot read @a, which writes files in more than one stage or under several "
                                "names: run it as a separate job"));
  EXPECT_THAT(faults, Not(HasSubstr("2 mistakes")));
}

}  // namespace
}  // namespace mr::ctl
