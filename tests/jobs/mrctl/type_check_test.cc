// Types between the stages of a plan, as submit and `sdk check` compare them.
#include "jobs/mrctl/type_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/mrctl/chain.h"
#include "jobs/mrctl/csv_stages.h"

namespace mr::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The plan that `mrtask plan` prints for a map, a side stage and a join with these types.
Plan PlanOf(const std::string& types) {
  const auto plan = ParsePlan(R"({"plan": {"version": 1, "stages": [
    {"name": "read", "operator": "w", "inputs": [{"files": {"input": 0, "format": "csv"}}],
     "ports": [{"shuffle": {"sorted": true, "combine": true}}]},
    {"name": "both", "operator": "r",
     "inputs": [{"edge": {"kind": "all_to_all", "from": "read", "grouped": true}},
                {"edge": {"kind": "all_to_all", "from": "read", "grouped": true}},
                {"edge": {"kind": "broadcast", "from": "read"}}],
     "ports": [{"files": {"format": "text"}}]}]},
    "operators": {"w": 1, "r": 1}, "types": )" +
                              types + "}");
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *plan;
}

constexpr char kWriter[] = R"("w": {"inputs": [], "ports": [["str", "i64"]], "side": [], "combine": [["str", "i64"]]})";

std::string Reader(const std::string& left, const std::string& right, const std::string& side) {
  const auto pair = [](const std::string& value) { return "[\"str\", \"" + value + "\"]"; };
  return "{" + std::string(kWriter) + ", \"r\": {\"inputs\": [" + pair(left) + ", " + pair(right) + "], \"side\": [" +
         pair(side) + "]}}";
}

TEST(TypeCheckTest, StagesThatAgreeAreTaken) {
  EXPECT_THAT(TypeFaults(PlanOf(Reader("i64", "i64", "i64"))), IsEmpty());
  EXPECT_TRUE(CheckTypes(PlanOf(Reader("i64", "?", "i64"))).ok());
}

TEST(TypeCheckTest, EachInputThatDisagreesIsNamedWithBothStagesAndTypes) {
  EXPECT_THAT(
      TypeFaults(PlanOf(Reader("i32", "i64", "f64"))),
      ElementsAre("stage 'read' writes (key str, value i64) to port 0, but stage 'both' takes (key str, value i32) "
                  "from it as input 0: let both operators declare the same types",
                  "stage 'read' writes (key str, value i64) to port 0, but stage 'both' takes (key str, value f64) "
                  "from it as input 2: let both operators declare the same types"));
  EXPECT_EQ(CheckTypes(PlanOf(Reader("i64", "u8", "i64"))).code(), Code::kInvalidArgument);
}

// An int64_t in a file of lines is 8 bytes, which no reader of lines understands.
TEST(TypeCheckTest, BinaryRecordsInFilesOfLinesAreWarnedOf) {
  const auto warnings = [](const std::string& port, const std::string& format) {
    return BinaryLines(PlanOf(R"({"r": {"ports": [)" + port + "]}}"), format);
  };
  EXPECT_THAT(
      warnings(R"(["str", "i64"])", ""),
      ElementsAre(testing::AllOf(HasSubstr("stage 'both' writes (key str, value i64)"), HasSubstr("mr::Text"))));
  EXPECT_THAT(warnings(R"(["i64", "none"])", "text.zst"), testing::SizeIs(1));
  for (const char* text : {R"(["str", "str"])", R"(["none", "str"])", R"(["?", "?"])"}) {
    EXPECT_THAT(warnings(text, ""), IsEmpty()) << text;
  }
  EXPECT_THAT(warnings(R"(["str", "i64"])", "record"), IsEmpty());
  EXPECT_THAT(BinaryLines(PlanOf("{}"), ""), IsEmpty()) << "types are not declared";
}

TEST(TypeCheckTest, ACombinerOfAnotherTypeIsNamed) {
  EXPECT_THAT(TypeFaults(PlanOf(R"({"w": {"ports": [["str", "i64"]], "combine": [["str", "i32"]]}})")),
              ElementsAre(HasSubstr("combines it as (key str, value i32)")));
}

TEST(TypeCheckTest, OperatorsThatDeclareNothingAgreeWithAll) {
  EXPECT_THAT(TypeFaults(PlanOf("{}")), IsEmpty());
  EXPECT_THAT(TypeFaults(PlanOf("{" + std::string(kWriter) + "}")), IsEmpty());
}

PlannedStep Operator(const std::string& name, const std::string& types, const std::string& input,
                     const std::string& edge) {
  PlannedStep planned;
  planned.step.name = name;
  planned.step.op = name;
  planned.step.inputs = {input};
  planned.step.inputs_given = true;
  if (!edge.empty()) planned.step.edges = {edge};
  const auto plan = ParsePlan(R"({"plan": {"version": 1, "stages": [{"name": ")" + name +
                              R"(", "operator": "o", "inputs": [], "ports": []}]},
    "operators": {"o": 1}, "types": {"o": )" +
                              types + "}}");
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  planned.plan = *plan;
  return planned;
}

// Operators of one name from two libraries keep the types that each has.
TEST(TypeCheckTest, StepsOfAJobFileAreComparedWhereOneReadsTheRecordsOfAnother) {
  const auto chained = [](const std::string& reads) {
    JobFileFaults faults;
    Plan plan = ChainPlans({Operator("one", R"({"ports": [["str", "i64"]]})", "/in", ""),
                            Operator("two", R"({"inputs": [["str", ")" + reads + R"("]]})", "@one", "group")},
                           &faults);
    EXPECT_TRUE(faults.empty()) << faults.ToStatus("f").message();
    return TypeFaults(plan);
  };
  EXPECT_THAT(chained("i64"), IsEmpty());
  EXPECT_THAT(chained("i32"), ElementsAre(HasSubstr("stage 'one' writes (key str, value i64)")));
}

}  // namespace
}  // namespace mr::ctl
