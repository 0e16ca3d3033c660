// Tables with rows that cannot be used: a failure with the row's place by default, left out with --max-bad-records.
#include <gtest/gtest.h>

#include <set>

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
void Expect(const std::string& job, const std::vector<std::string>& args, uint64_t bad,
            const std::string& sorted_lines) {
  for (LocalOptions shape : Shapes()) {
    shape.max_bad_records = bad;
    const LocalResult result = LocalJob(Builtins(), shape).Input("t.csv", kTable).Run(job, args);
    ASSERT_TRUE(result.ok) << job << ": " << result.error;
    std::string lines;
    for (const auto& line : SortedLinesOf(result.Rows())) lines += line + "\n";
    EXPECT_EQ(lines, sorted_lines) << job;
    EXPECT_EQ(result.counters.at({"mr", "bad_records"}), static_cast<int64_t>(bad)) << job;
    --shape.max_bad_records;
    const LocalResult fewer = LocalJob(Builtins(), shape).Input("t.csv", kTable).Run(job, args);
    EXPECT_NE(fewer.error.find("bad records"), std::string::npos) << job << ": " << fewer.error;
  }
}

TEST(BadRowsTest, LeaveNothingBehindInAggregates) {
  // The row with 'x' must not raise the count, and there is no group that only bad rows have.
  Expect("aggregate", {"--by", "user", "--agg", "count,sum(amount),max(at)"}, 3, "ann,2,4,never\nbob,1,5,120\n");
  Expect("aggregate", {"--by", "amount", "--agg", "sum(amount)"}, 3, "1,1\n3,3\n5,5\n");
}

TEST(BadRowsTest, AreLeftOutOfOtherTables) {
  Expect("topk", {"--by", "amount", "-n", "2"}, 3, "ann,3,never\nbob,5,120\n");
  Expect("sessionize", {"--user", "user", "--time", "at", "--gap", "60s"}, 3, "ann,1,100,110,2\nbob,1,120,120,1\n");
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
      EXPECT_EQ(SortedLinesOf(result.Rows()), (std::vector<std::string>{"1,x,p", "3,z,s"}));
      EXPECT_EQ(result.counters.at({"mr", "bad_records"}), 2);
      EXPECT_EQ(result.tasks.contains("left") && result.tasks.contains("right"), *small == '\0');
    }
  }
}

TEST(BadRowsTest, FailWithTheirPlaceByDefault) {
  const LocalResult result =
      LocalJob(Builtins(), Shapes()[0]).Input("t.csv", kTable).Run("aggregate", {"--agg", "sum(amount)"});
  EXPECT_EQ(result.error, "aggregate: t.csv, byte 25: the row has 2 fields, the header has 3");
}

// Lines of a web server's log, some of them cut within a quoted field.
std::string Log(int lines, const std::set<int>& cut) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    const std::string line =
        "10.0.0.1 - - [01/Jan/2024:10:00:00 +0000] \"GET /p" + std::to_string(i) + " HTTP/1.1\" 200 123";
    text += line.substr(0, cut.contains(i) ? line.find("HTTP") : line.npos) + "\n";
  }
  return text;
}

TEST(BadRowsTest, ACutLineOfALogCostsItselfAndTheNextOneAlone) {
  const std::vector<std::string> args = {"--no-header", "--separator", " ", "--by", "7"};
  for (LocalOptions shape : Shapes()) {
    shape.max_bad_records = 10;
    const std::string log = Log(302, {100, 200});
    const LocalResult result = LocalJob(Builtins(), shape).Input("log", log).Run("aggregate", args);
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_EQ(result.Output(), "200 298\n");
    EXPECT_EQ(result.counters.at({"mr", "bad_records"}), 4);
    const size_t line = log.find('\n') + 1;
    EXPECT_GT(result.counters.at({"mr", "bad_bytes"}), static_cast<int64_t>(3 * line));
    EXPECT_LT(result.counters.at({"mr", "bad_bytes"}), static_cast<int64_t>(4 * line + 16));
  }
  LocalOptions shape{.split_bytes = 4096, .max_bad_records = 3};
  const LocalResult fewer = LocalJob(Builtins(), shape).Input("log", Log(302, {100, 200})).Run("aggregate", args);
  EXPECT_NE(fewer.error.find("4 bad records"), std::string::npos) << fewer.error;
}

TEST(BadRowsTest, OneCutLineOfTenThousandRefusesNoLog) {
  for (const int cut : {0, 5000, 9999}) {
    LocalOptions shape{.split_bytes = 100'000, .max_bad_records = 2};
    const LocalResult result = LocalJob(Builtins(), shape)
                                   .Input("access.log", Log(10'000, {cut}))
                                   .Run("aggregate", {"--no-header", "--separator", " ", "--by", "7"});
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_EQ(result.Output(), cut == 9999 ? "200 9999\n" : "200 9998\n");
  }
}

TEST(BadRowsTest, QuotesWithinUnquotedFieldsAreData) {
  const std::string text = "line\nHe said \"hi\nthere\nand\nbye\" x\nend\n";
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult result = LocalJob(Builtins(), shape).Input("t.csv", text).Run("aggregate", {"--agg", "count"});
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_EQ(result.Rows(), "5\n");
  }
}

TEST(BadRowsTest, WithoutQuotesEachLineIsARow) {
  const std::string text = "a;b\n\"x;1\ny\";2\n\"x;5\n";
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult result =
        LocalJob(Builtins(), shape)
            .Input("t.csv", text)
            .Run("aggregate", {"--separator", ";", "--quote", "none", "--by", "a", "--agg", "sum(b)"});
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_EQ(SortedLinesOf(result.Rows()), (std::vector<std::string>{"\"x;6", "y\";2"}));
  }
}

TEST(BadRowsTest, AnotherQuoteIsReadAndWritten) {
  const LocalResult result = LocalJob(Builtins(), Shapes()[1])
                                 .Input("t.csv", "k,v\n'a,''b',1\n\"c,2\n'a,''b',3\n")
                                 .Run("aggregate", {"--quote", "'", "--by", "k", "--agg", "sum(v)"});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(SortedLinesOf(result.Rows()), (std::vector<std::string>{"\"c,2", "'a,''b',4"}));
  EXPECT_NE(PlanRefusal("aggregate", {"--quote", ","}).find("--quote"), std::string::npos);
  EXPECT_NE(PlanRefusal("aggregate", {"--quote", "ab"}).find("--quote"), std::string::npos);
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
    const LocalResult ranks =
        LocalJob(Builtins(), shape).Input("g", "a b\nb a c\nb a\n").Run("pagerank", {"--rounds", "1"});
    EXPECT_TRUE(ranks.ok) << ranks.error;
    EXPECT_EQ(LinesOf(ranks.Output()).size(), 2u);
  }
}

}  // namespace
}  // namespace mr::builtin
