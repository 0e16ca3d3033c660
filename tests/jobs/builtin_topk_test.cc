// Job topk with --per: the best rows of each group.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

LocalResult TopK(const std::string& csv, const std::vector<std::string>& args, const LocalOptions& shape) {
  return LocalJob(Builtins(), shape).Input("t.csv", csv).Run("topk", args);
}

constexpr char kRaces[] =
    "team,who,points\n"
    "red,ann,10\n"
    "blue,bob,7\n"
    "red,cid,10.0\n"
    "red,dan,9.5\n"
    "blue,eve,-3\n"
    "red,fay,\n"
    "\"red, old\",gus,1\n"
    "red,hal,10\n";

TEST(TopKPerGroupTest, KeepsTheBestRowsOfEachGroupInOrder) {
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult two = TopK(kRaces, {"--by", "points", "--per", "team", "-n", "2"}, shape);
    ASSERT_TRUE(two.ok) << two.error;
    EXPECT_EQ(two.header, "team,who,points\n");
    EXPECT_THAT(SortedLinesOf(two.Rows()),
                ElementsAre("\"red, old\",gus,1", "blue,bob,7", "blue,eve,-3", "red,ann,10", "red,cid,10.0"));
    const LocalResult one = TopK(kRaces, {"--by", "points", "--per", "team", "-n", "1", "--smallest"}, shape);
    EXPECT_THAT(SortedLinesOf(one.Rows()), ElementsAre("\"red, old\",gus,1", "blue,eve,-3", "red,dan,9.5"));
  }
  // Within a part the rows of a group follow each other.
  const LocalOptions shape{.split_bytes = 30, .reduces = 1, .batch_records = 2, .block_bytes = 20};
  EXPECT_THAT(LinesOf(TopK(kRaces, {"--by", "points", "--per", "team"}, shape).Rows()),
              ElementsAre("blue,bob,7", "blue,eve,-3", "red,ann,10", "red,cid,10.0", "red,hal,10", "red,dan,9.5",
                          "\"red, old\",gus,1"));
}

TEST(TopKPerGroupTest, AGroupMayHaveSeveralColumnsAndAnyBytes) {
  const std::string zero("\0", 1);
  const std::string csv = "a,b,n\nx" + zero + ",y,1\nx,y,2\nx" + zero + ",y,3\nx,,4\nx,,5\n";
  for (const LocalOptions& shape : Shapes()) {
    for (const std::vector<std::string>& per :
         {std::vector<std::string>{"--per", "a,b"}, std::vector<std::string>{"--per", "a", "--per", "b"}}) {
      std::vector<std::string> args = {"--by", "n", "-n", "1"};
      args.insert(args.end(), per.begin(), per.end());
      EXPECT_THAT(SortedLinesOf(TopK(csv, args, shape).Rows()), ElementsAre("x" + zero + ",y,3", "x,,5", "x,y,2"));
    }
  }
}

// A row that is there twice is two rows; more groups than one table holds are sent in parts.
TEST(TopKPerGroupTest, ManyGroupsAreCompleteWhereTheTableIsFull) {
  constexpr int kGroups = 40'000;
  std::string csv = "g,n,text\n";
  const std::string padding(200, 'p');
  for (int round = 0; round < 3; ++round) {
    for (int g = 0; g < kGroups; ++g) csv += std::to_string(g) + "," + std::to_string(round % 2) + "," + padding + "\n";
  }
  const LocalOptions shape{.split_bytes = 64u << 20, .reduces = 2, .batch_records = 100'000, .block_bytes = 1 << 20};
  const LocalResult result = TopK(csv, {"--by", "n", "--per", "g", "-n", "2", "--smallest"}, shape);
  ASSERT_TRUE(result.ok) << result.error;
  const auto rows = SortedLinesOf(result.Rows());
  ASSERT_EQ(rows.size(), size_t{2} * kGroups);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_THAT(rows[i], HasSubstr(",0,")) << i;
    ASSERT_EQ(rows[i], rows[i ^ 1]);
  }
}

TEST(TopKPerGroupTest, IsDeterministic) {
  Rng rng(8);
  std::string csv = "g,n\n";
  for (int i = 0; i < 300; ++i) csv += "g" + std::to_string(rng.Below(6)) + "," + std::to_string(rng.Below(40)) + "\n";
  LocalJob job(Builtins(), {.split_bytes = 300, .reduces = 2, .batch_records = 20, .block_bytes = 100});
  job.Input("t.csv", csv);
  const Determinism same = ExpectDeterministic(job, "topk", {"--by", "n", "--per", "g", "-n", "3"});
  EXPECT_TRUE(same.ok) << same.text;
}

TEST(TopKPerGroupTest, AMissingColumnIsNamed) {
  EXPECT_THAT(TopK(kRaces, {"--by", "points", "--per", "teem"}, Shapes()[0]).error, HasSubstr("did you mean 'team'?"));
  EXPECT_THAT(PlanRefusal("topk", {"--by", "points", "--per", "a,,b"}), HasSubstr("empty name"));
}

}  // namespace
}  // namespace mr::builtin
