// Tables with rows that cannot be used: a failure with the row's place by default, left out with --max-bad-records.
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

constexpr const char* kTable =
    "user,amount,at\n"
    "ann,1,100\n"
    "bob,2\n"
    "ann,x,110\n"
    "ann,3,never\n"
    "bob,5,120\n"
    "ann,\"4\"z,130\n";

// Over several splits, batches and numbers of tasks.
void Expect(const std::string& job, const std::vector<std::string>& args, uint64_t bad, const std::string& sorted_lines) {
  for (LocalOptions shape : Shapes()) {
    shape.max_bad_records = bad;
    const LocalResult result = LocalJob(Builtins(), shape).Input("t.csv", kTable).Run(job, args);
    ASSERT_TRUE(result.ok) << job << ": " << result.error;
    std::string lines;
    for (const auto& line : SortedLinesOf(result.Output())) lines += line + "\n";
    EXPECT_EQ(lines, sorted_lines) << job;
    EXPECT_EQ(result.counters.at({"mr", "bad_records"}), static_cast<int64_t>(bad)) << job;
    --shape.max_bad_records;
    const LocalResult fewer = LocalJob(Builtins(), shape).Input("t.csv", kTable).Run(job, args);
    EXPECT_NE(fewer.error.find("bad records"), std::string::npos) << job << ": " << fewer.error;
  }
}

TEST(BadRowsTest, LeaveNothingBehindInAggregates) {
  // Of the row with 'x' the count must not have risen, and no group be there that only bad rows have.
  Expect("aggregate", {"--by", "user", "--agg", "count,sum(amount),max(at)"}, 3, "ann,2,4,never\nbob,1,5,120\n");
  Expect("aggregate", {"--by", "amount", "--agg", "sum(amount)"}, 3, "1,1\n3,3\n5,5\n");
}

TEST(BadRowsTest, AreLeftOutOfOtherTables) {
  Expect("topk", {"--by", "amount", "-n", "2"}, 3, "ann,3,never\nbob,5,120\n");
  Expect("sessionize", {"--user", "user", "--time", "at", "--gap", "60s"}, 3,
         "ann,1,100,110,2\nbob,1,120,120,1\n");
}

TEST(BadRowsTest, AreLeftOutOfJoins) {
  for (LocalOptions shape : Shapes()) {
    for (const char* small : {"", "left", "right"}) {
      shape.max_bad_records = 2;
      LocalJob job(Builtins(), shape);
      job.File("left", "k,a\n1,x\n2\n3,z\n").File("right", "k,b\n1,p\n3,q,r\n3,s\n");
      if (*small != '\0') job.InputBytes(small, 20);  // and so it is sent to all tasks
      const LocalResult result = job.Run("join", {"--left", "left", "--right", "right", "--on", "k"});
      ASSERT_TRUE(result.ok) << result.error;
      EXPECT_EQ(SortedLinesOf(result.Output()), (std::vector<std::string>{"1,x,p", "3,z,s"}));
      EXPECT_EQ(result.counters.at({"mr", "bad_records"}), 2);
      EXPECT_EQ(result.tasks.contains("left") && result.tasks.contains("right"), *small == '\0');
    }
  }
}

TEST(BadRowsTest, FailWithTheirPlaceByDefault) {
  const LocalResult result = LocalJob(Builtins(), Shapes()[0]).Input("t.csv", kTable).Run("aggregate", {"--agg", "sum(amount)"});
  EXPECT_EQ(result.error, "aggregate: t.csv, byte 25: the row has 2 fields, the header has 3");
}

TEST(BadRowsTest, OfCommandsAreNamedOnStderr) {
  const std::string map = "grep -v bad; echo reporter:bad_record:line 2 >&2";
  LocalOptions shape{.split_bytes = 1 << 20, .max_bad_records = 1};
  const LocalResult one = LocalJob(Builtins(), shape).Input("in", "a\nbad\nb\n").Run("stream", {"--map", map});
  EXPECT_EQ(one.Output(), "a\nb\n") << one.error;
  EXPECT_EQ(one.bad_records, std::vector<std::string>{"in: line 2"});
  shape.max_bad_records = 0;
  const LocalResult none = LocalJob(Builtins(), shape).Input("in", "a\nbad\nb\n").Run("stream", {"--map", map});
  EXPECT_EQ(none.error, "in: line 2");
}

TEST(BadRowsTest, OfGraphsAreLeftOutToo) {
  for (LocalOptions shape : Shapes()) {
    shape.max_bad_records = 1;
    const LocalResult triangles = LocalJob(Builtins(), shape).Input("g", "a b\nb c\nalone\nc a\n").Run("triangles");
    EXPECT_TRUE(triangles.ok) << triangles.error;
    const LocalResult ranks = LocalJob(Builtins(), shape).Input("g", "a b\nb a c\nb a\n").Run("pagerank", {"--rounds", "1"});
    EXPECT_TRUE(ranks.ok) << ranks.error;
    EXPECT_EQ(LinesOf(ranks.Output()).size(), 2u);
  }
}

}  // namespace
}  // namespace mr::builtin
