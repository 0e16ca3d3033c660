// The job parse: lines of text to rows of a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/expressions/json_fields.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Parsed {
  std::string header;
  std::vector<std::string> rows, unmatched;
  bool operator==(const Parsed&) const = default;
};

// Every shape gives the same rows.
Parsed ParseText(const std::string& text, const std::vector<std::string>& args) {
  std::optional<Parsed> first;
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult result = LocalJob(Builtins(), shape).Input("log", text).Run("parse", args);
    EXPECT_TRUE(result.ok) << result.error;
    std::string unmatched;
    for (const std::string& part : result.named.at("_unmatched")) unmatched += part;
    const Parsed parsed{result.header, SortedLinesOf(result.Rows()), SortedLinesOf(unmatched)};
    if (!first) first = parsed;
    EXPECT_EQ(parsed.rows, first->rows);
    EXPECT_EQ(parsed.unmatched, first->unmatched);
  }
  return *first;
}

constexpr char kApache[] =
    "64.242.88.10 - - [07/Mar/2004:16:05:49 -0800] \"GET /a,b?x=1 HTTP/1.1\" 401 12846\n"
    "h.example - joe smith [10/Oct/2000:13:55:36 +0200] \"POST /say\\\"hi\\\" HTTP/1.0\" 200 - \"-\" \"Moz (X, Y)\"\n"
    "1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] \"\\x16\\x03\" 400 226 \"-\" \"-\"\n"
    "this is no line of a log\n"
    "1.2.3.5 - - [10/Oct/2000:13:55:37 +0000] \"GET /cut HTTP/1.0\" 200 1 \"-\" \"Mozilla/5.0 (\n"
    "1.2.3.4 - - [99/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.0\" 200 1\n";

TEST(ParseTest, ReadsLogsOfWebServers) {
  const Parsed parsed = ParseText(kApache, {"--apache"});
  EXPECT_EQ(parsed.header, "host,user,time,method,path,protocol,status,bytes,referer,agent\n");
  EXPECT_THAT(
      parsed.rows,
      ElementsAre("1.2.3.4,,2000-10-10T13:55:36Z,,\\x16\\x03,,400,226,,",
                  "1.2.3.5,,2000-10-10T13:55:37Z,GET,/cut,HTTP/1.0,200,1,,Mozilla/5.0 (",
                  "64.242.88.10,,2004-03-08T00:05:49Z,GET,\"/a,b?x=1\",HTTP/1.1,401,12846,,",
                  "h.example,joe smith,2000-10-10T11:55:36Z,POST,\"/say\"\"hi\"\"\",HTTP/1.0,200,,,\"Moz (X, Y)\""));
  EXPECT_THAT(parsed.unmatched, ElementsAre("1.2.3.4 - - [99/Oct/2000:13:55:36 +0000] \"GET / HTTP/1.0\" 200 1",
                                            "this is no line of a log"));
}

TEST(ParseTest, ExpressionsSeeTheParsedColumns) {
  const Parsed parsed = ParseText(kApache, {"--apache", "--where", "status >= 400", "--select",
                                            "hour = strftime('%H', time), status, kib = bytes / 1024"});
  EXPECT_EQ(parsed.header, "hour,status,kib\n");
  EXPECT_THAT(parsed.rows, ElementsAre("00,401,12", "13,400,0"));
}

TEST(ParseTest, NamedGroupsOfAPatternAreColumns) {
  const Parsed parsed = ParseText("ERROR 12 disk, full\r\nINFO x\nWARN 7 ok\n",
                                  {"--regex", "(?P<level>[A-Z]+) (?P<code>[0-9]+)( (?P<text>.*))?"});
  EXPECT_EQ(parsed.header, "level,code,text\n");
  EXPECT_THAT(parsed.rows, ElementsAre("ERROR,12,\"disk, full\"", "WARN,7,ok"));
  EXPECT_THAT(parsed.unmatched, ElementsAre("INFO x"));
}

TEST(ParseTest, PicksValuesOutOfJson) {
  const Parsed parsed = ParseText(
      "{\"id\":1,\"a\":{\"c\":\"x, y\",\"n\":[10,2.50,{\"k\":null}]},\"t\":true}\n"
      "{\"a\":{\"n\":[1e400]},\"id\":12345678901234567890,\"id2\":\"q\\\"\\u00e9\\n\"}\n"
      "[1]\nnot json\n{\"id\":3}\n",
      {"--json", "id, city = a.c, second = a.n[1], all = a.n, id2, t"});
  EXPECT_EQ(parsed.header, "id,city,second,all,id2,t\n");
  EXPECT_THAT(parsed.rows, ElementsAre("1,\"x, y\",2.50,\"[10,2.50,{\"\"k\"\":null}]\",,true", "3,,,,,"));
  EXPECT_THAT(parsed.unmatched.size(), 3u);
}

TEST(ParseTest, SplitsAtSeparatorsAndBlanks) {
  EXPECT_THAT(ParseText("a  b\tc\n x y z\nq\n", {"--split", " ", "--columns", "p,q,r"}).rows,
              ElementsAre("a,b,c", "x,y,z"));
  EXPECT_THAT(ParseText("a||b\nc\n", {"--split", "||", "--columns", "p,q"}).rows, ElementsAre("a,b"));
}

TEST(ParseTest, RefusesOptionsThatCannotBeUsed) {
  for (const auto& [args, why] : std::initializer_list<std::pair<std::vector<std::string>, const char*>>{
           {{}, "give the form of the lines"},
           {{"--apache", "--regex", "x"}, "several are given"},
           {{"--regex", "(x"}, "missing )"},
           {{"--regex", "(x)"}, "names no column"},
           {{"--json", "a..b"}, "is no path in JSON"},
           {{"--json", "a, a"}, "names 'a' twice"},
           {{"--json", "x[1"}, "is no path in JSON"},
           {{"--split", ","}, "go together"},
           {{"--apache", "--where", "statu = 1"},
            "no column 'statu' (did you mean 'status'?); the columns are: host, "}}) {
    EXPECT_THAT(PlanRefusal("parse", args), HasSubstr(why));
  }
  EXPECT_THAT(
      LocalJob(Builtins(), Shapes()[0]).Input("l", kApache).Run("parse", {"--apache", "--where", "path > 5"}).error,
      HasSubstr("compares the text column 'path' with the number 5"));
}

TEST(JsonFieldsTest, KeepsTheLastOfEqualKeysAndRefusesDeepLines) {
  expr::JsonFields fields({"a", "\"b.c\".d"});
  CsvRow row;
  ASSERT_TRUE(fields.Parse(R"({"a":1,"a":{"x":[]},"b.c":{"d":-0.5e3}})", &row));
  EXPECT_EQ(row[0], R"({"x":[]})");
  EXPECT_EQ(row[1], "-0.5e3");
  ASSERT_TRUE(fields.Parse(R"({"a":[[1],"s"],"b.c":1})", &row));
  EXPECT_EQ(row[0], R"([[1],"s"])");
  EXPECT_EQ(row[1], "");
  EXPECT_FALSE(fields.Parse(std::string(100000, '['), &row));
  EXPECT_FALSE(fields.Parse("{\"a\":" + std::string(100000, '['), &row));
  EXPECT_FALSE(fields.Parse("", &row));
  EXPECT_FALSE(fields.Parse("{\"a\":1} x", &row));
}

}  // namespace
}  // namespace mr::builtin
