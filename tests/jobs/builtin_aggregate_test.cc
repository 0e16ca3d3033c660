// Job aggregate beyond counts and sums: names, distinct values, quantiles, variances, rows by another column, lists and
// time buckets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "tests/jobs/builtin_run.h"
#include "tests/jobs/less_memory.h"

namespace mr::builtin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

LocalResult Aggregate(const std::string& csv, const std::vector<std::string>& args,
                      const LocalOptions& shape = Shapes()[1]) {
  return LocalJob(Builtins(), shape).Input("t.csv", csv).Run("aggregate", args);
}

// Every shape gives the same rows.
std::vector<std::string> Groups(const std::string& csv, const std::vector<std::string>& args) {
  std::vector<std::string> rows;
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult result = Aggregate(csv, args, shape);
    EXPECT_TRUE(result.ok) << result.error;
    const auto got = SortedLinesOf(result.Rows());
    EXPECT_TRUE(rows.empty() || got == rows) << result.Output();
    rows = got;
  }
  return rows;
}

std::string HeaderOf(const std::string& csv, const std::vector<std::string>& args) {
  const LocalResult result = Aggregate(csv, args);
  EXPECT_TRUE(result.ok) << result.error;
  return result.header;
}

constexpr char kSales[] =
    "city,amount,person,at\n"
    "Bern,10,ann,2024-03-01 10:05:00\n"
    "Bern,20.5,bob,2024-03-01 10:59:59\n"
    "Ulm,3,cid,2024-03-01 11:00:00\n"
    "Bern,20.50,cid,2024-03-02 09:00:00+02:00\n"
    "Ulm,,dan,1709287500\n"
    "Ulm,7,,2024-02-29\n";

TEST(AggregateFoldsTest, ColumnsAreNamedAsWrittenOrAsRenamed) {
  EXPECT_EQ(HeaderOf(kSales, {"--by", "city", "--agg", "count as n, sum(amount) AS total,quantile(amount, 0.9)"}),
            "city,n,total,\"quantile(amount, 0.9)\"\n");
  EXPECT_EQ(Aggregate(kSales, {"--by", "city", "--agg", "count(*) as n"}).Output(), "city,n\nBern,3\nUlm,3\n");
  EXPECT_EQ(HeaderOf(kSales, {"--agg", "sum(amount) as \"a, b\"", "--agg", "count"}), "\"a, b\",count\n");
  EXPECT_EQ(HeaderOf(kSales, {"--by", "city", "--bucket", "at=1h as hour"}), "city,hour,count\n");
  EXPECT_EQ(HeaderOf("a as b,\"c,d\"\n1,2\n", {"--agg", "sum(a as b), sum(\"c,d\") as x"}), "sum(a as b),x\n");
  EXPECT_EQ(HeaderOf("\"say \"\"hi\"\", (ok)\"\n1\n", {"--agg", "sum(\"say \"\"hi\"\", (ok)\") as x"}), "x\n");
}

TEST(AggregateFoldsTest, QuantilesInterpolateBetweenTheNearestRanks) {
  const std::string csv = "x\n1\n2\n3\n4\n10\n\n";
  EXPECT_THAT(Groups(csv, {"--agg", "median(x),p50(x),p90(x),p99(x),quantile(x,0),quantile(x,1),quantile(x, 0.25)"}),
              ElementsAre("3,3,7.6,9.76,1,10,2"));
  EXPECT_THAT(Groups("x\n0.1\n0.2\n", {"--agg", "median(x),p99.9(x)"}), ElementsAre("0.15,0.1999"));
  EXPECT_THAT(Groups("x\n7\n", {"--agg", "p1(x)"}), ElementsAre("7"));
  EXPECT_THAT(Groups("x,y\n,1\n", {"--agg", "median(x),count"}), ElementsAre(",1"));
  EXPECT_THAT(Groups(kSales, {"--by", "city", "--agg", "median(amount),distinct(amount),distinct(person)"}),
              ElementsAre("Bern,20.5,3,3", "Ulm,5,2,2"));
}

TEST(AggregateFoldsTest, QuantilesOrderNumbersByValueOverTheirWholeRange) {
  EXPECT_THAT(
      Groups("x\n-1e30\n-5\n-0.000000000000000001\n0\n0.000000000000000001\n5.0\n12345678901234567890.5\n1e30\n",
             {"--agg", "quantile(x, 0),median(x),quantile(x, 1)"}),
      ElementsAre("-1e+30,0,1e+30"));
  // Both texts give the same double, but are different numbers.
  EXPECT_THAT(Groups("x\n9007199254740993\n9007199254740992\n9007199254740991.5\n", {"--agg", "median(x)"}),
              ElementsAre("9007199254740992"));
}

TEST(AggregateFoldsTest, VariancesAreOfASampleOrOfAllValues) {
  const std::string csv = "x\n2\n4\n4\n4\n5\n5\n7\n9\n";
  EXPECT_THAT(Groups(csv, {"--agg", "stddev_pop(x),variance_pop(x)"}), ElementsAre("2,4"));
  EXPECT_THAT(Groups(csv, {"--agg", "variance(x)"}), ElementsAre("4.571428571428571"));
  EXPECT_THAT(Groups(csv, {"--agg", "stddev(x)"}), ElementsAre("2.138089935299395"));
  EXPECT_THAT(Groups("x\n3\n", {"--agg", "stddev(x),stddev_pop(x),variance(x)"}), ElementsAre(",0,"));
  EXPECT_THAT(Groups("x,y\n,1\n", {"--agg", "stddev(x),stddev_pop(x)"}), ElementsAre(","));
}

// A sum of squares in double precision has no right digit here.
TEST(AggregateFoldsTest, VariancesAreRightWhereNumbersAreLargeAndClose) {
  EXPECT_THAT(Groups("x\n10000000000000000001\n10000000000000000002\n10000000000000000003\n", {"--agg", "variance(x)"}),
              ElementsAre("1"));
  EXPECT_THAT(
      Groups("x\n-99999999999.000000001\n-99999999999.000000002\n-99999999999.000000003\n", {"--agg", "stddev(x)"}),
      ElementsAre("1e-09"));
}

TEST(AggregateFoldsTest, VariancesOfDoublesAreThoseOfTheirValues) {
  const auto number = [](const std::string& csv, const std::string& agg) {
    return std::stod(Groups(csv, {"--agg", agg}).at(0));
  };
  EXPECT_DOUBLE_EQ(number("x\n1e-20\n3e-20\n", "stddev_pop(x)"), 1e-20);
  EXPECT_DOUBLE_EQ(number("x\n1e25\n3e25\n", "variance_pop(x)"), 1e50);
  EXPECT_DOUBLE_EQ(number("x\n1e300\n-1e300\n", "stddev_pop(x)"), 1e300);
  EXPECT_DOUBLE_EQ(number("x\n1e3\n1e3\n1000\n1002e0\n1002\n1002\n", "variance_pop(x)"), 1);
}

TEST(AggregateFoldsTest, SumsDoNotDependOnTheOrderOfTheirParts) {
  EXPECT_THAT(Groups("x\n1e30\n0.1\n-1e30\n0.2\n", {"--agg", "sum(x),avg(x)"}), ElementsAre("0.3,0.075"));
  EXPECT_THAT(
      Groups("x\n100000000000000000000\n100000000000000000000\n-100000000000000000000\n-99999999999999999999.5\n",
             {"--agg", "sum(x)"}),
      ElementsAre("0.5"));
  EXPECT_THAT(Groups("x\n100000000000000000000\n100000000000000000000\n", {"--agg", "sum(x)"}), ElementsAre("2e+20"));
  EXPECT_THAT(Groups("x\n1e-3\n2e-3\n-3e-3\n1e3\n", {"--agg", "sum(x)"}), ElementsAre("1000"));
}

TEST(AggregateFoldsTest, MinByAndMaxByTakeTheFirstOfEqualRows) {
  EXPECT_THAT(Groups(kSales, {"--by", "city", "--agg", "max_by(person, amount),min_by(person,amount)"}),
              ElementsAre("Bern,bob,ann", "Ulm,cid,cid"));
  EXPECT_THAT(Groups("a,b\nx,5\ny,5.0\nz,05\n", {"--agg", "min_by(a,b),max_by(a,b)"}), ElementsAre("x,x"));
  // A row without either of both does not count; texts come after numbers.
  EXPECT_THAT(Groups("a,b\n,9\nx,5\ny,\nz,10\nt,abc\n", {"--agg", "max_by(a,b),min_by(a,b)"}), ElementsAre("t,x"));
  EXPECT_THAT(Groups("a,b\n,9\n", {"--agg", "max_by(a,b),min_by(a,b)"}), ElementsAre(","));
}

TEST(AggregateFoldsTest, FirstLastAndListFollowTheOrderOfTheInput) {
  EXPECT_THAT(Groups(kSales, {"--by", "city", "--agg", "first(person),last(person),list(person, 2)"}),
              ElementsAre("Bern,ann,cid,\"[\"\"ann\"\",\"\"bob\"\"]\"", "Ulm,cid,dan,\"[\"\"cid\"\",\"\"dan\"\"]\""));
  for (const LocalOptions& shape : Shapes()) {
    std::string one = "g,x\n", two = "g,x\n";
    for (int i = 0; i < 40; ++i) one += std::to_string(i % 2) + ",a" + std::to_string(i) + "\n";
    for (int i = 0; i < 40; ++i) two += std::to_string(i % 2) + ",b" + std::to_string(i) + "\n";
    const LocalResult result = LocalJob(Builtins(), shape)
                                   .Input("z.csv", one)
                                   .Input("a.csv", two)
                                   .Run("aggregate", {"--by", "g", "--agg", "first(x),last(x),list(x, 3)"});
    EXPECT_THAT(SortedLinesOf(result.Rows()), ElementsAre("0,a0,b38,\"[\"\"a0\"\",\"\"a2\"\",\"\"a4\"\"]\"",
                                                          "1,a1,b39,\"[\"\"a1\"\",\"\"a3\"\",\"\"a5\"\"]\""));
  }
}

TEST(AggregateFoldsTest, AListIsAJsonArrayOfStrings) {
  EXPECT_THAT(Groups("x\tn\na\\b\t1\nq\"q\t2\n\xc3\xa9\t3\n\xff\xed\xa0\x80\t4\n",
                     {"--separator", "\\t", "--quote", "none", "--agg", "list(x,9)"}),
              ElementsAre("[\"a\\\\b\",\"q\\\"q\",\"\xc3\xa9\",\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]"));
  EXPECT_THAT(Groups("x,y\n,1\n", {"--agg", "list(x,9)"}), ElementsAre("[]"));
  EXPECT_THAT(LinesOf(Aggregate("x\n\"a\nb\"\n", {"--agg", "list(x,9)"}).Rows()),
              ElementsAre("\"[\"\"a\\u000ab\"\"]\""));
}

TEST(AggregateFoldsTest, AListThatIsTooLongFailsTheJob) {
  std::string csv = "x\n";
  for (int i = 0; i < 6; ++i) csv += std::string(900 << 10, 'x') + "\n";
  const LocalOptions shape{.split_bytes = 2 << 20, .reduces = 1, .batch_records = 100, .block_bytes = 1 << 20};
  EXPECT_THAT(Aggregate(csv, {"--agg", "list(x, 6)"}, shape).error,
              HasSubstr("the values of a list(COLUMN, N) have more than 4 MiB in one group; give a smaller N"));
  EXPECT_TRUE(Aggregate(csv, {"--agg", "list(x, 3)"}, shape).ok);
}

TEST(AggregateFoldsTest, ApproxDistinctIsNearTheCount) {
  std::string csv = "g,x\n";
  for (int i = 0; i < 30'000; ++i) csv += std::to_string(i % 3) + "," + std::to_string(i % 20'000) + "\n";
  for (int i = 0; i < 50; ++i) csv += "few," + std::to_string(i % 25) + "\n";
  const LocalOptions shape{.split_bytes = 20'000, .reduces = 2, .batch_records = 500, .block_bytes = 5'000};
  const LocalResult result = Aggregate(csv, {"--by", "g", "--agg", "approx_distinct(x),distinct(x)"}, shape);
  ASSERT_TRUE(result.ok) << result.error;
  const auto rows = SortedLinesOf(result.Rows());
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[3], "few,25,25");
  for (size_t i = 0; i < 3; ++i) {
    const size_t comma = rows[i].find(',', 2);
    const double estimate = std::stod(rows[i].substr(2, comma - 2)), exact = std::stod(rows[i].substr(comma + 1));
    EXPECT_NEAR(estimate / exact, 1, 0.04) << rows[i];
  }
}

TEST(AggregateFoldsTest, BucketsAreTheStartsOfTimesInUtc) {
  EXPECT_THAT(Groups(kSales, {"--bucket", "at=1h"}), ElementsAre("2024-02-29T00:00:00Z,1", "2024-03-01T10:00:00Z,3",
                                                                 "2024-03-01T11:00:00Z,1", "2024-03-02T07:00:00Z,1"));
  EXPECT_THAT(Groups(kSales, {"--by", "city", "--bucket", "at=month", "--agg", "sum(amount)"}),
              ElementsAre("Bern,2024-03-01T00:00:00Z,51", "Ulm,2024-02-01T00:00:00Z,7", "Ulm,2024-03-01T00:00:00Z,3"));
  EXPECT_THAT(Groups("t\n2024-01-07\n2024-01-08\n2024-01-14 23:59:59.999\n1969-12-28\n", {"--bucket", "t=week"}),
              ElementsAre("1969-12-22T00:00:00Z,1", "2024-01-01T00:00:00Z,1", "2024-01-08T00:00:00Z,2"));
  EXPECT_THAT(Groups("t\n-1\n0\n899\n", {"--bucket", "t=15m"}),
              ElementsAre("1969-12-31T23:45:00Z,1", "1970-01-01T00:00:00Z,2"));
  EXPECT_THAT(Groups("t\n0.26\n0.74\n", {"--bucket", "t=250ms"}),
              ElementsAre("1970-01-01T00:00:00.250Z,1", "1970-01-01T00:00:00.500Z,1"));
  EXPECT_THAT(Groups("t,x\n,1\n2024-05-06,2\n", {"--bucket", "t=year"}), ElementsAre(",1", "2024-01-01T00:00:00Z,1"));
  EXPECT_THAT(Groups("t,u\n5,2024-05-06\n", {"--bucket", "t=1m,u=1d as day", "--agg", "first(t)"}),
              ElementsAre("1970-01-01T00:00:00Z,2024-05-06T00:00:00Z,5"));
  EXPECT_THAT(Groups("t\n1.2.2024\n", {"--bucket", "t=1d", "--time-format", "%d.%m.%Y"}),
              ElementsAre("2024-02-01T00:00:00Z,1"));
}

TEST(AggregateFoldsTest, ARowWithoutATimeIsBad) {
  LocalOptions shape = Shapes()[1];
  EXPECT_THAT(Aggregate("t,x\nsoon,1\n", {"--bucket", "t=1h"}, shape).error,
              HasSubstr("t.csv, byte 4: column 't' has 'soon', which is no time: give seconds, YYYY-MM-DD"));
  shape.max_bad_records = 1;
  EXPECT_EQ(Aggregate("t,x\nsoon,1\n5,2\n", {"--bucket", "t=1h", "--agg", "sum(x)"}, shape).Rows(),
            "1970-01-01T00:00:00Z,2\n");
  EXPECT_THAT(Aggregate("t,x\n1,a\n", {"--agg", "median(x)"}).error, HasSubstr("'a', which is no number"));
  EXPECT_THAT(Aggregate("t,x\n1,a\n", {"--agg", "stddev(x)"}).error, HasSubstr("'a', which is no number"));
}

TEST(AggregateFoldsTest, WrongArgumentsAreExplained) {
  const auto refusal = [](const std::vector<std::string>& args) { return PlanRefusal("aggregate", args); };
  EXPECT_THAT(refusal({"--agg", "quantil(a, 0.5)"}), HasSubstr("did you mean 'quantile'?"));
  EXPECT_THAT(refusal({"--agg", "count(DISTINCT a)"}), HasSubstr("write it as distinct(a)"));
  EXPECT_THAT(refusal({"--agg", "p101(a)"}), HasSubstr("there are count, count(COLUMN), sum, avg"));
  EXPECT_THAT(refusal({"--agg", "quantile(a)"}), HasSubstr("write it as quantile(COLUMN, Q) with Q from 0 to 1"));
  EXPECT_THAT(refusal({"--agg", "quantile(a, 1.5)"}), HasSubstr("write it as quantile(COLUMN, Q)"));
  EXPECT_THAT(refusal({"--agg", "list(a)"}), HasSubstr("write it as list(COLUMN, N) with N from 1 to 10000"));
  EXPECT_THAT(refusal({"--agg", "list(a, 0)"}), HasSubstr("write it as list(COLUMN, N)"));
  EXPECT_THAT(refusal({"--agg", "max_by(a)"}), HasSubstr("write it as max_by(COLUMN, BY)"));
  EXPECT_THAT(refusal({"--agg", "sum(a, b)"}), HasSubstr("write it as sum(COLUMN); the name of a column with a comma"));
  EXPECT_THAT(refusal({"--agg", "sum(a"}), HasSubstr("has a parenthesis that does not end"));
  EXPECT_THAT(refusal({"--agg", "sum(\"a)"}), HasSubstr("has a quote that does not end"));
  EXPECT_THAT(refusal({"--agg", "sum()"}), HasSubstr("write it as sum(COLUMN)"));
  EXPECT_THAT(refusal({"--agg", "count,,sum(a)"}), HasSubstr("has an empty name in it"));
  EXPECT_THAT(refusal({"--agg", "count,count"}), HasSubstr("two columns of the output would be named 'count'; rename"));
  EXPECT_THAT(refusal({"--by", "t", "--bucket", "t=1h"}), HasSubstr("two columns of the output would be named 't'"));
  EXPECT_THAT(refusal({"--bucket", "t"}), HasSubstr("is not COLUMN=WIDTH; give a width such as 15m"));
  EXPECT_THAT(refusal({"--bucket", "t=1y"}), HasSubstr("is not COLUMN=WIDTH"));
  EXPECT_THAT(refusal({"--bucket", "t=1h", "--time-format", "us"}), HasSubstr("--time-format 'us' is no format"));
  EXPECT_THAT(refusal({"--quote", "none", "--agg", "list(a, 2) as a"}), HasSubstr("give another --separator"));
  EXPECT_THAT(refusal({"--quote", "none", "--agg", "quantile(a, 0.5)"}), HasSubstr("rename it with: as NAME"));
  EXPECT_THAT(refusal({"--quote", "none", "--separator", ":", "--bucket", "t=1h"}), HasSubstr("--bucket writes times"));
}

std::string RandomTable(uint64_t seed, int rows) {
  Rng rng(seed);
  std::string csv = "g,x,t,s\n";
  for (int i = 0; i < rows; ++i) {
    csv += "g" + std::to_string(rng.Below(4)) + ",";
    if (rng.Below(10) != 0)
      csv += std::to_string(static_cast<int64_t>(rng.Below(2000)) - 1000) + "." + std::to_string(rng.Below(100));
    if (rng.Below(50) == 0) csv += "e-3";
    csv += "," + std::to_string(rng.Below(100'000)) + ",s" + std::to_string(rng.Below(30)) + "\n";
  }
  // "e-3" alone is no number.
  for (size_t at; (at = csv.find(",e-3,")) != csv.npos;) csv.erase(at + 1, 3);
  return csv;
}

TEST(AggregateFoldsTest, AreDeterministic) {
  LocalJob job(Builtins(), {.split_bytes = 400, .reduces = 2, .batch_records = 20, .block_bytes = 200});
  job.Input("t.csv", RandomTable(11, 200));
  const Determinism same = ExpectDeterministic(
      job, "aggregate",
      {"--by", "g", "--bucket", "t=6h", "--agg",
       "count,sum(x),avg(x),median(x),p90(x),stddev(x),variance_pop(x),distinct(s),approx_distinct(s),min_by(s,x),"
       "max_by(s,x),first(s),last(s),list(s,3),min(x),max(x)"});
  EXPECT_TRUE(same.ok) << same.text;
}

TEST(AggregateFoldsTest, MoreValuesThanTheTablesHoldGiveTheSameRows) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own memory is above the limit of this test";
#endif
  Rng rng(2);
  std::string csv = "g,x,s\n";
  for (int i = 0; i < 80'000; ++i) {
    csv += std::to_string(rng.Below(300)) + "," + std::to_string(rng.Below(1'000'000)) + ",s" +
           std::to_string(rng.Below(40'000)) + "\n";
  }
  const std::vector<std::string> args = {
      "--by", "g", "--agg", "count,median(x),p99(x),distinct(s),approx_distinct(s),stddev(x),list(s,5),max_by(s,x)"};
  const LocalOptions shape{.split_bytes = 4 << 20, .reduces = 1, .batch_records = 5000, .block_bytes = 1 << 16};
  const LocalResult whole = Aggregate(csv, args, shape);
  ASSERT_TRUE(whole.ok) << whole.error;
  // A table of the map has 5 MiB then, and is emitted several times.
  const LessMemory less(80u << 20);
  const LocalResult small = Aggregate(csv, args, shape);
  ASSERT_TRUE(small.ok) << small.error;
  EXPECT_EQ(small.Output(), whole.Output());
}

}  // namespace
}  // namespace mr::builtin
