#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "common/base/rng.h"
#include "jobs/builtin/row_table.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using testing::HasSubstr;

LocalResult Join(const std::string& left, const std::string& right, const std::vector<std::string>& on = {"--on", "id"},
                 const LocalOptions& shape = Shapes()[1]) {
  LocalJob job(Builtins(), shape);
  job.File("l.csv", left).File("r.csv", right);
  std::vector<std::string> args = {"--left", "l.csv", "--right", "r.csv"};
  args.insert(args.end(), on.begin(), on.end());
  return job.Run("join", args);
}

TEST(JoinTest, EqualsTwoLoops) {
  Rng rng(9);
  std::vector<std::pair<std::string, std::string>> left, right;
  std::string left_text = "id,name\n", right_text = "city,id\n";
  for (int i = 0; i < 120; ++i) {
    left.emplace_back(std::to_string(rng.Below(60)), "n" + std::to_string(i));
    right.emplace_back(std::to_string(rng.Below(90)), "c" + std::to_string(i));
    left_text += left.back().first + "," + left.back().second + "\n";
    right_text += right.back().second + "," + right.back().first + "\n";
  }
  std::vector<std::string> expected;
  for (const auto& [a, name] : left) {
    for (const auto& [b, city] : right) {
      if (a == b) expected.push_back(a + "," + name + "," + city);
    }
  }
  std::sort(expected.begin(), expected.end());
  ASSERT_GT(expected.size(), 50u);
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult result = Join(left_text, right_text, {"--on", "id"}, shape);
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_EQ(SortedLinesOf(result.Rows()), expected);
  }
}

// Also where tasks share the rows of one side.
TEST(JoinTest, EachTypeIsTheSameForAllSeeds) {
  std::string left = "id,a\n", right = "id,b\n";
  for (int i = 0; i < 40; ++i) {
    left += std::to_string(i % 3 == 0 ? 1 : i % 7) + ",l" + std::to_string(i) + "\n";
    right += std::to_string(i % 4 == 0 ? 1 : i % 11) + ",r" + std::to_string(i) + "\n";
  }
  for (const std::string type : {"inner", "left", "right", "full", "semi", "anti"}) {
    LocalJob job(Builtins(), {.split_bytes = 50});
    job.File("l.csv", left).File("r.csv", right);
    const auto verdict =
        ExpectDeterministic(job, "join", {"--left", "l.csv", "--right", "r.csv", "--on", "id", "--type", type});
    EXPECT_TRUE(verdict.ok) << type << ": " << verdict.text;
  }
}

TEST(JoinTest, EachTypeIsAsInSql) {
  const std::string left = "id,a\n1,x\n2,y\n2,z\n3,w\n", right = "b,id,c\np,2,q\nr,4,s\nt,2,\"u\nv\"\n";
  const std::map<std::string, std::vector<std::string>> expected = {
      {"inner", {"2,y,p,q", "2,y,t,\"u", "2,z,p,q", "2,z,t,\"u", "v\"", "v\""}},
      {"left", {"1,x,,", "2,y,p,q", "2,y,t,\"u", "2,z,p,q", "2,z,t,\"u", "3,w,,", "v\"", "v\""}},
      {"right", {"2,y,p,q", "2,y,t,\"u", "2,z,p,q", "2,z,t,\"u", "4,,r,s", "v\"", "v\""}},
      {"full", {"1,x,,", "2,y,p,q", "2,y,t,\"u", "2,z,p,q", "2,z,t,\"u", "3,w,,", "4,,r,s", "v\"", "v\""}},
      {"semi", {"2,y", "2,z"}},
      {"anti", {"1,x", "3,w"}}};
  for (const auto& [type, rows] : expected) {
    for (const LocalOptions& shape : Shapes()) {
      const LocalResult result = Join(left, right, {"--on", "id", "--type", type}, shape);
      ASSERT_TRUE(result.ok) << result.error;
      EXPECT_EQ(SortedLinesOf(result.Rows()), rows) << type;
    }
    const LocalResult in_files = Join(left, right, {"--on", "id", "--type", type, "--left-bytes", "1"});
    ASSERT_TRUE(in_files.ok) << in_files.error;
    EXPECT_EQ(SortedLinesOf(in_files.Rows()), rows) << type << " by way of files";
  }
  EXPECT_THAT(PlanRefusal("join", {"--left", "a", "--right", "b", "--on", "x", "--type", "outer"}),
              HasSubstr("use inner"));
}

TEST(JoinTest, MissingKeysHaveNoPartners) {
  const std::string left = "id,a\n,x\n1,y\n-,z\n", right = "id,b\n,p\n1,q\n-,r\n,s\n";
  const std::map<std::string, std::vector<std::string>> expected = {
      {"inner", {"1,y,q"}},
      {"left", {"-,z,-", ",x,-", "1,y,q"}},
      {"right", {"-,-,r", ",-,p", ",-,s", "1,y,q"}},
      {"full", {"-,-,r", "-,z,-", ",-,p", ",-,s", ",x,-", "1,y,q"}},
      {"semi", {"1,y"}},
      {"anti", {"-,z", ",x"}}};
  for (const auto& [type, rows] : expected) {
    for (const std::vector<std::string>& way :
         {std::vector<std::string>{}, {"--broadcast-bytes", "0"}, {"--broadcast-bytes", "1m"}, {"--left-bytes", "1"}}) {
      std::vector<std::string> args = {"--on", "id", "--type", type, "--null", "-"};
      args.insert(args.end(), way.begin(), way.end());
      const LocalResult result = Join(left, right, args);
      ASSERT_TRUE(result.ok) << result.error;
      std::vector<std::string> sorted = rows;
      std::sort(sorted.begin(), sorted.end());
      EXPECT_EQ(SortedLinesOf(result.Rows()), sorted) << type;
    }
  }
}

TEST(JoinTest, ALeftSideThatDoesNotFitIsJoinedByWayOfFiles) {
  std::string left = "id,a\n", right = "id,b\n", expected;
  for (int i = 0; i < 20000; ++i) {
    const std::string id = std::to_string(i * 31 % 7919);
    left += id + "," + std::string(static_cast<size_t>(i % 50), 'l') + "\n";
    if (i % 3 == 0) right += id + ",r" + std::to_string(i) + "\n";
  }
  const LocalOptions shape{.split_bytes = 100'000, .reduces = 2, .batch_records = 500, .block_bytes = 10'000};
  const LocalResult whole = Join(left, right, {"--on", "id", "--type", "full"}, shape);
  const LocalResult parts = Join(left, right, {"--on", "id", "--type", "full", "--left-bytes", "300000"}, shape);
  ASSERT_TRUE(whole.ok && parts.ok) << whole.error << parts.error;
  EXPECT_EQ(whole.counters.count({"join", "joined by way of files"}), 0u);
  EXPECT_EQ(parts.counters.at({"join", "joined by way of files"}), 2);
  EXPECT_TRUE(SortedLinesOf(whole.Output()) == SortedLinesOf(parts.Output()));
}

TEST(JoinTest, OneKeyWithMoreRowsThanMemoryIsJoinedInTurns) {
  std::string left = "id,a\n", right = "id,b\n";
  for (int i = 0; i < 3000; ++i)
    left += (i % 100 == 0 ? "rare" + std::to_string(i) : "often") + ",l" + std::to_string(i) + "\n";
  for (int i = 0; i < 40; ++i)
    right += (i % 4 == 0   ? "rare" + std::to_string(i * 50)
              : i % 4 == 1 ? "never"
                           : "often") +
             ",r" + std::to_string(i) + "\n";
  for (const std::string type : {"inner", "right", "full", "semi", "anti"}) {
    const LocalResult whole = Join(left, right, {"--on", "id", "--type", type});
    const LocalResult turns = Join(left, right, {"--on", "id", "--type", type, "--left-bytes", "40000"});
    ASSERT_TRUE(whole.ok && turns.ok) << whole.error << turns.error;
    EXPECT_TRUE(SortedLinesOf(whole.Output()) == SortedLinesOf(turns.Output())) << type;
  }
}

TEST(RowTableTest, AnEmptyRowHasAPlace) {
  RowTable table;
  table.AddCopy(HashBytes(""), "", "");
  EXPECT_EQ(table.Find(HashBytes(""), ""), 0u);
}

TEST(RowTableTest, HoldsAsManyRowsInEachTurnAsInTheFirst) {
  for (const bool one_key : {true, false}) {
    RowTable table;
    std::vector<uint32_t> turns;
    for (int turn = 0; turn < 4; ++turn) {
      table.Clear(1000);
      for (int i = 0; table.bytes() <= 4'000'000; ++i) {
        const std::string key = one_key ? "k" : std::to_string(i);
        table.AddCopy(HashBytes(key), key, ",rest");
      }
      turns.push_back(table.size());
    }
    EXPECT_GT(turns[0], 10'000u);
    EXPECT_EQ(turns, std::vector<uint32_t>(4, turns[0]));
  }
}

TEST(JoinTest, QuotesBlankLinesAndCarriageReturnsAreHandled) {
  const LocalResult result = Join(
      "\xef\xbb\xbf"
      "key,\"a,b\"\r\n\"1,5\",\"say \"\"hi\"\"\"\r\n\r\n2,\r\n",
      "x,id,y\n,\"1,5\",z\n\n", {"--left-on", "key", "--right-on", "id"});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.Rows(), "\"1,5\",\"say \"\"hi\"\"\",,z\n");
}

TEST(JoinTest, AColumnThatIsMissingIsNamedWithItsNeighbours) {
  EXPECT_THAT(
      Join("id2,name\n1,a\n", "id,b\n1,2\n").error,
      testing::AllOf(HasSubstr("l.csv has no column 'id'"), HasSubstr("did you mean 'id2'?"), HasSubstr("id2, name")));
  EXPECT_THAT(Join("", "id,b\n1,2\n").error, HasSubstr("the left input is empty"));
}

TEST(JoinTest, BadRowsAreRefusedWithFileAndByte) {
  EXPECT_THAT(Join("id,n\n1,a\n2,\"b\"c\n", "id,m\n1,2\n").error,
              testing::AllOf(HasSubstr("l.csv, byte 9:"), HasSubstr("text follows the quote")));
  EXPECT_THAT(Join("id,n\n1,a\n", "id,m\n1,2\n3\n").error,
              testing::AllOf(HasSubstr("r.csv, byte 9:"), HasSubstr("1 fields, the header has 2")));
}

TEST(JoinTest, SaysWhichArgumentIsMissing) {
  EXPECT_THAT(PlanRefusal("join", {"--left", "a"}), HasSubstr("--on COLUMN"));
  EXPECT_THAT(PlanRefusal("join", {"--left", "a", "--on", "x"}), HasSubstr("right CSV input"));
  EXPECT_THAT(PlanRefusal("join", {"--lft", "a"}), HasSubstr("did you mean '--left'?"));
}

}  // namespace
}  // namespace mr::builtin
