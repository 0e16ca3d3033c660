#include "jobs/mrctl/job_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/mrctl/csv_stages.h"
#include "jobs/mrctl/uri.h"

namespace mr::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The example of jobs/PLAN.md; config is base64 of "abc".
constexpr char kWordcount[] = R"({"plan": {"version": 1, "stages": [
  {"name": "count", "operator": "wordcount.map", "config": "YWJj", "tasks": 0,
   "inputs": [{"files": {"input": 0, "format": "text"}}],
   "ports": [{"shuffle": {"sorted": true, "combine": true, "partition": "hash"}}]},
  {"name": "sum", "operator": "wordcount.reduce", "config": "", "tasks": 0,
   "inputs": [{"edge": {"kind": "all_to_all", "from": "count", "port": 0, "grouped": true}}],
   "ports": [{"files": {"format": "text"}}]}]},
  "operators": {"wordcount.map": 25, "wordcount.reduce": 9}})";

constexpr char kJoin[] = R"({"plan": {"version": 1, "stages": [
  {"name": "a", "operator": "o", "inputs": [{"files": {"input": 0, "format": "csv"}}], "ports": [{"shuffle": {}}]},
  {"name": "b", "operator": "o", "inputs": [{"files": {"input": 1, "format": "csv"}}], "ports": [{"files": {}}]}]},
  "operators": {"o": 1}})";

SpecOptions Options(std::vector<std::string> inputs) {
  SpecOptions options;
  options.name = "test";
  options.inputs = std::move(inputs);
  options.output_uri = "dfs:///out";
  return options;
}

struct Built {
  JobSpec spec;
  Status status;
  Built(const std::string& json, const SpecOptions& options) {
    auto plan = ParsePlan(json);
    EXPECT_TRUE(plan.ok()) << plan.status().ToString();
    auto built = BuildJobSpec(*plan, options);
    status = built.status();
    if (built.ok()) spec = *std::move(built);
  }
};

TEST(JobSpecTest, CarriesSideFilesBadRecordsAndMemoryOver) {
  SpecOptions options = Options({"dfs:///a"});
  options.max_bad_records = 3;
  options.files = {{"/tmp/x", "n", 5, "abc"}};
  constexpr char kPlan[] = R"({"plan": {"version": 1, "stages": [
    {"name": "a", "operator": "o", "memory_bytes": 1000, "inputs": [{"files": {"input": 0, "format": "text"}}],
     "ports": [{"files": {}}]}]}, "operators": {"o": 1}})";
  Built b(kPlan, options);
  ASSERT_TRUE(b.status.ok()) << b.status.ToString();
  EXPECT_EQ(b.spec.max_bad_records, 3u);
  ASSERT_EQ(b.spec.files.size(), 1u);
  EXPECT_EQ(b.spec.files[0].name, "n");
  EXPECT_EQ(b.spec.files[0].sha256, "abc");
  EXPECT_EQ(b.spec.files[0].bytes, 5u);
  EXPECT_EQ(b.spec.stages[0].memory_bytes, 1000u);
}

TEST(JobSpecTest, CarriesThePlanOverStageByStage) {
  Built b(kWordcount, Options({"dfs:///a", "dfs:///b"}));
  ASSERT_TRUE(b.status.ok()) << b.status.ToString();
  ASSERT_EQ(b.spec.stages.size(), 2u);
  const StageSpec& count = b.spec.stages[0];
  EXPECT_EQ(count.operator_name, "wordcount.map");
  EXPECT_EQ(count.flags, 25u);
  EXPECT_EQ(count.config, "abc");
  EXPECT_TRUE(count.ports[0].sorted);
  EXPECT_TRUE(count.ports[0].combine);
  const InputSpec& edge = b.spec.stages[1].inputs[0];
  EXPECT_TRUE(edge.is_edge);
  EXPECT_EQ(edge.kind, EdgeKind::kAllToAll);
  EXPECT_EQ(edge.stage, 0u);
  EXPECT_TRUE(edge.grouped);
  EXPECT_TRUE(b.spec.stages[1].ports[0].files);
}

TEST(JobSpecTest, GivesAJobOfOneInputAllInputsTogether) {
  Built b(kWordcount, Options({"dfs:///a", "dfs:///b"}));
  ASSERT_TRUE(b.status.ok());
  EXPECT_EQ(b.spec.stages[0].inputs[0].files.uris.size(), 2u);
}

TEST(JobSpecTest, GivesEachNumberedInputItsOwn) {
  Built b(kJoin, Options({"dfs:///a", "dfs:///b"}));
  ASSERT_TRUE(b.status.ok()) << b.status.ToString();
  EXPECT_EQ(b.spec.stages[1].inputs[0].files.uris[0], "dfs:///b");
}

TEST(JobSpecTest, RefusesInputsThatAreMissingOrNotRead) {
  EXPECT_EQ(Built(kWordcount, Options({})).status.code(), Code::kInvalidArgument);
  EXPECT_EQ(Built(kJoin, Options({"dfs:///a"})).status.code(), Code::kInvalidArgument);
  EXPECT_THAT(Built(kJoin, Options({"dfs:///a", "dfs:///b", "dfs:///c"})).status.message(), HasSubstr("dfs:///c"));
}

TEST(JobSpecTest, LetsReducesDecideOnlyStagesThatMerge) {
  SpecOptions options = Options({"dfs:///a"});
  options.reduces = 5;
  Built b(kWordcount, options);
  ASSERT_TRUE(b.status.ok());
  EXPECT_EQ(b.spec.stages[0].tasks, 0u);
  EXPECT_EQ(b.spec.stages[1].tasks, 5u);
}

TEST(JobSpecTest, NoReducesAreRefusedWhereAStageReduces) {
  SpecOptions options = Options({"dfs:///a"});
  options.map_only = true;
  const Status refused = Built(kWordcount, options).status;
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("--reduces 0: this job cannot be map-only"));
  EXPECT_TRUE(Built(R"({"plan": {"version": 1, "stages": [{"name": "a", "operator": "o", "inputs": [{"files": {}}],
      "ports": [{"files": {}}]}]}, "operators": {"o": 0}})",
                    options)
                  .status.ok());
}

TEST(JobSpecTest, AJobOnTablesTakesCsvOnlyAlsoForFilesThatItsArgumentsName) {
  for (const bool own : {false, true}) {
    const std::string plan = std::string(R"x({"plan": {"version": 1, "stages": [{"name": "a", "operator": "o",
        "ports": [{"files": {}}], "inputs": [{"files": {"format": "csv(0x3b,none)", "only_format": true, )x") +
                             (own ? R"x("uris": ["/own"])x" : R"x("input": 0)x") + "}}]}]}, \"operators\": {\"o\": 0}}";
    SpecOptions options = Options(own ? std::vector<std::string>{} : std::vector<std::string>{"dfs:///a"});
    options.format = "csv";
    Built csv(plan, options);
    ASSERT_TRUE(csv.status.ok()) << csv.status.ToString();
    EXPECT_EQ(csv.spec.stages[0].inputs[0].files.format, "csv(0x3b,none)");
    options.format = "jsonl";
    const Status refused = Built(plan, options).status;
    EXPECT_EQ(refused.code(), Code::kInvalidArgument);
    EXPECT_THAT(refused.message(), testing::AllOf(HasSubstr("reads csv here, not jsonl"), HasSubstr("wordcount")));
  }
}

TEST(JobSpecTest, ReadsConfAndRefusesWhatItDoesNotKnow) {
  SpecOptions options = Options({"dfs:///a"});
  options.conf = {{"sort_buffer", "4m"}, {"max_split_bytes", "4k"}};
  Built b(kWordcount, options);
  ASSERT_TRUE(b.status.ok()) << b.status.ToString();
  EXPECT_EQ(b.spec.sort_buffer_bytes, 4u << 20);
  EXPECT_EQ(b.spec.stages[0].inputs[0].files.max_split_bytes, 4096u);
  EXPECT_EQ(b.spec.conf.size(), 2u);
  // The user's setting overrides the plan's.
  std::string planned = kWordcount;
  const std::string format = R"("format": "text"}}],)";
  planned.replace(planned.find(format), format.size(), R"("format": "text", "max_split_bytes": 1000}}],)");
  EXPECT_EQ(Built(planned, options).spec.stages[0].inputs[0].files.max_split_bytes, 4096u);
  SpecOptions none = Options({"dfs:///a"});
  EXPECT_EQ(Built(planned, none).spec.stages[0].inputs[0].files.max_split_bytes, 1000u);
  options.conf = {{"partition_seed", "7"}};  // the same for all stages that meet in a join: not for users
  EXPECT_EQ(Built(kWordcount, options).status.code(), Code::kInvalidArgument);
  options.conf = {{"sort_bufer", "4m"}};
  EXPECT_THAT(Built(kWordcount, options).status.message(), HasSubstr("did you mean 'sort_buffer'"));
  options.conf = {{"sort_buffer", "4"}};
  EXPECT_EQ(Built(kWordcount, options).status.code(), Code::kInvalidArgument);
}

TEST(JobSpecTest, OverridesFormatsAndChecksThem) {
  SpecOptions options = Options({"dfs:///a"});
  options.format = "kv";
  options.output_format = "record";
  Built b(kWordcount, options);
  ASSERT_TRUE(b.status.ok());
  EXPECT_EQ(b.spec.stages[0].inputs[0].files.format, "kv");
  EXPECT_EQ(b.spec.stages[1].ports[0].format, "record");
  options.format = "jsnol";
  EXPECT_THAT(Built(kWordcount, options).status.message(), HasSubstr("did you mean 'jsonl'"));
}

TEST(JobSpecTest, ATableWithAHeaderIsCsvWhateverTextIsWanted) {
  std::string plan = kWordcount;
  const std::string files = R"("ports": [{"files": {"format": "text"}}])";
  plan.replace(plan.find(files), files.size(), R"x("ports": [{"files": {"format": "csv(0x3b,none)"}}])x");
  SpecOptions options = Options({"dfs:///a"});
  for (const auto& [wanted, written] :
       std::vector<std::pair<std::string, std::string>>{{"", "csv(0x3b,none)"},
                                                        {"text", "csv(0x3b,none)"},
                                                        {"csv", "csv(0x3b,none)"},
                                                        {"text.zst", "csv(0x3b,none).zst"},
                                                        {"csv.gz", "csv(0x3b,none).gz"}}) {
    options.output_format = wanted;
    Built b(plan, options);
    ASSERT_TRUE(b.status.ok()) << b.status.ToString();
    EXPECT_EQ(b.spec.stages[1].ports[0].format, written) << wanted;
  }
  options.output_format = "record";
  EXPECT_THAT(Built(plan, options).status.message(), HasSubstr("give it --no-output-header"));
  options.output_format = "csv.zst";
  EXPECT_THAT(Built(kWordcount, options).status.message(),
              HasSubstr("is for jobs that write tables with a header; give text.zst"));
}

TEST(PlanTest, HasNotesAndWhatItAskedFor) {
  const auto plan = ParsePlan(
      R"({"plan": {"version": 1, "notes": ["why"],
                   "stages": [{"name": "x", "operator": "o", "inputs": [], "ports": []}]},
          "wants_bytes": ["a", "b"]})");
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->notes, std::vector<std::string>{"why"});
  EXPECT_EQ(plan->wants_bytes, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(ParsePlan(kWordcount)->notes.empty() && ParsePlan(kWordcount)->wants_bytes.empty());
}

TEST(PlanTest, RefusesWhatIsNoPlan) {
  EXPECT_FALSE(ParsePlan("not json").ok());
  EXPECT_FALSE(ParsePlan("{}").ok());
  EXPECT_FALSE(ParsePlan(R"({"plan": {"version": 2, "stages": []}})").ok());
  EXPECT_FALSE(ParsePlan(R"({"plan": {"version": 1, "stages": []}})").ok());
  EXPECT_THAT(ParsePlan(R"({"plan": {"version": 1, "stages": [{"name": "x", "operator": "o", "ports": [],
      "inputs": [{"edge": {"kind": "broadcast", "from": "later"}}]}]}})")
                  .status()
                  .message(),
              HasSubstr("later"));
}

TEST(CsvStagesTest, HaveNamesThatNoStepHas) {
  Plan plan;
  for (const char* name : {"rows", "csv_quotes"}) {
    PlanStage& stage = plan.stages.emplace_back();
    stage.name = name;
    PlanInput& input = stage.inputs.emplace_back();
    input.files = true;
    input.format = "csv";
    input.uris = {name};
  }
  plan = WithCsvStages(std::move(plan), "");
  ASSERT_EQ(plan.stages.size(), 4u);
  EXPECT_EQ(plan.stages[0].name, "csv_quotes_");
  EXPECT_EQ(plan.stages[1].name, "csv_quotes_2");
  EXPECT_EQ(plan.stages[3].name, "csv_quotes");
}

TEST(CsvStagesTest, FilesWithoutQuotesNeedNoneAndEachDialectItsOwn) {
  const auto stages = [](const char* a, const char* b, const std::string& format) {
    Plan plan;
    for (const char* each : {a, b}) {
      PlanStage& stage = plan.stages.emplace_back();
      stage.name = "rows" + std::to_string(plan.stages.size());
      PlanInput& input = stage.inputs.emplace_back();
      input.files = true;
      input.format = each;
      input.uris = {"/t"};
    }
    return WithCsvStages(std::move(plan), format).stages.size() - 2;
  };
  EXPECT_EQ(stages("csv", "csv", ""), 1u);
  EXPECT_EQ(stages("csv", "csv(0x3b,0x22)", ""), 2u);
  EXPECT_EQ(stages("csv(0x3b,none)", "csv(0x2c,none)", ""), 0u);
}

TEST(Base64Test, DecodesEachLengthAndRefusesStrayBytes) {
  EXPECT_EQ(*DecodeBase64(""), "");
  EXPECT_EQ(*DecodeBase64("YQ=="), "a");
  EXPECT_EQ(*DecodeBase64("YWI="), "ab");
  EXPECT_EQ(*DecodeBase64("/+8A"), std::string("\xff\xef\x00", 3));
  EXPECT_FALSE(DecodeBase64("YQ=").ok());
  EXPECT_FALSE(DecodeBase64("Y?==").ok());
  EXPECT_FALSE(DecodeBase64("YQ==YQ==").ok());
}

TEST(UriTest, MakesBarePathsAbsoluteByMode) {
  EXPECT_EQ(*ResolveUri("a/../b", BarePath::kLocalFile, "/home/x"), "file:///home/x/b");
  EXPECT_EQ(*ResolveUri("/a//b/", BarePath::kLocalFile, "/home/x"), "file:///a/b");
  EXPECT_EQ(*ResolveUri("a", BarePath::kBlockStore, "/home/x"), "dfs:///a");
  EXPECT_EQ(*ResolveUri("file:///a", BarePath::kBlockStore, "/"), "file:///a");
  EXPECT_EQ(*ResolveUri("/in/*.txt", BarePath::kBlockStore, "/"), "dfs:///in/*.txt");
}

TEST(UriTest, SaysOfOtherSchemesThatTheyAreNotSupportedYet) {
  const auto result = ResolveInputUri("hdfs://h/a", BarePath::kBlockStore, "/");
  EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(result.status().message(), HasSubstr("not supported yet"));
  EXPECT_FALSE(ResolveUri("file://host/a", BarePath::kBlockStore, "/").ok());
  EXPECT_FALSE(ResolveUri("", BarePath::kBlockStore, "/").ok());
}

TEST(UriTest, UrlsAreForInputsOnly) {
  for (const char* uri : {"s3://b/k", "http://h/", "https://h/a//b?x=1"}) {
    EXPECT_EQ(ResolveInputUri(uri, BarePath::kBlockStore, "/").value(), uri);
    const auto result = ResolveUri(uri, BarePath::kBlockStore, "/");
    EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(result.status().message(), HasSubstr("inputs of jobs only"));
  }
  EXPECT_EQ(ResolveInputUri("a", BarePath::kBlockStore, "/").value(), "dfs:///a");
  const auto password = ResolveInputUri("https://ann:secret@h/a", BarePath::kBlockStore, "/");
  EXPECT_EQ(password.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(password.status().message(), Not(HasSubstr("secret")));
}

// The options --left and --right of join, and inputs of steps.
TEST(UriTest, StandardInputIsNoFileNamedDash) {
  for (const BarePath bare : {BarePath::kLocalFile, BarePath::kBlockStore}) {
    const auto refused = ResolveInputUri("-", bare, "/home/x");
    EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(refused.status().message(), HasSubstr("only --input takes standard input"));
  }
  EXPECT_EQ(ResolveInputUri("./-", BarePath::kLocalFile, "/home/x").value(), "file:///home/x/-");
}

TEST(PolicyListTest, SplitsAtCommasOutsideOfParentheses) {
  EXPECT_THAT(SplitPolicies("fifo,late(cap=0.2,x=1), dolly"), ElementsAre("fifo", "late(cap=0.2,x=1)", "dolly"));
  EXPECT_TRUE(SplitPolicies("").empty());
  EXPECT_TRUE(CheckPolicyList("").ok());
  EXPECT_TRUE(CheckPolicyList("late").ok());
  EXPECT_FALSE(CheckPolicyList(", ,").ok());
}

TEST(UtilityTest, IsPointsOfRisingTimes) {
  const auto points = ParseUtility("0:1,30m:1,40m:-1.5");
  ASSERT_TRUE(points.ok());
  EXPECT_EQ(*points, (std::vector<UtilityPoint>{{{}, 1}, {Millis(1'800'000), 1}, {Millis(2'400'000), -1.5}}));
  for (const char* wrong :
       {"", "0:1", "0:1,5", "0:1,5:1", "0:1,5s:", "0:1,5s:x", "0:1,5s:nan", "5s:1,5s:0", "5s:1,1s:0", "0:1,,5s:1"}) {
    EXPECT_EQ(ParseUtility(wrong).status().code(), Code::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace mr::ctl
