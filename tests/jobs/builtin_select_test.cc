// --where and --select of the table jobs, and the job select.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "common/base/rng.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kLog[] =
    "ip,status,bytes,path\n1.1.1.1,200,10,/a\n2.2.2.2,404,,\"/b,c\"\n1.1.1.1,500,7,\"say "
    "\"\"hi\"\"\"\n3.3.3.3,200,30,/a\n";

LocalResult RunSelect(const std::string& csv, const std::string& job, const std::vector<std::string>& args,
                      const LocalOptions& shape = Shapes()[1]) {
  return LocalJob(Builtins(), shape).Input("t.csv", csv).Run(job, args);
}

// Every shape gives the same rows behind the same header.
std::vector<std::string> RowsOf(const std::string& csv, const std::string& job, const std::vector<std::string>& args) {
  std::vector<std::string> all;
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult result = RunSelect(csv, job, args, shape);
    EXPECT_TRUE(result.ok) << result.error;
    auto rows = SortedLinesOf(result.Rows());
    rows.insert(rows.begin(), result.header);
    EXPECT_TRUE(all.empty() || rows == all) << result.Output();
    all = rows;
  }
  return all;
}

TEST(SelectTest, KeepsRowsAsTheyAre) {
  EXPECT_THAT(RowsOf(kLog, "select", {"--where", "status <> 200"}),
              ElementsAre("ip,status,bytes,path\n", "1.1.1.1,500,7,\"say \"\"hi\"\"\"", "2.2.2.2,404,,\"/b,c\""));
  EXPECT_THAT(RowsOf(kLog, "select", {"--where", "status > 200", "--where", "bytes IS NOT NULL"}),
              ElementsAre("ip,status,bytes,path\n", "1.1.1.1,500,7,\"say \"\"hi\"\"\""));
  EXPECT_THAT(RowsOf(kLog, "select", {"--where", "status = 1"}), ElementsAre("ip,status,bytes,path\n"));
}

TEST(SelectTest, ChoosesRenamesAndComputesColumns) {
  EXPECT_THAT(RowsOf(kLog, "select", {"--select", "path, code = status", "--where", "ip = '2.2.2.2'"}),
              ElementsAre("path,code\n", "\"/b,c\",404"));
  EXPECT_THAT(
      RowsOf(kLog, "select", {"--select", "kib = bytes / 2.0, c = CASE WHEN status >= 500 THEN 'a,b' ELSE '' END"}),
      ElementsAre("kib,c\n", ",", "15.0,", "3.5,\"a,b\"", "5.0,"));
  EXPECT_THAT(RowsOf(kLog, "select", {"--select", "bytes"}), ElementsAre("bytes\n", "\"\"", "10", "30", "7"));
  EXPECT_THAT(RowsOf("a;b\n1;2\n", "select", {"--separator", ";", "--select", "b, a"}), ElementsAre("b;a\n", "2;1"));
  EXPECT_THAT(RowsOf("1,2\n3,4\n", "select", {"--no-header", "--where", "\"1\" > 1", "--select", "\"2\""}),
              ElementsAre("", "4"));
}

TEST(SelectTest, LimitKeepsTheFirstRowsOfTheInput) {
  std::string csv = "n\n";
  for (int i = 0; i < 200; ++i) csv += std::to_string(i) + "\n";
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult result = RunSelect(csv, "select", {"--where", "n % 2 = 1", "--limit", "5"}, shape);
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_EQ(result.Output(), "n\n1\n3\n5\n7\n9\n");
  }
  EXPECT_THAT(RowsOf(csv, "select", {"--limit", "0"}), ElementsAre("n\n"));
}

TEST(SelectTest, ASampleIsTheSameForEverySplitAndHasAboutItsPart) {
  std::string csv = "n\n";
  for (int i = 0; i < 4000; ++i) csv += std::to_string(i) + "\n";
  const LocalOptions small{.split_bytes = 500, .reduces = 2, .batch_records = 3, .block_bytes = 200};
  const auto sample = [&](std::vector<std::string> args, const LocalOptions& shape) {
    const LocalResult result = RunSelect(csv, "select", args, shape);
    EXPECT_TRUE(result.ok) << result.error;
    return LinesOf(result.Rows());
  };
  const auto rows = sample({"--sample", "10%"}, Shapes()[0]);
  EXPECT_EQ(rows, sample({"--sample", "0.1"}, small));
  EXPECT_GT(rows.size(), 300u);
  EXPECT_LT(rows.size(), 500u);
  EXPECT_NE(rows, sample({"--sample", "0.1", "--seed", "1"}, small));
  EXPECT_EQ(sample({"--sample", "1"}, small).size(), 4000u);
  EXPECT_THAT(PlanRefusal("select", {"--sample", "2"}), HasSubstr("--sample '2' is no part of the rows"));
}

TEST(SelectTest, TypesAreFoundInSamplesOfAllFilesAndMayBeDeclared) {
  LocalJob job(Builtins(), Shapes()[0]);
  job.Input("a.csv", "n,v\n1,2\n").Input("b.csv", "n,v\n2,n/a\n");
  const LocalResult result = job.Run("select", {"--where", "v > 1"});
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.error, HasSubstr("compares the text column 'v' with the number 1; the column is text because it "
                                      "has 'n/a'"));
  LocalJob again(Builtins(), Shapes()[0]);
  again.Input("a.csv", "n,v\n1,2\n").Input("b.csv", "n,v\n2,n/a\n");
  const LocalResult nulls = again.Run("select", {"--where", "v > 1", "--null", "n/a"});
  ASSERT_TRUE(nulls.ok) << nulls.error;
  EXPECT_EQ(nulls.Rows(), "1,2\n");
}

TEST(SelectTest, AValueThatIsNotOfItsTypeIsABadRow) {
  const std::string csv = "n,v\n1,2\n2,x\n3,5\n";
  const LocalResult fails = RunSelect(csv, "select", {"--where", "v > 1", "--types", "v=int"});
  EXPECT_FALSE(fails.ok);
  EXPECT_THAT(fails.error, HasSubstr("column 'v' has 'x', which is not of the type int that --types declares"));
  LocalOptions skip = Shapes()[1];
  skip.max_bad_records = 1;
  const LocalResult skips = RunSelect(csv, "select", {"--where", "v > 1", "--types", "v=int"}, skip);
  ASSERT_TRUE(skips.ok) << skips.error;
  EXPECT_THAT(SortedLinesOf(skips.Rows()), ElementsAre("1,2", "3,5"));
}

TEST(SelectTest, MistakesAreReportedByTheFirstStages) {
  const auto error = [](const std::vector<std::string>& args) { return RunSelect(kLog, "select", args).error; };
  EXPECT_THAT(error({"--where", "statu > 1"}),
              HasSubstr("no column 'statu' (did you mean 'status'?); its header names: ip, status, bytes, path"));
  EXPECT_THAT(RunSelect(kLog, "topk", {"--select", "ip", "--by", "bytes"}).error,
              HasSubstr("has no column 'bytes'; --select has: ip (add it to --select, or * for all)"));
  EXPECT_THAT(PlanRefusal("select", {"--where", "a = (1"}), HasSubstr("a parenthesis is not closed"));
  EXPECT_THAT(PlanRefusal("select", {"--where", "a = 1) OR (1"}), HasSubstr("that was not opened"));
  EXPECT_THAT(PlanRefusal("select", {"--where", ""}), HasSubstr("it is empty"));
}

TEST(SelectTest, AnUnknownColumnOfATableWithAnotherSeparatorNamesTheOption) {
  const auto error = [](const std::string& csv, std::vector<std::string> args, const std::string& where = "b > 1") {
    args.insert(args.end(), {"--where", where});
    return RunSelect(csv, "select", args).error;
  };
  EXPECT_THAT(error("a;b\n1;2\n", {}),
              HasSubstr("no column 'b'; its header names: a;b; that is one column: is it --separator ';'?"));
  EXPECT_THAT(error("a\tb\n1\t2\n", {}), HasSubstr("is it --separator '\\t'? If quotes are data: --format tsv"));
  EXPECT_THAT(error("a|b\n1|2\n", {}), HasSubstr("is it --separator '|'?"));
  EXPECT_THAT(error("a,b\n1,2\n", {"--format", "tsv"}), HasSubstr("is it --separator ',' without --format tsv?"));
  EXPECT_THAT(error("1;2\n", {"--no-header"}, "\"2\" > 1"), HasSubstr("is it --separator ';'?"));
  EXPECT_THAT(RunSelect("a;b\n1;2\n", "select", {"--select", "b"}).error, HasSubstr("is it --separator ';'?"));
  // Tables without separators, and those with several columns.
  EXPECT_THAT(error("a,b;c\n1,2\n", {}), AllOf(HasSubstr("a, b;c"), Not(HasSubstr("--separator"))));
  EXPECT_THAT(error("{\"a;c\":1}\n", {"--format", "jsonl"}), AllOf(HasSubstr("a;c"), Not(HasSubstr("--separator"))));
  LocalJob records(Builtins());
  const LocalResult written = RunSelect("a;c\n1\n", "select", {"--output-format", "record"});
  ASSERT_TRUE(written.ok) << written.error;
  records.Input("r", written.Output());
  EXPECT_THAT(records.Run("select", {"--format", "record", "--where", "b > 1"}).error,
              AllOf(HasSubstr("a;c"), Not(HasSubstr("--separator"))));
  EXPECT_THAT(records.Run("topk", {"--format", "record", "--by", "b"}).error,
              AllOf(HasSubstr("a;c"), Not(HasSubstr("--separator"))));
}

TEST(SelectTest, AWrongSeparatorOfAJoinIsFoundBeforeItsExpressions) {
  LocalJob join(Builtins());
  join.File("l", "id;n\n1;2\n").File("r", "id;m\n1;3\n");
  EXPECT_THAT(join.Run("join", {"--left", "l", "--right", "r", "--on", "id", "--where", "n < m"}).error,
              HasSubstr("l has no column 'id'; its header names: id;n; that is one column: is it --separator ';'?"));
}

TEST(SelectTest, NamesWithControlCharactersAreEscapedInErrors) {
  const std::string csv = "\"unit\nprice\",\"a'b\tc\",it's\n1,2,3\n";
  EXPECT_THAT(RunSelect(csv, "select", {"--where", "nope = 1"}).error,
              HasSubstr("no column 'nope'; its header names: unit\\nprice, a\\'b\\tc, it's"));
  EXPECT_THAT(RunSelect(csv, "topk", {"--by", "unit price"}).error,
              HasSubstr("no column 'unit price' (did you mean 'unit\\nprice'?); its header names: unit\\nprice, "));
  EXPECT_THAT(RunSelect("\"a\nb\",c\nx,1\n", "topk", {"--by", "a\nb"}).error,
              HasSubstr("column 'a\\nb' has 'x', which is no number"));
}

TEST(ExpressionsOfJobsTest, ApplyToTheRowsThatAJobWorksOn) {
  EXPECT_THAT(
      RowsOf(kLog, "aggregate",
             {"--where", "status < 500", "--select", "ip, kb = bytes * 10", "--by", "ip", "--agg", "count,sum(kb)"}),
      ElementsAre("ip,count,sum(kb)\n", "1.1.1.1,1,100", "2.2.2.2,1,0", "3.3.3.3,1,300"));
  EXPECT_THAT(RowsOf(kLog, "topk", {"--select", "ip, b = bytes", "--by", "b", "-n", "1"}),
              ElementsAre("ip,b\n", "3.3.3.3,30"));
  EXPECT_THAT(RowsOf("u,t\na,10\na,20\nb,x\n", "sessionize", {"--where", "u = 'a'", "--user", "u", "--time", "t"}),
              ElementsAre("u,session,first_time,last_time,events\n", "a,1,10,20,2"));
}

TEST(ExpressionsOfJobsTest, ABadFieldOfASelectedColumnIsNamed) {
  EXPECT_THAT(RunSelect(kLog, "topk", {"--select", "ip, p = upper(path)", "--by", "p"}).error,
              HasSubstr("column 'p' has '/A', which is no number"));
}

TEST(ExpressionsOfJoinsTest, SeeTheColumnsOfBothSidesInPlace) {
  for (const char* bytes : {"0", "1m"}) {
    const auto join = [&](std::vector<std::string> args) {
      std::vector<std::vector<std::string>> all;
      for (const LocalOptions& shape : Shapes()) {
        args.insert(args.end(), {"--left", "l", "--right", "r", "--on", "id", "--broadcast-bytes", bytes});
        const LocalResult result = LocalJob(Builtins(), shape)
                                       .File("l", "name,id,n\nann,1,10\n\"b,o\"\"b\",2,20\ncid,3,30\n")
                                       .File("r", "n,id,city\n7,1,Rome\n8,2,\"Paris, F\"\n9,2,Oslo\n")
                                       .Run("join", args);
        EXPECT_TRUE(result.ok) << result.error;
        auto rows = SortedLinesOf(result.Rows());
        rows.insert(rows.begin(), result.header);
        all.push_back(rows);
        EXPECT_EQ(all.front(), rows);
      }
      return all.front();
    };
    EXPECT_THAT(join({}), ElementsAre("name,id,n,right_n,city\n", "\"b,o\"\"b\",2,20,8,\"Paris, F\"",
                                      "\"b,o\"\"b\",2,20,9,Oslo", "ann,1,10,7,Rome"));
    EXPECT_THAT(join({"--where", "n + right_n > 28", "--select", "name, sum = n + right_n, city"}),
                ElementsAre("name,sum,city\n", "\"b,o\"\"b\",29,Oslo"));
    EXPECT_THAT(join({"--type", "left", "--where", "city IS NULL"}),
                ElementsAre("name,id,n,right_n,city\n", "cid,3,30,,"));
    EXPECT_THAT(join({"--type", "semi", "--select", "name"}), ElementsAre("name\n", "\"b,o\"\"b\"", "ann"));
  }
}

TEST(ExpressionsOfJoinsTest, NumberTheColumnsOfARowWithoutAHeader) {
  for (const char* bytes : {"0", "1m"}) {
    const LocalResult result =
        LocalJob(Builtins(), Shapes()[1])
            .File("l", "1,a\n2,b\n")
            .File("r", "x,2,y\n")
            .Run("join", {"--no-header", "--left", "l", "--right", "r", "--left-on", "1", "--right-on", "2",
                          "--broadcast-bytes", bytes, "--where", "\"3\" = 'x'", "--select", "\"4\", \"2\""});
    EXPECT_EQ(result.Output(), "y,b\n") << result.error;
  }
}

TEST(ExpressionsOfJoinsTest, AreCheckedBeforeTheRowsAreRead) {
  const LocalResult result = LocalJob(Builtins(), Shapes()[1])
                                 .File("l", "id,n\n1,2\n")
                                 .File("r", "id,m\n1,3\n")
                                 .Run("join", {"--left", "l", "--right", "r", "--on", "id", "--where", "k = 1"});
  EXPECT_THAT(result.error, HasSubstr("no column 'k'; its header names: id, n, m"));
}

TEST(DeterminismOfExpressionsTest, AttemptsAgreeOnRandomNumbersAndTime) {
  LocalOptions twice = Shapes()[1];
  twice.twice = true;
  const LocalResult result = RunSelect(
      kLog, "select", {"--select", "ip, r = random(), now = datetime('now')", "--where", "random() % 3 <> 0"}, twice);
  EXPECT_TRUE(result.ok) << result.error;
}

}  // namespace
}  // namespace mr::builtin
