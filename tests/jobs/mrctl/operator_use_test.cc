// Plans against the functions of their operators, as submit and `sdk check` compare them.
#include "jobs/mrctl/operator_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// The plan of a map and a reduce. map, reduce: lists of calls; shuffle: members of the port; tasks: of the reduce.
Plan UsePlan(const std::string& map, const std::string& reduce, const std::string& shuffle, int tasks = 0) {
  const auto plan = ParsePlan(R"({"plan": {"version": 1, "stages": [
    {"name": "map", "operator": "m", "inputs": [{"files": {"input": -1, "format": "text"}}],
     "ports": [{"shuffle": {"sorted": true)" +
                              shuffle + R"(}}]},
    {"name": "reduce", "operator": "r", "tasks": )" +
                              std::to_string(tasks) + R"(,
     "inputs": [{"edge": {"kind": "all_to_all", "from": "map", "grouped": true}}],
     "ports": [{"files": {"format": "text"}}]}]},
    "operators": {"m": 1, "r": 1}, "calls": {"m": [)" +
                              map + R"(], "r": [)" + reduce + "]}}");
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *plan;
}

constexpr char kCustom[] = R"(, "partition": "custom")";

TEST(OperatorUseTest, APortThatNeedsAFunctionWhichItsOperatorLacksIsAFault) {
  EXPECT_THAT(UseFaults(UsePlan("", "\"groups\"", R"(, "combine": true)")), ElementsAre(HasSubstr("no combiner")));
  EXPECT_THAT(UseFaults(UsePlan("", "\"groups\"", kCustom)), ElementsAre(HasSubstr("no partitioner")));
  EXPECT_FALSE(CheckUse(UsePlan("", "\"groups\"", kCustom)).ok());
  const Plan all = UsePlan(R"("combine", "partition")", "\"groups\"", R"(, "partition": "custom", "combine": true)");
  EXPECT_THAT(UseFaults(all), IsEmpty());
  EXPECT_THAT(UnusedFunctions(all), IsEmpty());
}

TEST(OperatorUseTest, AnOperatorOfGroupsReadsNoFiles) {
  EXPECT_THAT(UseFaults(UsePlan("\"groups\"", "", "")), ElementsAre(HasSubstr("its input 0 is files")));
}

TEST(OperatorUseTest, GroupsOfSeveralKeysNeedThePartitionerOfTheirWriterUnlessOneTaskReadsAll) {
  const std::string reader = R"("groups", "part_groups")";
  EXPECT_THAT(UseFaults(UsePlan("\"partition\"", reader, "")),
              ElementsAre(HasSubstr("a group would be spread over tasks: set `custom_partition`")));
  EXPECT_THAT(UseFaults(UsePlan("", reader, "")), ElementsAre(HasSubstr("derive operator 'm' from mr::ByFirst, and")));
  EXPECT_THAT(UseFaults(UsePlan("\"partition\"", reader, kCustom)), IsEmpty());
  EXPECT_THAT(UseFaults(UsePlan("\"partition\"", reader, "", 1)), IsEmpty());
}

TEST(OperatorUseTest, InputsWithDifferentPartitionersAreAFaultUnlessOneTaskReadsAll) {
  const auto two = [](const std::string& partition, int tasks, const std::string& kind, bool grouped) {
    const auto edge = [&](const std::string& from) {
      return R"({"edge": {"kind": ")" + kind + R"(", "from": ")" + from + R"(", "grouped": )" +
             (grouped ? "true" : "false") + "}}";
    };
    const auto map = [](const std::string& name, const std::string& how) {
      return R"({"name": ")" + name + R"(", "operator": "m", "inputs": [{"files": {"input": -1, "format": "text"}}],
        "ports": [{"shuffle": {"sorted": true, "partition": ")" +
             how + R"("}}]},)";
    };
    const auto plan = ParsePlan(R"({"plan": {"version": 1, "stages": [)" + map("a", "custom") + map("b", partition) +
                                R"({"name": "reduce", "operator": "r", "tasks": )" + std::to_string(tasks) +
                                R"(, "inputs": [)" + edge("a") + "," + edge("b") +
                                R"(], "ports": [{"files": {"format": "text"}}]}]},
      "operators": {"m": 1, "r": 1}, "calls": {"m": ["partition"], "r": []}})");
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return UseFaults(*plan);
  };
  for (const bool grouped : {false, true}) {
    EXPECT_THAT(two("hash", 0, "all_to_all", grouped),
                ElementsAre(HasSubstr("port 0 of stage 'a' has `custom_partition`, and port 0 of stage 'b' is")));
  }
  EXPECT_THAT(two("custom", 0, "all_to_all", true), IsEmpty());
  EXPECT_THAT(two("hash", 1, "all_to_all", true), IsEmpty());
  EXPECT_THAT(two("hash", 0, "broadcast", false), IsEmpty());
}

TEST(OperatorUseTest, AnUnusedPartitionerIsAWarningAndAnUnusedCombinerANote) {
  EXPECT_THAT(UnusedFunctions(UsePlan(R"("combine", "partition")", "\"groups\"", "")),
              ElementsAre(StartsWith("warning: stage 'map' does not use the partitioner of its operator 'm'"),
                          StartsWith("note: stage 'map' does not use the combiner of its operator 'm'")));
  EXPECT_THAT(UnusedFunctions(UsePlan("\"partition\"", "\"groups\"", "", 1)), IsEmpty()) << "one task reads all";
}

}  // namespace
}  // namespace mr::ctl
