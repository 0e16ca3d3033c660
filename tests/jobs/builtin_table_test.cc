// The jobs on tables: aggregate, topk, sessionize, and what all of them share (headers, separators, quotes).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "common/base/rng.h"
#include "jobs/expressions/decimal.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {

using expr::Decimal;
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

LocalResult RunTable(const std::string& job, const std::string& csv, const std::vector<std::string>& args,
                     const LocalOptions& shape = Shapes()[1]) {
  return LocalJob(Builtins(), shape).Input("t.csv", csv).Run(job, args);
}

// Every shape gives the same rows.
std::vector<std::string> Rows(const std::string& job, const std::string& csv, const std::vector<std::string>& args) {
  std::vector<std::string> rows;
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult result = RunTable(job, csv, args, shape);
    EXPECT_TRUE(result.ok) << result.error;
    const auto got = SortedLinesOf(result.Rows());
    EXPECT_TRUE(rows.empty() || got == rows) << result.Output();
    rows = got;
  }
  return rows;
}

Decimal Number(const std::string& text) {
  Decimal d;
  EXPECT_TRUE(Decimal::Parse(text, &d)) << text;
  return d;
}

TEST(DecimalTest, SumsOfDecimalsAreExactInAnyOrder) {
  Decimal sum;
  for (int i = 0; i < 10; ++i) sum.Add(Number("0.1"));
  EXPECT_EQ(sum.Text(), "1");
  sum.Add(Number("-1.05"));
  EXPECT_EQ(sum.Text(), "-0.05");
  sum.Add(Number("12345678901234567890"));
  EXPECT_EQ(sum.Text(), "12345678901234567889.95");
  EXPECT_EQ(Number("-0.000").Text(), "0");
  EXPECT_EQ(Number("+7.50").Text(), "7.5");
  EXPECT_EQ(Number("100").Text(), "100");
  EXPECT_EQ(Number(".5").Text(), "0.5");
}

TEST(DecimalTest, ShortAndLongTextsAreOneNumber) {
  // A text with a plus sign takes the way of long texts.
  Rng rng(5);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint64_t n = rng.Below(22); n > 0; --n)
      text.push_back(rng.Below(20) == 0 ? '.' : static_cast<char>('0' + rng.Below(10)));
    if (rng.Below(50) == 0) text.push_back('e');
    Decimal a, b;
    const bool is = Decimal::Parse(text, &a);
    ASSERT_EQ(is, Decimal::Parse("+" + text, &b)) << text;
    if (!is) continue;
    EXPECT_EQ(a.Text(), b.Text()) << text;
    ASSERT_TRUE(Decimal::Parse("-" + text, &b)) << text;
    a.Add(b);
    EXPECT_EQ(a.Text(), "0") << text;
  }
}

TEST(DecimalTest, WhatHasNoExactFormIsDouble) {
  EXPECT_EQ(Number("1e3").Text(), "1000");
  EXPECT_DOUBLE_EQ(Number("0.12345678901234567890123").AsDouble(), 0.12345678901234567890123);
  Decimal sum = Number("99999999999999999999");
  for (int i = 0; i < 10; ++i) sum.Add(Number("99999999999999999999"));
  EXPECT_NEAR(sum.AsDouble(), 1.1e21, 1e7);
  for (const char* none : {"", "-", ".", "1.2.3", "abc", "1 ", " 1", "0x10", "inf", "nan", "1e999", "+-5"}) {
    Decimal d;
    EXPECT_FALSE(Decimal::Parse(none, &d)) << none;
  }
}

TEST(DecimalTest, ComparesByValue) {
  EXPECT_LT(Number("-2").Compare(Number("1.5")), 0);
  EXPECT_EQ(Number("1.50").Compare(Number("1.5")), 0);
  EXPECT_GT(Number("1e2").Compare(Number("99.9")), 0);
  // A double between two exact numbers that are one double with it: above both, so that there is no circle.
  const Decimal a = Number("9007199254740993"), b = Number("9007199254740992"), c = Number("9.007199254740992e15");
  EXPECT_GT(a.Compare(b), 0);
  EXPECT_GT(c.Compare(a), 0);
  EXPECT_GT(c.Compare(b), 0);
  EXPECT_LT(a.Compare(c), 0);
}

TEST(AggregateTest, EqualsALoop) {
  Rng rng(5);
  struct Sums {
    int count = 0, valued = 0;
    int64_t sum = 0, least = 0, most = 0;
    std::set<std::string> names;
  };
  std::map<std::pair<std::string, std::string>, Sums> groups;
  std::string csv = "city,year,amount,name\n";
  for (int i = 0; i < 700; ++i) {
    const std::string city = rng.Below(9) == 0 ? "a,b" : "c" + std::to_string(rng.Below(7)),
                      year = std::to_string(rng.Below(3));
    const int64_t amount = static_cast<int64_t>(rng.Below(2000)) - 1000;
    const std::string name = "n" + std::to_string(rng.Below(20));
    const bool empty = rng.Below(10) == 0;
    Sums& s = groups[{city, year}];
    ++s.count;
    s.names.insert(name);
    if (!empty) {
      s.least = s.valued == 0 ? amount : std::min(s.least, amount);
      s.most = s.valued == 0 ? amount : std::max(s.most, amount);
      s.sum += amount;
      ++s.valued;
    }
    csv += (city == "a,b" ? "\"a,b\"" : city) + "," + year + "," + (empty ? "" : std::to_string(amount)) + "," + name +
           "\n";
  }
  std::vector<std::string> expected;
  for (const auto& [key, s] : groups) {
    expected.push_back((key.first == "a,b" ? "\"a,b\"" : key.first) + "," + key.second + "," + std::to_string(s.count) +
                       "," + std::to_string(s.valued) + "," + std::to_string(s.sum) + "," + std::to_string(s.least) +
                       "," + std::to_string(s.most) + "," + std::to_string(s.names.size()));
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(
      Rows("aggregate", csv,
           {"--by", "city,year", "--agg", "count,count(amount),sum(amount),min(amount),max(amount),distinct(name)"}),
      expected);
}

TEST(AggregateTest, GroupsBeyondTheTableStartAnewWhenItWasGivenOut) {
  // Twice as many groups as the table of a task holds, each of one row.
  constexpr int kGroups = 250'000;
  std::string csv = "k,v\n";
  for (int i = 0; i < kGroups; ++i) csv += std::to_string(1'000'000 + i) + "," + std::to_string(i % 10) + "\n";
  const LocalOptions shape{.split_bytes = 64u << 20, .reduces = 1, .batch_records = 100'000, .block_bytes = 1 << 20};
  const LocalResult result = RunTable("aggregate", csv, {"--by", "k", "--agg", "count,sum(v)"}, shape);
  ASSERT_TRUE(result.ok) << result.error;
  const std::vector<std::string> rows = SortedLinesOf(result.Rows());
  ASSERT_EQ(rows.size(), static_cast<size_t>(kGroups));
  for (int i = 0; i < kGroups; ++i) {
    ASSERT_EQ(rows[static_cast<size_t>(i)], std::to_string(1'000'000 + i) + ",1," + std::to_string(i % 10));
  }
}

TEST(AggregateTest, AllRowsAreOneGroupWhereNoColumnIsNamed) {
  EXPECT_THAT(Rows("aggregate", "a,b\n1,x\n2.5,y\n4,x\n", {"--agg", "count,sum(a),avg(a),distinct(b),min(b)"}),
              ElementsAre("3,7.5,2.5,2,x"));
  EXPECT_THAT(Rows("aggregate", "a\n", {}), ElementsAre("0"));
  EXPECT_THAT(Rows("aggregate", "a\n", {"--by", "a"}), ElementsAre());
}

TEST(AggregateTest, GroupsMayHoldAnyBytes) {
  const std::string zero("\0", 1);
  EXPECT_THAT(
      Rows("aggregate", "k,v\na" + zero + ",1\na,2\n\"a\nb\",3\na" + zero + ",4\n", {"--by", "k", "--agg", "sum(v)"}),
      ElementsAre("\"a", "a" + zero + ",5", "a,2", "b\",3"));
}

TEST(AggregateTest, OtherSeparatorsAndNoHeader) {
  EXPECT_THAT(
      Rows("aggregate", "x;1\ny;2\nx;5\n", {"--separator", ";", "--no-header", "--by", "1", "--agg", "sum(2),max(2)"}),
      ElementsAre("x;6;5", "y;2;2"));
}

TEST(AggregateTest, ARepeatedOptionAddsToItsList) {
  EXPECT_THAT(
      Rows("aggregate", "k,l,v\na,b,1\na,b,2\n", {"--agg", "sum(v)", "--by", "k", "--agg", "count", "--by", "l"}),
      ElementsAre("a,b,3,2"));
}

TEST(AggregateTest, SaysWhatIsWrongWithItsArguments) {
  EXPECT_THAT(PlanRefusal("aggregate", {"--agg", "summ(a)"}), HasSubstr("did you mean 'sum'?"));
  EXPECT_THAT(PlanRefusal("aggregate", {"--agg", "sum"}), HasSubstr("write it as sum(COLUMN)"));
  EXPECT_THAT(PlanRefusal("aggregate", {"--by", "a,,b"}), HasSubstr("empty name"));
  EXPECT_THAT(PlanRefusal("aggregate", {"--separator", "ab"}), HasSubstr("not one byte"));
  EXPECT_THAT(RunTable("aggregate", "amount,b\n1,2\n", {"--agg", "sum(amont)"}).error,
              HasSubstr("did you mean 'amount'?"));
  EXPECT_THAT(RunTable("aggregate", "a,a\n1,2\n", {"--agg", "sum(a)"}).error, HasSubstr("two columns 'a'"));
  EXPECT_THAT(RunTable("aggregate", "a,b\n1,2\nx,3\n", {"--agg", "sum(a)"}).error,
              testing::AllOf(HasSubstr("t.csv, byte 8: column 'a' has 'x'"), HasSubstr("no number")));
}

TEST(TableTest, AColumnComputedFromTheMissingOneIsSuggestedBeforeOneThatIsSpelledLikeIt) {
  const auto refused = [](const std::string& header, const std::string& by) {
    return RunTable("topk", header + "\n1,2\n", {"--by", by}).error;
  };
  EXPECT_THAT(refused("amounts,sum(amount)", "amount"), HasSubstr("did you mean 'sum(amount)'?"));
  EXPECT_THAT(refused("amounts,sum(total_amount)", "amount"), HasSubstr("did you mean 'amounts'?"));
  EXPECT_THAT(refused("Amount,b", "amount"), HasSubstr("did you mean 'Amount'?"));
}

TEST(TableTest, AllColumnsThatAreWrongAreToldWithWhatMayHaveBeenMeant) {
  EXPECT_EQ(
      RunTable("aggregate", "User,amount\n1,2\n", {"--by", "user,amuont", "--agg", "count, sum(nothing_like_it)"})
          .error,
      "aggregate: t.csv has no column 'user' (did you mean 'User'?), no column 'amuont' (did you mean 'amount'?), "
      "no column 'nothing_like_it'; its header names: User, amount");
  LocalJob join(Builtins());
  join.File("l", "a,b\n1,2\n").File("r", "c,d,d\n1,2,3\n");
  EXPECT_EQ(
      join.Run("join", {"--left", "l", "--right", "r", "--left-on", "x", "--right-on", "d"}).error,
      "join: l has no column 'x'; its header names: a, b; r has two columns 'd'; give them different names, or use "
      "--no-header and numbers");
  join.File("both", "a,b\n1,2\n");
  EXPECT_EQ(join.Run("join", {"--left", "both", "--right", "both", "--on", "b,a"}).error,
            "join: both has no column 'b,a' (these are several; one is taken here); its header names: a, b");
}

TEST(TableTest, AWrongSeparatorOrNumbersBesideAHeaderAreSeen) {
  EXPECT_THAT(RunTable("topk", "id;score\n1;2\n", {"--by", "score"}).error,
              HasSubstr("its header names: id;score; that is one column: is it --separator ';'?"));
  EXPECT_THAT(RunTable("topk", "id\tscore,1\n1\t2\n", {"--by", "score", "--separator", ";"}).error,
              HasSubstr("is it --separator '\\t'?"));
  EXPECT_THAT(RunTable("topk", "id,score\n1,2\n", {"--by", "2"}).error,
              HasSubstr("columns have numbers with --no-header only"));
  EXPECT_THAT(RunTable("topk", "1;2\n", {"--by", "2", "--no-header"}).error,
              testing::AllOf(HasSubstr("without a header they are: 1; that is one column: is it --separator ';'?"),
                             Not(HasSubstr("only"))));
  std::string wide = "c0";
  for (int i = 1; i < 100; ++i) wide += ",c" + std::to_string(i);
  EXPECT_THAT(RunTable("topk", wide + "\n", {"--by", "score"}).error,
              testing::AllOf(HasSubstr("c29, ... (100 in all)"), Not(HasSubstr("c30"))));
}

TEST(TableTest, WhereHeadersDifferIsTold) {
  const auto error = [](const std::string& other, std::vector<std::string> args) {
    args.insert(args.end(), {"--by", args.empty() ? "a" : "1"});
    return LocalJob(Builtins()).Input("t.csv", "a,b\n1,2\n").Input("u.csv", other).Run("aggregate", args).error;
  };
  EXPECT_THAT(error("a,c\n1,2\n", {}),
              HasSubstr("t.csv and u.csv are read together, but their headers differ: column 2 is 'b' and 'c'"));
  EXPECT_THAT(error("a\n1\n", {}), HasSubstr("headers differ: they have 2 and 1 columns"));
  EXPECT_THAT(error("a,b,c\n", {"--no-header"}), HasSubstr("first rows have 2 and 3 fields"));
}

TEST(TopKTest, KeepsTheLargestInOrder) {
  std::string csv = "id,score\n";
  for (int i = 0; i < 200; ++i) csv += std::to_string(i) + "," + std::to_string((i * 37) % 101) + ".5\n";
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult result = RunTable("topk", csv, {"--by", "score", "-n", "3"}, shape);
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_THAT(LinesOf(result.Rows()), ElementsAre("131,100.5", "30,100.5", "161,99.5"));
  }
  EXPECT_THAT(LinesOf(RunTable("topk", "a\n3\n-1\n2\n\n", {"--by", "a", "--smallest", "-n", "2"}).Rows()),
              ElementsAre("-1", "2"));
}

// Also where the better of two equal rows comes when the worse is held already.
TEST(TopKTest, OfEqualRowsTheFirstByTheirBytesStayInWhateverOrderTheyCome) {
  for (const bool up : {true, false}) {
    std::string csv = "score,id\n";
    for (int i = 0; i < 300; ++i) csv += "5,r" + std::to_string(up ? 100 + i : 399 - i) + "\n";
    for (const bool smallest : {true, false}) {
      std::vector<std::string> args = {"--by", "score", "-n", "3"};
      if (smallest) args.push_back("--smallest");
      const LocalResult result = RunTable("topk", csv, args, Shapes()[0]);
      ASSERT_TRUE(result.ok) << result.error;
      EXPECT_THAT(LinesOf(result.Rows()), ElementsAre("5,r100", "5,r101", "5,r102"));
    }
  }
}

TEST(SessionizeTest, CutsWhereNothingCameForAWhile) {
  const std::string csv =
      "time,user,page\n2024-02-28 23:50:00,ann,a\n1000,bob,x\n2024-02-29T00:10:00Z,ann,b\n2024-03-01 00:10:00,ann,c\n"
      "2801,bob,y\n2800,bob,z\n2024-02-29 00:39:59.5,ann,d\n";
  EXPECT_THAT(Rows("sessionize", csv, {"--user", "user", "--time", "time", "--gap", "30m"}),
              ElementsAre("ann,1,2024-02-28 23:50:00,2024-02-29 00:39:59.5,3",
                          "ann,2,2024-03-01 00:10:00,2024-03-01 00:10:00,1", "bob,1,1000,2801,3"));
  EXPECT_THAT(Rows("sessionize", "u,t\na,0.1\na,0.4\na,0.700001\n", {"--user", "u", "--time", "t", "--gap", "300ms"}),
              ElementsAre("a,1,0.1,0.4,2", "a,2,0.700001,0.700001,1"));
  EXPECT_THAT(RunTable("sessionize", "user,time\na,1e12\n", {"--user", "user", "--time", "time"}).error,
              HasSubstr("is no time"));
  EXPECT_THAT(RunTable("sessionize", "user,time\na,soon\n", {"--user", "user", "--time", "time"}).error,
              HasSubstr("is no time"));
  EXPECT_THAT(PlanRefusal("sessionize", {"--user", "a", "--time", "b", "--gap", "30"}), HasSubstr("such as 30m"));
}

// 1900 and 2100 have no leap day, 2000 and 2024 have one.
TEST(SessionizeTest, YearsHaveTheirLeapDays) {
  std::string csv = "u,t\n";
  std::vector<std::string> expected;
  const std::pair<std::string, bool> years[] = {
      {"1900", false}, {"2000", true}, {"2023", false}, {"2024", true}, {"2100", false}};
  for (const auto& [year, leap] : years) {
    const std::string last = std::string(year) + "-02-28 23:59:59", next = std::string(year) + "-03-01 00:00:00";
    csv += std::string(year) + "," + last + "\n" + year + "," + next + "\n";
    if (leap) {
      expected.push_back(year + ",1," + last + "," + last + ",1");
      expected.push_back(year + ",2," + next + "," + next + ",1");
    } else {
      expected.push_back(std::string(year) + ",1," + last + "," + next + ",2");
    }
  }
  EXPECT_EQ(Rows("sessionize", csv, {"--user", "u", "--time", "t", "--gap", "1s"}), expected);
}

TEST(TableTest, BlankLinesBeforeTheFirstRowAreNoRow) {
  EXPECT_THAT(Rows("aggregate", "\n\r\nx,1\ny,2\nx,3\n", {"--no-header", "--by", "1", "--agg", "sum(2)"}),
              ElementsAre("x,4", "y,2"));
}

TEST(DistinctTest, EachLineOnce) {
  EXPECT_THAT(Rows("distinct", "b\na\nb\n\nb\n", {}), ElementsAre("", "a", "b"));
  EXPECT_THAT(Rows("distinct", "b\na\nb\n\nb\n", {"--count"}), ElementsAre("1\t", "1\ta", "3\tb"));
}

TEST(DistinctTest, LinesBeyondTheTableAreCountedAnewWhenItWasGivenOut) {
  // More different lines than the table of a task holds, and some of them on both sides of that.
  constexpr int kLines = 300'000;
  std::string text;
  for (int i = 0; i < kLines; ++i) text += std::to_string(1'000'000 + i) + std::string(60, 'x') + "\n";
  for (int i = 0; i < kLines; i += 1000) text += std::to_string(1'000'000 + i) + std::string(60, 'x') + "\n";
  const LocalOptions shape{.split_bytes = 64u << 20, .reduces = 1, .batch_records = 100'000, .block_bytes = 1 << 20};
  const LocalResult result = RunTable("distinct", text, {"--count"}, shape);
  ASSERT_TRUE(result.ok) << result.error;
  const std::vector<std::string> rows = LinesOf(result.Rows());
  ASSERT_EQ(rows.size(), static_cast<size_t>(kLines));
  for (int i = 0; i < kLines; ++i) {
    ASSERT_EQ(rows[static_cast<size_t>(i)],
              (i % 1000 == 0 ? "2\t" : "1\t") + std::to_string(1'000'000 + i) + std::string(60, 'x'));
  }
}

TEST(InvertedIndexTest, NamesTheFilesOfEachWord) {
  for (const LocalOptions& shape : Shapes()) {
    LocalJob job(Builtins(), shape);
    const LocalResult result = job.Input("one", "a b a\n").Input("two", "b c\nb\n").Run("invertedindex");
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_THAT(SortedLinesOf(result.Rows()), ElementsAre("a\tone\t2", "b\tone\t1\ttwo\t2", "c\ttwo\t1"));
  }
}

TEST(InvertedIndexTest, AWordOfManyFilesHasOneLine) {
  LocalJob job(Builtins(), {.split_bytes = 100, .reduces = 5});
  std::string everywhere = "everywhere";
  for (int i = 0; i < 20; ++i) {
    job.Input("file" + std::to_string(10 + i), "everywhere");
    everywhere += "\tfile" + std::to_string(10 + i) + "\t1";
  }
  const LocalResult result = job.Run("invertedindex");
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_THAT(LinesOf(result.Rows()), ElementsAre(everywhere));
}

}  // namespace
}  // namespace mr::builtin
