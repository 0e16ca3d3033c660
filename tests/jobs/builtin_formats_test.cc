// Tables in csv, tsv, jsonl and record, in and out of the table jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/builtin/table.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kJson[] =
    "{\"id\": 1, \"user\": {\"name\": \"Ann, B\", \"tags\": [1, {\"a\": 2}]}, \"v\": 2.50, \"ok\": true}\n"
    "{\"v\": null, \"id\": 2, \"user\": {\"name\": \"say \\\"hi\\\"\"}}\r\n"
    "\n"
    "{\"id\": 3, \"user\": {}, \"v\": 1e3}";

// Every shape gives the same lines behind the same header.
std::vector<std::string> Table(const std::string& text, const std::string& job, const std::vector<std::string>& args) {
  std::vector<std::string> all;
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult result = LocalJob(Builtins(), shape).Input("t", text).Run(job, args);
    EXPECT_TRUE(result.ok) << result.error;
    auto rows = SortedLinesOf(result.Rows());
    rows.insert(rows.begin(), result.header);
    EXPECT_TRUE(all.empty() || rows == all) << result.Output();
    all = rows;
  }
  return all;
}

TEST(FormatsTest, ColumnsOfJsonAreTheKeysAndPathsOfItsObjects) {
  EXPECT_THAT(Table(kJson, "select", {"--format", "jsonl", "--output-format", "csv"}),
              ElementsAre("id,user.name,user.tags,v,ok\n", "1,\"Ann, B\",\"[1,{\"\"a\"\":2}]\",2.50,true",
                          "2,\"say \"\"hi\"\"\",,,", "3,,,1e3,"));
  EXPECT_THAT(Table(kJson, "select", {"--format", "jsonl"}),
              ElementsAre("", R"({"id":1,"user.name":"Ann, B","user.tags":"[1,{\"a\":2}]","v":2.50,"ok":"true"})",
                          R"({"id":2,"user.name":"say \"hi\"","user.tags":null,"v":null,"ok":null})",
                          R"({"id":3,"user.name":null,"user.tags":null,"v":1e3,"ok":null})"));
  EXPECT_THAT(Table(kJson, "select", {"--format", "jsonl", "--where", "v > 1", "--select", "n = \"user.name\", id"}),
              ElementsAre("", R"({"n":"Ann, B","id":1})", R"({"n":null,"id":3})"));
}

TEST(FormatsTest, EveryTableJobReadsAndWritesThem) {
  EXPECT_THAT(Table(kJson, "aggregate", {"--format", "jsonl", "--agg", "sum(v) as s,count"}),
              ElementsAre("", R"({"s":1002.5,"count":3})"));
  EXPECT_THAT(Table(kJson, "topk", {"--format", "jsonl", "--output-format", "tsv", "--by", "v", "-n", "1"}),
              ElementsAre("id\tuser.name\tuser.tags\tv\tok\n", "3\t\t\t1e3\t"));
  EXPECT_THAT(Table("u\tt\na\"b\t5\n", "sessionize",
                    {"--format", "tsv", "--user", "u", "--time", "t", "--output-format", "jsonl"}),
              ElementsAre("", R"({"u":"a\"b","session":1,"first_time":5,"last_time":5,"events":1})"));
  EXPECT_THAT(Table("7 x\n", "parse", {"--split", " ", "--columns", "n,s", "--output-format", "jsonl"}),
              ElementsAre("", R"({"n":7,"s":"x"})"));
  for (const char* bytes : {"0", "1m"}) {
    const LocalResult join =
        LocalJob(Builtins(), Shapes()[1])
            .File("l", "{\"k\":1,\"a\":\"x\"}\n{\"k\":2,\"a\":\"y\"}\n")
            .File("r", "{\"a\":\"z\",\"k\":2}\n")
            .Run("join", {"--format", "jsonl", "--left", "l", "--right", "r", "--on", "k", "--broadcast-bytes", bytes});
    EXPECT_EQ(join.Output(), "{\"k\":2,\"a\":\"y\",\"right_a\":\"z\"}\n") << join.error;
  }
}

TEST(FormatsTest, NumbersOfJsonStayTextsIfTheyAreDeclared) {
  const std::string csv = "zip,n,x\n07001,5,-\n12345,-0.5,1.\n";
  EXPECT_THAT(Table(csv, "select", {"--output-format", "jsonl", "--types", "zip=text", "--null", "-"}),
              ElementsAre("", R"({"zip":"07001","n":5,"x":null})", R"({"zip":"12345","n":-0.5,"x":"1."})"));
}

TEST(FormatsTest, CsvTsvAndJsonGoIntoEachOtherAndBack) {
  const std::string csv = "a,b\n1,x y\n2,\"q\"\"r\"\n3,\n";
  const auto convert = [](const std::string& text, const char* from, const char* to) {
    const LocalResult result =
        LocalJob(Builtins(), Shapes()[0]).Input("t", text).Run("select", {"--format", from, "--output-format", to});
    EXPECT_TRUE(result.ok) << result.error;
    return result.Output();
  };
  const std::string tsv = convert(csv, "csv", "tsv"), json = convert(tsv, "tsv", "jsonl");
  EXPECT_EQ(tsv, "a\tb\n1\tx y\n2\tq\"r\n3\t\n");
  EXPECT_EQ(convert(json, "jsonl", "csv"), csv);
  EXPECT_THAT(LocalJob(Builtins()).PlanText("select", {"--output-format", "jsonl.zst"}), HasSubstr("\"text.zst\""));
  EXPECT_THAT(LocalJob(Builtins()).PlanText("select", {"--output-format", "tsv.gz"}),
              HasSubstr("\"csv(0x09,none).gz\""));
}

TEST(FormatsTest, NumbersBeyondTheRangeOfJsonAreWrittenAsTextsAndReadAgain) {
  const std::string csv = "n,m\n1e400,1e40\n-1e400," + std::string(400, '9') + "\n1e-2," + std::string(299, '9') + "\n";
  const auto rows = Table(csv, "select", {"--output-format", "jsonl"});
  EXPECT_THAT(rows, ElementsAre("", R"({"n":"-1e400","m":")" + std::string(400, '9') + "\"}",
                                R"({"n":"1e400","m":1e40})", R"({"n":1e-2,"m":)" + std::string(299, '9') + "}"));
  std::string json;
  for (const std::string& row : rows) json += row.empty() ? "" : row + "\n";
  const LocalResult back =
      LocalJob(Builtins(), Shapes()[0]).Input("t", json).Run("select", {"--format", "jsonl", "--output-format", "csv"});
  ASSERT_TRUE(back.ok) << back.error;
  EXPECT_EQ(SortedLinesOf(back.Output()), SortedLinesOf(csv));
}

TEST(FormatsTest, TheErrorOfALineThatIsNoJsonSaysWhy) {
  const auto error = [](const std::string& text) {
    return LocalJob(Builtins(), Shapes()[0]).Input("t", text).Run("select", {"--format", "jsonl"}).error;
  };
  EXPECT_THAT(error("{\"a\":1}\n{\"a\":1e400}\n"),
              HasSubstr("the line is no JSON object: the number 1e400 is beyond the range of JSON numbers"));
  EXPECT_THAT(error("{\"a\":1,\"b\":1e400}\n"),
              HasSubstr("input has no JSON object: the number 1e400 is beyond the range of JSON numbers"));
  EXPECT_THAT(error("{\"a\":\"\\ud800\"}\n"), HasSubstr("surrogate"));
  EXPECT_THAT(error("[1]\n{\"a\":1}\n"), HasSubstr("the line is no JSON object"));
}

TEST(FormatsTest, WhatAFormatCannotHaveIsABadRow) {
  const auto error = [](const std::string& text, std::vector<std::string> args) {
    return LocalJob(Builtins(), Shapes()[0]).Input("t", text).Run("select", args).error;
  };
  EXPECT_THAT(error("a\n\"x\ty\"\n", {"--output-format", "tsv"}), HasSubstr("has a separator or a line end"));
  EXPECT_THAT(error("a\n\xff\n", {"--output-format", "jsonl"}), HasSubstr("column 'a' has bytes that are no UTF-8"));
  EXPECT_THAT(error("{\"a\":1}\n[2]\n", {"--format", "jsonl"}), HasSubstr("the line is no JSON object"));
  EXPECT_THAT(error("\n\n", {"--format", "jsonl"}), HasSubstr("input has no JSON object"));
  EXPECT_THAT(error("{\"a\":1}\n", {"--format", "jsonl", "--where", "b = 1"}),
              HasSubstr("no column 'b'; its header names: a"));
}

// Texts that csv would quote, and bytes that are no UTF-8.
const std::string kHardRows = "k,t\n1,\"a,\"\"b\"\"\"\n2,\"two\nlines\r\n\"\n3,\n4,\t;\n5,\xff\xfe\n";

TEST(FormatsTest, TablesInRecordsHaveEveryByteOfTheirFields) {
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult records =
        LocalJob(Builtins(), shape).Input("t", kHardRows).Run("select", {"--output-format", "record"});
    ASSERT_TRUE(records.ok) << records.error;
    std::string all;  // parts can be concatenated, with the header of each
    for (const std::string& part : records.parts) all += part;
    EXPECT_EQ(all.find('"'), all.find("\"b\"")) << "no quotes but those of the data";
    const LocalResult back =
        LocalJob(Builtins(), shape).Input("r", all).Run("select", {"--format", "record", "--output-format", "csv"});
    ASSERT_TRUE(back.ok) << back.error;
    EXPECT_EQ(back.Output(), kHardRows);
  }
}

TEST(FormatsTest, EveryTableJobReadsAndWritesRecords) {
  const auto run = [&](const std::string& job, std::vector<std::string> args, const std::string& csv) {
    const LocalResult made =
        LocalJob(Builtins(), Shapes()[1]).Input("t", csv).Run("select", {"--output-format", "record"});
    EXPECT_TRUE(made.ok) << made.error;
    std::string all;
    for (const std::string& part : made.parts) all += part;
    const auto on = [&](const std::string& content, const std::vector<std::string>& more) {
      std::vector<std::string> with = args;
      with.insert(with.end(), more.begin(), more.end());
      LocalJob local(Builtins(), Shapes()[1]);
      const LocalResult result = job == "join" ? local.File("l", content).File("r", content).Run(job, with)
                                               : local.Input("t", content).Run(job, with);
      EXPECT_TRUE(result.ok) << job << ": " << result.error;
      return result;
    };
    const std::string wanted = on(csv, {}).Output();
    EXPECT_EQ(on(all, {"--format", "record", "--output-format", "csv"}).Output(), wanted) << job;
    std::string written;
    for (const std::string& part : on(all, {"--format", "record"}).parts) written += part;
    const LocalResult read = LocalJob(Builtins(), Shapes()[1])
                                 .Input("t", written)
                                 .Run("select", {"--format", "record", "--output-format", "csv"});
    EXPECT_EQ(read.Output(), wanted) << job << read.error;
  };
  const std::string csv = "u,n,t\na,3,100\nb,10,200\na,,300\nc,2.5,90000\n";
  run("select", {"--where", "n > 2.7", "--select", "u, d = n * 2"}, csv);
  run("select", {"--limit", "2"}, csv);
  run("aggregate", {"--by", "u", "--agg", "count,sum(n)"}, csv);
  run("topk", {"--by", "n", "-n", "2", "--where", "n IS NOT NULL"}, csv);
  run("topk", {"--by", "t", "--per", "u", "-n", "1"}, csv);
  run("sessionize", {"--user", "u", "--time", "t"}, csv);
  for (const char* bytes : {"0", "1m"}) {
    run("join", {"--left", "l", "--right", "r", "--on", "u", "--broadcast-bytes", bytes, "--where", "n > 2"}, csv);
  }
}

TEST(FormatsTest, ARowInARecordIsWhatTheCodecWrites) {
  const std::vector<std::string> fields = {"", "a\"\n", std::string(300, 'x')};
  std::string record, coded;
  AppendRecordRow(false, fields, &record);
  ValueCodec<std::pair<bool, std::vector<std::string>>>::Append(std::pair(false, fields), &coded);
  EXPECT_EQ(record, coded);
  CsvRow row;
  bool header = true;
  ASSERT_TRUE(ParseRecordRow(record, &header, &row));
  EXPECT_FALSE(header);
  ASSERT_EQ(row.size(), fields.size());
  for (size_t i = 0; i < fields.size(); ++i) EXPECT_EQ(row[i], fields[i]);
  for (size_t end = 0; end < record.size(); ++end) {
    EXPECT_FALSE(ParseRecordRow(std::string_view(record).substr(0, end), &header, &row)) << end;
  }
}

TEST(FormatsTest, WhatIsNoTableInRecordsIsRefused) {
  const auto error = [](const std::string& content, const std::vector<std::string>& args) {
    return LocalJob(Builtins(), Shapes()[0]).Input("t", content).Run("select", args).error;
  };
  std::string header, row, other;
  AppendRecordRow(true, std::vector<std::string>{"a"}, &header);
  AppendRecordRow(false, std::vector<std::string>{"1"}, &row);
  const auto file = [](const std::vector<std::string>& values) {
    std::string text;
    for (const std::string& value : values) sdk::AppendContained("", value, &text);
    return text;
  };
  EXPECT_EQ(error(file({header, row}), {"--format", "record"}), "");
  EXPECT_THAT(error(file({header, row, "junk"}), {"--format", "record"}), HasSubstr("the record is no row of a table"));
  EXPECT_THAT(error(file({header, row + "x"}), {"--format", "record"}), HasSubstr("the record is no row of a table"));
  EXPECT_THAT(error(file({row}), {"--format", "record"}), HasSubstr("input has no table in records"));
  AppendRecordRow(true, std::vector<std::string>{"b"}, &other);
  EXPECT_THAT(error(file({header, row, other, row}), {"--format", "record"}), HasSubstr("headers differ"));
  // Also behind many batches of rows, where no header is expected any more.
  std::vector<std::string> many(20'000, row);
  many.insert(many.begin(), header);
  many.push_back(header);
  EXPECT_EQ(error(file(many), {"--format", "record"}), "");
  many.push_back(other);
  EXPECT_THAT(error(file(many), {"--format", "record"}),
              HasSubstr("headers differ: column 1 is 'a' at first, and 'b'"));
  EXPECT_THAT(error(file({header, row, ""}), {"--format", "record"}), HasSubstr("the record is no row of a table"));
  EXPECT_THAT(error("a\n1\n", {"--format", "record", "--no-header"}),
              HasSubstr("tables in records name their columns"));
  EXPECT_THAT(error("a\n1\n", {"--output-format", "record", "--no-output-header"}),
              HasSubstr("tables in records name their columns"));
}

TEST(FormatsTest, AKeyBeyondTheSampleIsNotLostSilently) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "{\"a\":" + std::to_string(i) + "}\n";
  text += "{\"a\":1,\"late\":2}\n";
  const LocalOptions one{.split_bytes = 1 << 22, .block_bytes = 1 << 16};
  const LocalResult all = LocalJob(Builtins(), one).Input("t", text).Run("select", {"--format", "jsonl"});
  EXPECT_THAT(all.error, HasSubstr("the key 'late' is not among the columns that were found in a sample of the rows"));
  EXPECT_TRUE(LocalJob(Builtins(), one)
                  .Input("t", text)
                  .Run("aggregate", {"--format", "jsonl", "--select", "a", "--by", "a"})
                  .ok);
}

TEST(FormatsTest, AKeyBeyondTheSampleIsAColumnIfTypesDeclareIt) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "{\"a\":" + std::to_string(i) + "}\n";
  text += "{\"a\":-1,\"in\":{\"late\":2}}\n";
  const LocalOptions one{.split_bytes = 1 << 22, .block_bytes = 1 << 16};
  const auto run = [&](const std::string& job, std::vector<std::string> args) {
    args.insert(args.begin(), {"--format", "jsonl", "--types", "in.late=int"});
    return LocalJob(Builtins(), one).Input("t", text).Run(job, args);
  };
  const LocalResult some = run("select", {"--where", "\"in.late\" > 1 OR a = 7", "--select",
                                          "a, late = \"in.late\" + 1", "--output-format", "csv"});
  EXPECT_EQ(some.Output(), "a,late\n7,\n-1,3\n") << some.error;
  const LocalResult groups = run("aggregate", {"--by", "in.late", "--agg", "count", "--output-format", "csv"});
  EXPECT_THAT(groups.Rows(), testing::AllOf(HasSubstr("2,1\n"), HasSubstr(",20000\n"))) << groups.error;
  EXPECT_THAT(
      LocalJob(Builtins(), one).Input("t", text).Run("select", {"--format", "jsonl", "--where", "late = 1"}).error,
      HasSubstr("a key that only other rows have is declared: --types 'KEY=text'"));
  EXPECT_THAT(
      LocalJob(Builtins(), one).Input("t", text).Run("select", {"--format", "jsonl", "--types", "a..b=int"}).error,
      HasSubstr("no column 'a..b'"));
}

TEST(FormatsTest, AValueWhereTheSampleHadObjectsIsNotLostSilently) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "{\"a\":{\"b\":1},\"e\":{}}\n";
  const LocalOptions one{.split_bytes = 1 << 22, .block_bytes = 1 << 16};
  for (const char* late : {"{\"a\":5}\n", "{\"a\":[1]}\n"}) {
    const LocalResult all = LocalJob(Builtins(), one).Input("t", text + late).Run("select", {"--format", "jsonl"});
    EXPECT_THAT(all.error, HasSubstr("the key 'a' is not among the columns")) << late;
  }
  const LocalResult null =
      LocalJob(Builtins(), one).Input("t", text + "{\"a\":null}\n").Run("select", {"--format", "jsonl"});
  EXPECT_TRUE(null.ok) << null.error;
}

TEST(FormatsTest, MissingValuesAreTheNullTextWhereverTheyComeFrom) {
  EXPECT_THAT(Table("{\"a\":null,\"b\":1}\n{\"b\":2}\n", "select",
                    {"--format", "jsonl", "--null", "NA", "--where", "a IS NULL", "--output-format", "csv"}),
              ElementsAre("a,b\n", "NA,1", "NA,2"));
  EXPECT_THAT(Table("u,x\np,0\np,5\n", "aggregate",
                    {"--null", "NA", "--select", "u, v = nullif(x, 0)", "--by", "u", "--agg", "count(v),sum(v)"}),
              ElementsAre("u,count(v),sum(v)\n", "p,1,5"));
  for (const char* bytes : {"0", "1m"}) {
    const LocalResult join = LocalJob(Builtins(), Shapes()[1])
                                 .File("l", "k,a\n1,x\n2,y\n")
                                 .File("r", "k,b\n2,7\n")
                                 .Run("join", {"--left", "l", "--right", "r", "--on", "k", "--type", "left", "--null",
                                               "NA", "--where", "b IS NULL", "--broadcast-bytes", bytes});
    EXPECT_EQ(join.Output(), "k,a,b\n1,x,NA\n") << join.error;
  }
}

TEST(FormatsTest, ComputedFieldsThatTheFormatCannotHaveAreBadRows) {
  const std::string csv = "a\tb\n1\t{\"x\":\"p\\tq\"}\n2\t{\"x\":\"r\"}\n";
  const std::vector<std::string> args = {"--format", "tsv", "--select", "a, t = json_extract(b, '$.x')"};
  EXPECT_THAT(LocalJob(Builtins(), Shapes()[0]).Input("t", csv).Run("select", args).error,
              HasSubstr("has a separator or a line end"));
  LocalOptions skip = Shapes()[1];
  skip.max_bad_records = 1;
  const LocalResult skips = LocalJob(Builtins(), skip).Input("t", csv).Run("select", args);
  ASSERT_TRUE(skips.ok) << skips.error;
  EXPECT_EQ(skips.Rows(), "2\tr\n");
  const LocalResult json = LocalJob(Builtins(), skip)
                               .Input("t", "x \xff\ny z\n")
                               .Run("parse", {"--split", " ", "--columns", "a,b", "--output-format", "jsonl"});
  ASSERT_TRUE(json.ok) << json.error;
  EXPECT_EQ(json.Rows(), "{\"a\":\"y\",\"b\":\"z\"}\n");
}

TEST(FormatsTest, ASingleEmptyMeasureIsARow) {
  EXPECT_THAT(Table("x\n\"\"\n", "aggregate", {"--agg", "avg(x)"}), ElementsAre("avg(x)\n", "\"\""));
  EXPECT_THAT(Table("x\n\"\"\n", "aggregate", {"--agg", "avg(x)", "--output-format", "jsonl"}),
              ElementsAre("", "{\"avg(x)\":null}"));
}

TEST(FormatsTest, ATableWithoutRowsCanBeFiltered) {
  EXPECT_THAT(Table("time,status\n", "select", {"--where", "status >= 500"}), ElementsAre("time,status\n"));
}

TEST(FormatsTest, RefusesOptionsThatDoNotFit) {
  EXPECT_THAT(PlanRefusal("select", {"--format", "json"}),
              HasSubstr("cannot have the format 'json' (did you mean 'jsonl'?)"));
  EXPECT_THAT(PlanRefusal("select", {"--output-format", "parquet"}), HasSubstr("there are csv, tsv, jsonl and record"));
  EXPECT_THAT(PlanRefusal("select", {"--format", "tsv", "--quote", "'"}), HasSubstr("are of csv"));
  EXPECT_THAT(PlanRefusal("select", {"--format", "jsonl", "--no-header"}), HasSubstr("--no-header is of csv and tsv"));
  EXPECT_THAT(PlanRefusal("parse", {"--apache", "--format", "jsonl"}), HasSubstr("--format is of tables"));
}

}  // namespace
}  // namespace mr::builtin
