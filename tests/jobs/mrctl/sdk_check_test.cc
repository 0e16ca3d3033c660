// The plans that `mrctl sdk check` accepts are those that a submit accepts.
#include "jobs/mrctl/sdk_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> FaultsOf(const std::string& stages) {
  const auto plan = ParsePlan(R"({"plan": {"version": 1, "stages": [)" + stages + R"(]}, "operators": {"op": 1}})");
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  return plan.ok() ? PlanFaults(*plan, "job") : std::vector<std::string>();
}

const std::string kMap = R"({"name": "map", "operator": "op", "inputs": [{"files": {"input": -1, "format": "text"}}],
                             "ports": [{"shuffle": {"sorted": true, "combine": false, "partition": "hash"}}]})";
std::string Reduce(const std::string& ports, const std::string& edge = R"("kind": "all_to_all", "grouped": true)") {
  return R"({"name": "sum", "operator": "op", "inputs": [{"edge": {"from": "map", "port": 0, )" + edge +
         R"(}}], "ports": [)" + ports + "]}";
}
const std::string kFiles = R"({"files": {"format": "text"}})";

TEST(SdkCheckTest, APlanThatASubmitAcceptsHasNoFaults) {
  EXPECT_THAT(FaultsOf(kMap + "," + Reduce(kFiles)), IsEmpty());
  EXPECT_THAT(FaultsOf(R"({"name": "two", "operator": "op", "ports": [)" + kFiles + R"(],
      "inputs": [{"files": {"input": 0, "format": "csv"}}, {"files": {"input": 1, "format": "text"}}]})"),
              IsEmpty())
      << "inputs are there, as many as it reads";
}

TEST(SdkCheckTest, APlanThatASubmitRefusesHasItsFaults) {
  EXPECT_THAT(FaultsOf(kMap), ElementsAre("nobody reads port 0 of stage 'map'", "no stage writes files"));
  EXPECT_THAT(FaultsOf(kMap + "," + Reduce(R"({"files": {"format": "sheet"}})")), ElementsAre(HasSubstr("sheet")));
  EXPECT_THAT(FaultsOf(kMap + "," + Reduce(kFiles + R"(,{"files": {"format": "text", "name": "part"}})")),
              ElementsAre(HasSubstr("'part' is no name of a further output")));
  EXPECT_THAT(FaultsOf(R"({"name": "s", "operator": "other", "tasks": 1, "inputs": [], "ports": [)" + kFiles + "]}"),
              ElementsAre(HasSubstr("names the operator 'other', which is not in the library")));
  EXPECT_THAT(FaultsOf(R"({"name": "s", "operator": "op", "ports": [)" + kFiles +
                       R"(], "inputs": [{"files": {"uris": ["hdfs://x/y"], "format": "text"}}]})"),
              ElementsAre(HasSubstr("hdfs:// is not supported")));
}

}  // namespace
}  // namespace mr::ctl
