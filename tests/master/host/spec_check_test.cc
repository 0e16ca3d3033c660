// Tests of the check of a job's spec.
#include "master/core/spec_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace mr::master {
namespace {

using testing::HasSubstr;

const std::string kSha256(64, 'a');

InputSpec Files() {
  InputSpec input;
  input.files.uris = {"file:///in"};
  input.files.format = "text";
  return input;
}

InputSpec Edge(uint32_t stage, EdgeKind kind) {
  InputSpec input;
  input.is_edge = true;
  input.stage = stage;
  input.kind = kind;
  return input;
}

PortSpec Shuffle() { return {}; }

PortSpec OutputFiles(const std::string& name = "") {
  PortSpec port;
  port.files = true;
  port.format = "text";
  port.name = name;
  return port;
}

StageSpec Stage(const std::string& name, InputSpec input, PortSpec port) {
  StageSpec stage;
  stage.name = name;
  stage.operator_name = "o";
  stage.inputs = {std::move(input)};
  stage.ports = {std::move(port)};
  return stage;
}

JobSpec Job(std::vector<StageSpec> stages) {
  JobSpec spec;
  spec.name = "job";
  spec.output_uri = "file:///out";
  spec.stages = std::move(stages);
  return spec;
}

using Change = std::function<void(JobSpec&)>;

Result<JobSpec> Checked(JobSpec spec, const Change& change) {
  change(spec);
  return CheckSpec(std::move(spec));
}

// One stage that reads files and writes files, changed.
Result<JobSpec> OneStage(const Change& change) { return Checked(Job({Stage("map", Files(), OutputFiles())}), change); }

// A map and a reduce, changed.
Result<JobSpec> TwoStages(const Change& change) {
  JobSpec spec = Job({Stage("map", Files(), Shuffle()), Stage("reduce", Edge(0, EdgeKind::kAllToAll), OutputFiles())});
  spec.stages[0].ports[0].sorted = true;
  spec.stages[1].inputs[0].grouped = true;
  return Checked(std::move(spec), change);
}

// A map, a stage that shares its fat partitions, one that reads that one-to-one, changed.
Result<JobSpec> Shared(const Change& change) {
  JobSpec spec = Job({Stage("s0", Files(), Shuffle()), Stage("s1", Edge(0, EdgeKind::kAllToAll), Shuffle()),
                      Stage("s2", Edge(1, EdgeKind::kOneToOne), OutputFiles())});
  spec.stages[1].inputs[0].splits = true;
  return Checked(std::move(spec), change);
}

void Nothing(JobSpec&) {}

TEST(SpecTest, TakesAGoodOneAndLeavesACheckedOneAlone) {
  const auto spec = TwoStages([](JobSpec& s) { s.output_uri = "file:///out//"; });
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_EQ(spec->queue, "default");
  EXPECT_EQ(spec->output_uri, "file:///out");
  EXPECT_TRUE(spec->stages[0].reads_files());
  EXPECT_TRUE(spec->stages[1].is_final());
  EXPECT_EQ(CheckSpec(*spec).value(), *spec);
  JobSpec without_input = *spec;
  without_input.stages[0].inputs.clear();
  const sched::JobGraph graph = GraphOf(without_input);
  EXPECT_EQ(graph.stages[0].slot_kind, sched::SlotKind::kMap) << "what makes its records itself runs on map slots";
  EXPECT_EQ(graph.stages[1].slot_kind, sched::SlotKind::kReduce);
}

TEST(SpecTest, NamesWhatIsWrong) {
  const auto fault = [](const Change& change, const std::string& text) {
    const auto spec = TwoStages(change);
    EXPECT_THAT(spec.status().message(), HasSubstr(text));
    return spec.status().code();
  };
  EXPECT_EQ(fault([](JobSpec& s) { s.name = ""; }, "name"), Code::kInvalidArgument);
  fault([](JobSpec& s) { s.stages[1].name = "map"; }, "two stages are named 'map'");
  fault([](JobSpec& s) { s.stages[0].operator_name = ""; }, "no operator");
  fault([](JobSpec& s) { s.policies = {"delay(node=1)"}; }, "'delay' is one for the whole cluster");
  fault([](JobSpec& s) { s.stages[1].inputs[0].stage = 1; }, "earlier stage");
  fault([](JobSpec& s) { s.stages[1].inputs[0].port = 3; }, "no port 3");
  fault([](JobSpec& s) { s.stages[1].inputs[0].kind = EdgeKind{0}; }, "unknown edge kind");
  fault([](JobSpec& s) { s.stages[1].inputs[0].unknown = true; }, "unknown kind of input");
  fault([](JobSpec& s) { s.stages[1].ports[0].unknown = true; }, "unknown kind of port");
  fault([](JobSpec& s) { s.clones = Wish{9}; }, "unknown wish for clones");
  fault([](JobSpec& s) { s.stages[0].ports[0].sorted = false; }, "sorted port");
  fault([](JobSpec& s) { s.stages[0].inputs[0].files.format = "txt"; }, "did you mean 'text'");
  fault([](JobSpec& s) { s.stages[0].inputs[0].files.format = "fixed:0"; }, "unknown format");
  fault([](JobSpec& s) { s.stages[0].config.resize(kMaxConfigBytes + 1); }, "larger than 256 KiB");
  fault([](JobSpec& s) { s.stages[0].inputs[0].files.uris.resize(kMaxUris + 1, "file:///in"); },
        "more than 10000 paths");
  fault([](JobSpec& s) { s.stages.resize(kMaxStages + 1); }, "more than 256 stages");
  fault([](JobSpec& s) { s.utility.resize(kMaxUtilityPoints + 1); }, "more than 100 points");
  const auto as_files = [](JobSpec& s, const char* written) -> InputSpec& {
    InputSpec& edge = s.stages[1].inputs[0];
    edge.kind = EdgeKind::kOneToOne;
    edge.grouped = false;
    edge.format = "csv";
    edge.written = written;
    return edge;
  };
  EXPECT_TRUE(TwoStages([&](JobSpec& s) { as_files(s, "text"); }).ok());
  fault([&](JobSpec& s) { as_files(s, "text").format = "cvs"; }, "unknown format 'cvs'");
  fault([&](JobSpec& s) { as_files(s, "text.zst"); }, "not compressed");
  fault([&](JobSpec& s) { as_files(s, "record"); }, "not compressed");
  fault([&](JobSpec& s) { as_files(s, "text").grouped = true; }, "neither all-to-all nor grouped");
  fault([&](JobSpec& s) { as_files(s, "text").kind = EdgeKind::kAllToAll; }, "neither all-to-all nor grouped");
  fault([](JobSpec& s) { s.output_uri = "/out"; }, "absolute URI");
  fault([](JobSpec& s) { s.output_uri = "file:///"; }, "root");
  fault([](JobSpec& s) { s.policies = {"nonsense"}; }, "nonsense");
  fault([](JobSpec& s) { s.library = "../../x"; }, "SHA-256");
  EXPECT_EQ(fault([](JobSpec& s) { s.output_uri = "s3://b/out"; }, "for inputs only"), Code::kRejected);
  EXPECT_EQ(fault([](JobSpec& s) { s.output_uri = "hdfs://b/out"; }, "not supported yet"), Code::kRejected);
  fault([](JobSpec& s) { s.stages[0].inputs[0].files.uris = {"http://ann:pw@h/x"}; }, "a user name or a password");
  EXPECT_TRUE(TwoStages([](JobSpec& s) { s.stages[0].inputs[0].files.uris = {"https://h/x", "s3://bucket/"}; }).ok());
}

TEST(SpecTest, TimesAreAYearAtMost) {
  const auto spec = TwoStages([](JobSpec& s) {
    s.deadline = s.task_timeout = Millis(1ll << 42);
    s.utility = {{Seconds(1), 1}, {Millis(1ll << 42), 0}};
  });
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_EQ(spec->deadline, Seconds(366 * 86'400));
  EXPECT_EQ(spec->task_timeout, spec->deadline);
  EXPECT_EQ(spec->utility[1].at, spec->deadline);
}

TEST(SpecTest, FatPartitionsAreSharedWhereNoOtherEdgeFixesTheTasksOfAReader) {
  auto spec = Shared(Nothing);
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_TRUE(spec->stages[1].splits());
  spec = Shared([](JobSpec& s) {
    s.stages[0].ports = {Shuffle(), Shuffle()};
    s.stages[2].inputs.push_back(Edge(0, EdgeKind::kAllToAll));
    s.stages[2].inputs[1].port = 1;
  });
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_FALSE(spec->stages[1].splits());
  spec = Shared([](JobSpec& s) { s.stages[1].inputs[0].kind = EdgeKind::kManyToOne; });
  EXPECT_EQ(spec.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(spec.status().message(), HasSubstr("only partitions of an all-to-all edge can be split"));
}

TEST(SpecTest, RefusesSideFilesThatCannotBe) {
  EXPECT_TRUE(OneStage([](JobSpec& s) { s.files = {{"a.txt", kSha256}, {"b", kSha256}}; }).ok());
  const auto refused = [](const std::vector<SideFile>& files, const std::string& said) {
    const auto spec = OneStage([&](JobSpec& s) { s.files = files; });
    EXPECT_EQ(spec.status().code(), Code::kInvalidArgument) << said;
    EXPECT_THAT(spec.status().message(), HasSubstr(said));
  };
  refused({{"a", kSha256}, {"a", kSha256}}, "two side files have the name 'a'");
  refused({{"..", kSha256}}, "is no name of a file");
  refused({{"../../etc/passwd", kSha256}}, "is no name of a file");
  refused({{"", kSha256}}, "is no name of a file");
  refused({{"a", "../../x"}}, "must be named by its SHA-256");
  refused(std::vector<SideFile>(101, {"a", kSha256}), "more than 100 side files");
}

// The names of a final stage's ports.
Status WithOutputs(const std::vector<std::string>& names, bool shuffle_too = false) {
  return OneStage([&](JobSpec& s) {
           s.stages[0].ports.clear();
           for (const std::string& name : names) s.stages[0].ports.push_back(OutputFiles(name));
           if (shuffle_too) s.stages[0].ports.push_back(Shuffle());
         })
      .status();
}

TEST(SpecTest, FurtherOutputsHaveNamesOfTheirOwn) {
  EXPECT_TRUE(WithOutputs({"", "errors", "a.b_c-1", "_skipped"}).ok());
  for (const char* name : {"", "part", "_", "__hidden", "_.hidden", ".hidden", "a/b", "../up", "a b"}) {
    EXPECT_THAT(WithOutputs({"", name}).message(), HasSubstr("is no name of a further output")) << name;
  }
  EXPECT_THAT(WithOutputs({"main"}).message(), HasSubstr("is no name of a further output"));
  EXPECT_THAT(WithOutputs({"", "a", "a"}).message(), HasSubstr("two outputs have the name 'a'"));
  EXPECT_THAT(WithOutputs({""}, true).message(), HasSubstr("either shuffle ports or files ports"));
}

TEST(SpecTest, MemoryOfAStageGoesBeforeThatOfTheJob) {
  const auto graph = [](uint64_t job, uint64_t stage) {
    const auto spec = OneStage([&](JobSpec& s) {
      s.memory_bytes = job;
      s.stages[0].memory_bytes = stage;
    });
    EXPECT_TRUE(spec.ok()) << spec.status().ToString();
    return GraphOf(*spec).stages[0].memory_bytes;
  };
  EXPECT_EQ(graph(0, 0), 0u);
  EXPECT_EQ(graph(100, 0), 100u);
  EXPECT_EQ(graph(100, 30), 30u);
  EXPECT_EQ(graph(0, 30), 30u);
}

TEST(SpecTest, AnOperatorHasOneNameInAllJobs) {
  JobSpec spec = Job({Stage("map", Files(), OutputFiles())});
  const std::string built_in = spec.OperatorOf(spec.stages[0]);
  spec.stages[0].config = "other";
  EXPECT_NE(spec.OperatorOf(spec.stages[0]), built_in) << "a built-in one may run a command line";
  spec.library = kSha256;
  EXPECT_EQ(spec.OperatorOf(spec.stages[0]), kSha256 + ":o");
  spec.stages[0].builtin = true;
  EXPECT_THAT(spec.OperatorOf(spec.stages[0]), testing::StartsWith("built-in:o:"));
}

}  // namespace
}  // namespace mr::master
