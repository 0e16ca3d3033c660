// Expressions over rows: types, lists of --select, mistakes, and results against SQLite.
#include "jobs/expressions/row_transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "common/base/rng.h"
#include "jobs/expressions/mistakes.h"
#include "jobs/expressions/tokens.h"
#include "paceline/error.h"

namespace mr::expr {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Constants kConstants{1'700'000'000'000, 7};

std::vector<Column> Columns(const std::string& types) {
  std::string wrong;
  std::vector<Column> columns;
  for (const TypeOf& of : ParseTypes(types, &wrong)) columns.push_back({of.name, of.type, false, ""});
  return columns;
}

// Returns the rows that come out, a line each, or "bad: why".
std::vector<std::string> Rows(const RowOptions& options, const std::string& types,
                              const std::vector<std::string>& lines) {
  RowTransform rows;
  const std::string wrong = rows.Compile(options, Columns(types), kConstants, "; its header names: ...");
  if (!wrong.empty()) return {"refused: " + wrong};
  std::vector<std::string> out;
  uint64_t position = 0;
  for (const std::string& line : lines) {
    CsvRow row;
    EXPECT_EQ(row.Parse(line), nullptr) << line;
    const CsvRow* changed = nullptr;
    std::string why;
    switch (rows.Apply(row, ++position, &changed, &why)) {
      case RowTransform::Result::kDrop: break;
      case RowTransform::Result::kBad: out.push_back("bad: " + why); break;
      case RowTransform::Result::kKeep: {
        std::string text;
        for (size_t i = 0; i < changed->size(); ++i) {
          if (i > 0) text += '|';
          text += (*changed)[i];
        }
        out.push_back(text);
      }
    }
  }
  return out;
}
std::string Refusal(const RowOptions& options, const std::string& types = "a=int,b=real,c=text") {
  const auto rows = Rows(options, types, {});
  return rows.empty() ? "" : rows[0];
}

TEST(TypesTest, AreFoundFromAllValues) {
  const auto found = [](std::initializer_list<const char*> fields, const Values& values = {}) {
    TypeFinder whole, left, right;
    size_t i = 0;
    for (const char* field : fields) {
      whole.Take(field, values);
      (i++ % 2 == 0 ? left : right).Take(field, values);
    }
    TypeFinder read;
    EXPECT_TRUE(TypeFinder::Decode(right.Encode(), &read));
    left.Merge(read);
    EXPECT_EQ(left.type(), whole.type());
    return NameOf(whole.type());
  };
  EXPECT_STREQ(found({"1", "-2", "", "+3", "007"}), "int");
  EXPECT_STREQ(found({"1", "2.5", "1e3", ".5", "-1."}), "real");
  EXPECT_STREQ(found({"1", "9223372036854775808"}), "real");
  EXPECT_STREQ(found({"1", "n/a"}), "text");
  EXPECT_STREQ(found({"1", "n/a"}, {.nulls = {"n/a"}}), "int");
  EXPECT_STREQ(found({"1,5", "2"}, {.decimal = ','}), "real");
  EXPECT_STREQ(found({"1", "-", ""}, RowOptions{.nulls = {"-"}}.values()), "int");
  for (const char* text : {"", "-", "+", "0x10", "inf", "nan", "1 ", " 1", "1e999", "+-1", ".", "1.2.3", "2024-01-01"})
    EXPECT_STREQ(found({text}), "text") << text;
}

TEST(TypesTest, RealNumbersAreWrittenAsTheShortestTextThatReadsBack) {
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    const double value =
        static_cast<double>(static_cast<int64_t>(rng.Next())) / static_cast<double>(1 + rng.Below(1000));
    std::string text;
    AppendReal(value, &text);
    double back = 0;
    ASSERT_TRUE(ParseReal(text, '.', &back)) << text;
    EXPECT_EQ(back, value) << text;
  }
  std::string text;
  AppendReal(3, &text);
  EXPECT_EQ(text, "3.0");
}

TEST(SelectListTest, TakesNamesRenamesAndAllColumns) {
  std::string wrong;
  const auto items = SplitSelect("a, n = f(x, 'p,q'), \"two words\" , y + 1 AS z, *", &wrong);
  ASSERT_EQ(wrong, "");
  ASSERT_EQ(items.size(), 5u);
  EXPECT_EQ(items[0].column, "a");
  EXPECT_EQ(items[1].name, "n");
  EXPECT_EQ(items[1].expression, "f(x, 'p,q')");
  EXPECT_EQ(items[2].column, "two words");
  EXPECT_EQ(items[3].name, "z");
  EXPECT_EQ(items[3].expression, "y + 1");
  EXPECT_EQ(items[4].name, "");
  for (const auto& [list, why] :
       std::initializer_list<std::pair<const char*, const char*>>{{"", "it is empty"},
                                                                  {"a,,b", "an element is empty"},
                                                                  {"a + 1", "'a + 1' has no name"},
                                                                  {"x = 1, x = 2", "'x' twice"},
                                                                  {"a = (1", "a parenthesis is not closed"},
                                                                  {"a = 1)", "a parenthesis is closed"},
                                                                  {"a = 'x", "does not end"},
                                                                  {"a = 1; b", "semicolon"},
                                                                  {"a = ?1", "'?' is no operator"}}) {
    wrong.clear();
    SplitSelect(list, &wrong);
    EXPECT_THAT(wrong, HasSubstr(why)) << list;
  }
}

TEST(RowTransformTest, FiltersAndComputes) {
  const std::string types = "time=text,status=int,bytes=real,ip=text";
  const std::vector<std::string> lines = {"2024-01-01 10:05:00,404,1.5,1.2.3.4", "2024-01-01 11:00:00,200,,8.8.8.8"};
  EXPECT_THAT(Rows({.where = "status >= 400"}, types, lines), ElementsAre("2024-01-01 10:05:00|404|1.5|1.2.3.4"));
  EXPECT_THAT(Rows({.select = "ip, hour = strftime('%H', time), twice = bytes * 2"}, types, lines),
              ElementsAre("1.2.3.4|10|3.0", "8.8.8.8|11|"));
  EXPECT_THAT(Rows({.select = "*, status = status + 1"}, types, lines),
              ElementsAre("2024-01-01 10:05:00|405|1.5|1.2.3.4", "2024-01-01 11:00:00|201||8.8.8.8"));
  EXPECT_THAT(
      Rows({.where = "ip REGEXP '^8' AND bytes IS NULL", .select = "net = split_part(ip, '.', -1)"}, types, lines),
      ElementsAre("8"));
  EXPECT_THAT(Rows({.select = "d = date('now'), m = regexp_extract(ip, '([0-9]+)[.]([0-9]+)$', 2), "
                              "r = regexp_replace(ip, '[0-9]+', 'n')"},
                   types, {lines[0]}),
              ElementsAre("2023-11-14|4|n.n.n.n"));
  EXPECT_THAT(Rows({.select = "s = substr(time, 12, 2), n = NULL", .nulls = {"-"}}, types, {"x,-,-,-"}),
              ElementsAre("|-"));
}

TEST(RowTransformTest, TheEmptyFieldIsNullBesideTheTextsOfNull) {
  EXPECT_THAT(Rows({.where = "a IS NULL", .select = "a, b = a + 1, c = coalesce(c, 'none')", .nulls = {"-", "NA"}},
                   "a=int,c=text", {"-,x", ",", "1,x", "NA,-"}),
              ElementsAre("-|-|x", "|-|none", "NA|-|none"));
}

TEST(TimeFunctionsTest, ReadAndWriteTimes) {
  const auto value = [](const std::string& expression) {
    return Rows({.select = "v = " + expression}, "c=text", {"x"});
  };
  EXPECT_THAT(value("to_time('2000-10-10T13:55:36Z')"), ElementsAre("971186136"));
  EXPECT_THAT(value("to_time('2000-10-10 13:55:36.25')"), ElementsAre("971186136.25"));
  EXPECT_THAT(value("to_time('10/Oct/2000:13:55:36 -0700')"), ElementsAre("971211336"));
  EXPECT_THAT(value("to_time('971186136')"), ElementsAre("971186136"));
  EXPECT_THAT(value("to_time(971186136.123457)"), ElementsAre("971186136.123457"));
  EXPECT_THAT(value("to_time(971186136500, 'epoch_ms')"), ElementsAre("971186136.5"));
  EXPECT_THAT(value("to_time('10.10.2000 13:55', '%d.%m.%Y %H:%M')"), ElementsAre("971186100"));
  EXPECT_THAT(value("time_text(971186136)"), ElementsAre("2000-10-10T13:55:36Z"));
  EXPECT_THAT(value("time_text(971186136.25)"), ElementsAre("2000-10-10T13:55:36.250Z"));
  EXPECT_THAT(value("time_text('971186136', '%b %e')"), ElementsAre("Oct 10"));
  EXPECT_THAT(value("time_text(-0.5, 'epoch_ms')"), ElementsAre("-500"));
  EXPECT_THAT(value("coalesce(to_time(NULL), time_text(NULL), to_time('x', NULL), 'null')"), ElementsAre("null"));
  EXPECT_THAT(value("date(to_time('2000-10-10T23:30:00-01:00'), 'unixepoch')"), ElementsAre("2000-10-11"));
}

TEST(TimeFunctionsTest, ATextThatIsNoTimeMakesTheRowBad) {
  const std::vector<std::string> lines = {"2000-10-10", "2000-13-10", "\"\"", "1600000000000"};
  EXPECT_THAT(Rows({.where = "to_time(c) > 0"}, "c=text", lines),
              ElementsAre("2000-10-10",
                          "bad: --where has no result: '2000-13-10' is no time for to_time(): give seconds, YYYY-MM-DD "
                          "HH:MM:SS or 10/Oct/2000:13:55:36 -0700, or name its format with to_time(X, FORMAT)",
                          HasSubstr("'1600000000000' is no time")));
  EXPECT_THAT(Rows({.select = "d = time_text(c)"}, "c=text", {"soon"}),
              ElementsAre(HasSubstr("bad: --select has no result: time_text() takes seconds since 1970")));
}

TEST(TimeFunctionsTest, MistakesAreFoundBeforeTheFirstRow) {
  EXPECT_THAT(Refusal({.where = "to_time(c, '%Y-%Q') > 1"}), HasSubstr("the time format '%Y-%Q' has '%Q'"));
  EXPECT_THAT(Refusal({.select = "t = time_text(a, 'millis')"}), HasSubstr("'millis' is no format of times"));
  EXPECT_THAT(Refusal({.where = "to_time(c) >= '2000-10-10'"}),
              HasSubstr("it compares the number of to_time(...) with the text '2000-10-10'; write "
                        "to_time('2000-10-10')"));
  EXPECT_THAT(Refusal({.where = "'2000' < to_time(c)"}), HasSubstr("write to_time('2000')"));
  EXPECT_THAT(Refusal({.where = "to_time(c) BETWEEN '2000' AND '2001'"}), HasSubstr("write to_time('2000')"));
  EXPECT_THAT(Refusal({.where = "length(c) > '5'"}), HasSubstr("write a number without quotes"));
  EXPECT_THAT(Refusal({.where = "time_text(a) > 5"}), HasSubstr("it compares the text of time_text(...)"));
  EXPECT_THAT(Refusal({.where = "to_time(c) >= to_time('2000-10-10') AND c > '5'"}), "");
}

TEST(RowTransformTest, AColumnNamedLikeAWordOfSqlIsWrittenInQuotes) {
  const std::string types = "from=text,order=int,select=int,case=int,a=int";
  for (const auto& [where, name] :
       std::initializer_list<std::pair<const char*, const char*>>{{"from LIKE 'x'", "from"},
                                                                  {"a = 1 AND order + 1 > 5", "order"},
                                                                  {"select % 2 = 1", "select"},
                                                                  {"5 < abs(case)", "case"}}) {
    const std::string quoted = std::string("\"") + name + "\"";
    EXPECT_THAT(Refusal({.where = where}, types),
                HasSubstr("column " + quoted + " is a SQL keyword: write " + quoted + " in double quotes"))
        << where;
  }
  EXPECT_THAT(Refusal({.select = "a, up = upper(from)"}, types), HasSubstr("column \"from\" is a SQL keyword"));
  EXPECT_THAT(Rows({.where = "\"from\" LIKE 'x'", .select = "f = upper(\"from\"), order"}, types, {"x,1,2,3,4"}),
              ElementsAre("X|1"));
  for (const char* where : {"a = 1 FROM 2", "a LIKE LIKE 'x'"}) {
    EXPECT_THAT(Refusal({.where = where}, "a=int"), testing::Not(HasSubstr("keyword"))) << where;
  }
}

TEST(RowTransformTest, NowFailsTheJobWhereTheTimeOfTheSubmitIsUnknown) {
  CsvRow row;
  row.Parse("1");
  const auto apply = [&](const RowOptions& options) {
    RowTransform rows;
    EXPECT_EQ(rows.Compile(options, Columns("a=int"), {}), "");
    const CsvRow* out = nullptr;
    std::string why;
    return rows.Apply(row, 1, &out, &why);
  };
  EXPECT_THROW(apply({.where = "date('now') > '2000'"}), FinalError);
  EXPECT_THROW(apply({.where = "a = 1", .select = "t = unixepoch('now')"}), FinalError);
  EXPECT_THROW(apply({.select = "t = current_timestamp"}), FinalError);
  EXPECT_EQ(apply({.where = "abs(a) = 1", .select = "d = date(a, 'unixepoch')"}), RowTransform::Result::kKeep);
  try {
    apply({.where = "date('now') > '2000'"});
  } catch (const FinalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("next: upgrade the master"));
  }
}

TEST(RowTransformTest, ANamedColumnTakesThePlaceOfThatOfTheStarInEitherOrder) {
  const std::vector<std::string> lines = {"1,x"};
  EXPECT_THAT(Rows({.select = "c = upper(c), *"}, "a=int,c=text", lines), ElementsAre("1|X"));
  EXPECT_THAT(Rows({.select = "*, c = upper(c), d = a"}, "a=int,c=text", lines), ElementsAre("1|X|1"));
  EXPECT_THAT(Rows({.select = "*, d = a + 1"}, "a=int,x=text,x=text", {"1,p,q"}), ElementsAre("1|p|q|2"));
  EXPECT_THAT(Refusal({.select = "x"}, "a=int,x=text,x=text"), HasSubstr("two columns 'x'"));
}

TEST(RowTransformTest, AColumnWithoutValuesInTheSampleIsComparedAsANumberOrAText) {
  RowTransform rows;
  std::vector<Column> columns = Columns("status=text,name=text");
  for (Column& column : columns) column.known = false;
  ASSERT_EQ(rows.Compile({.where = "status >= 500 AND name = 'x'"}, columns, kConstants), "");
  const auto keeps = [&](const char* line) {
    CsvRow row;
    row.Parse(line);
    const CsvRow* out = nullptr;
    std::string why;
    return rows.Apply(row, 1, &out, &why);
  };
  EXPECT_EQ(keeps("1000,x"), RowTransform::Result::kKeep);
  EXPECT_EQ(keeps("60,x"), RowTransform::Result::kDrop);
  EXPECT_EQ(keeps(",x"), RowTransform::Result::kDrop);
  EXPECT_EQ(keeps("n/a,x"), RowTransform::Result::kBad);
}

TEST(RowTransformTest, AllExpressionsSeeOneTypeOfAColumnWithoutValuesInTheSample) {
  RowTransform rows;
  std::vector<Column> columns = Columns("x=text,y=text");
  for (Column& column : columns) column.known = false;
  ASSERT_EQ(rows.Compile({.where = "x < 'a' AND y = 'q'", .select = "big = x > 5"}, columns, kConstants), "");
  CsvRow row;
  row.Parse("7,q");
  const CsvRow* out = nullptr;
  std::string why;
  ASSERT_EQ(rows.Apply(row, 1, &out, &why), RowTransform::Result::kKeep) << "numbers come before texts";
  EXPECT_EQ((*out)[0], "1");
}

TEST(RowTransformTest, NothingDependsOnTheTimeZoneOfTheWorker) {
  EXPECT_THAT(Rows({.where = "tz = 'UTC'"}, "tz=text,m=text", {"UTC,x"}), ElementsAre("UTC|x"));
  EXPECT_THAT(Rows({.select = "t = datetime('2024-01-01', m)"}, "tz=text,m=text", {"UTC,localtime"}),
              ElementsAre(HasSubstr("bad: --select has no result: local time unavailable")));
}

TEST(RowTransformTest, EqualRowsGetEqualRandomNumbersInEveryAttempt) {
  const std::vector<std::string> lines = {"1", "1", "1"};
  const auto first = Rows({.select = "r = random(), s = random()"}, "a=int", lines);
  EXPECT_EQ(first, Rows({.select = "r = random(), s = random()"}, "a=int", lines));
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[0].substr(0, first[0].find('|')), first[0].substr(first[0].find('|') + 1));
}

TEST(RowTransformTest, AValueOfAnotherTypeMakesTheRowBadOnEitherPath) {
  for (const char* where : {"a > 1", "abs(a) > 1"}) {
    const auto rows = Rows({.where = where}, "a=int,z=text", {"2,z", "x,z", ",z", "3,z"});
    ASSERT_EQ(rows.size(), 3u) << where;
    EXPECT_EQ(rows[0], "2|z");
    EXPECT_THAT(rows[1], HasSubstr("bad: column 'a' has 'x', which is not of the type int"));
    EXPECT_EQ(rows[2], "3|z");
  }
}

TEST(RowTransformTest, RealNumbersAreEqualToTheirText) {
  // SQLite's own conversion of decimals would make some of these unequal to a column's value.
  Rng rng(1);
  std::vector<std::string> lines;
  std::string list;
  for (int i = 0; i < 300; ++i) {
    lines.push_back(std::to_string(rng.Below(100000)) + "." + std::to_string(rng.Below(1000000000)));
    list += (i == 0 ? "" : ", ") + lines.back();
  }
  EXPECT_EQ(Rows({.where = "b + 0 IN (" + list + ")"}, "b=real", lines), lines);
}

TEST(RowTransformTest, RefusesWhatIsNoExpressionOverARow) {
  for (const auto& [where, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"statuz = 1", "no column 'statuz'"},
           {"A.x = 1", "no column 'A.x'"},
           {"c = \"x\"", "texts are in single quotes ('x')"},
           {"count(*) > 1", "use the job aggregate"},
           {"sum(a) > 1", "use the job aggregate"},
           {"row_number() over () = 1", "an expression sees one row"},
           {"(select 1)", "it has a SELECT of its own"},
           {"a in (select a from row)", "it has a SELECT of its own"},
           {"1) union select (2", "a parenthesis is closed that was not opened"},
           {"a = 1 order by a", "syntax error"},
           {"a > ", "--where 'a > ': the expression ends where a value is wanted"},
           {"a = = 1", "syntax error"},
           {"load_extension('x')", "load_extension() is not available"},
           {"rowid <= 10", "rows have no rowid"},
           {"randomblob(4) = c", "randomblob() is not available"},
           {"nosuch(a)", "no such function: nosuch"},
           {"c regexp '('", "the pattern '(' is not valid"},
           {"datetime(c, 'localtime') = c", "times are UTC"},
           {"a = 1 -- x", "it has a comment"},
           {"   ", "it is empty"}}) {
    EXPECT_THAT(Refusal({.where = where}), HasSubstr(why)) << where;
  }
  EXPECT_THAT(Refusal({.where = "a = 1", .types = "d=int"}), HasSubstr("no column 'd'"));
  EXPECT_THAT(Refusal({.where = "a = 1", .types = "a=blob"}), HasSubstr("no COLUMN=TYPE"));
  EXPECT_THAT(Refusal({.where = "ID = 1"}, "id=int,ID=int"), HasSubstr("one name in SQL"));
}

TEST(MistakesTest, ComparisonsOfTextsWithNumbersAreRefused) {
  const auto mistake = [](const std::string& text) {
    std::string wrong;
    const auto tokens = Tokenize(text, &wrong);
    return FindMistake(tokens, Columns("a=int,c=text"));
  };
  for (const char* text :
       {"c > 5", "5 < c", "a = 1 AND c >= -2", "NOT c = 1", "c BETWEEN 1 AND 2", "\"c\" > 5", "c NOT BETWEEN 1 AND 5",
        "-5 < c", "(c) > 5", "c > (5)", "c > +5", "row.c > 5", "((c)) = ((-1))", "strftime('%H', c) > 9",
        "9 < substr(c, 1, 2)", "(c > 5)", "CASE WHEN c > 5 THEN 1 END"}) {
    EXPECT_NE(mistake(text), "") << text;
  }
  for (const char* text : {"a > 5", "c > '5'", "length(c) > 5", "CAST(c AS INTEGER) > 5", "a || c > 5 + 1",
                           "CAST(strftime('%H', c) AS INTEGER) > 9", "c IS NULL", "a = 5"}) {
    EXPECT_EQ(mistake(text), "") << text;
  }
}

TEST(MistakesTest, TextsTakenForNumbersAreRefused) {
  const auto mistake = [](const std::string& text, std::vector<Column> columns = Columns("a=int,c=text,end=text")) {
    std::string wrong;
    const auto tokens = Tokenize(text, &wrong);
    return FindMistake(tokens, columns);
  };
  for (const char* text : {"c * 1.2",
                           "1.2 * c",
                           "c + 0 > 100",
                           "a - c",
                           "-c",
                           "- (c)",
                           "a + -c",
                           "c % 2 = 1",
                           "~c",
                           "a | c",
                           "c << 1",
                           "(c) / 2",
                           "((c)) / 2",
                           "row.c + 1",
                           "\"c\" + 1",
                           "C + 1",
                           "a || c + 1",
                           "a * +c",
                           "CASE WHEN a THEN 1 + c END",
                           "coalesce(c, 0) + 1",
                           "1 + ifnull(c, 0)",
                           "nullif(c, '') * 2",
                           "iif(a > 1, c, 0) * 2",
                           "(coalesce(c, 0)) * 2",
                           "CASE WHEN a > 1 THEN c ELSE 0 END * 2",
                           "2 * (CASE a WHEN 1 THEN 0 ELSE c END)",
                           "abs(c)",
                           "round(c, 2) > 1",
                           "round(c * 2)",
                           "sqrt((c))",
                           "pow(2, c)",
                           "abs(coalesce(c, 0))",
                           "replace(c, ',', '') * 1.2",
                           "1 + substr(c, 1, 2)",
                           "date(c) - date(a)"}) {
    EXPECT_NE(mistake(text), "") << text;
  }
  for (const char* text : {"a * 1.2",
                           "CAST(c AS REAL) * 1.2",
                           "length(c) + 1",
                           "c || a + 1",
                           "+c = 'x'",
                           "c -> '$.n' + 1",
                           "1 + c ->> '$.n'",
                           "json_extract(c, '$.n') * 2",
                           "nullif(a, c) + 1",
                           "iif(c = 'x', a, 0) + 1",
                           "CASE WHEN c = 'x' THEN a ELSE 0 END * 2",
                           "CASE c WHEN 'x' THEN 1 END + 1",
                           "strftime('%s', c) / 60",
                           "julianday(c) - 1",
                           "round(a, 2)",
                           "abs(length(c))",
                           "date(c, '+1 day')",
                           "instr(c, 'x') - 1",
                           "max(c, 'x')",
                           "(c = 'x') + 1",
                           "c LIKE '%x%'"}) {
    EXPECT_EQ(mistake(text), "") << text;
  }
  EXPECT_EQ(
      mistake("c * 2"),
      "it takes the text column 'c' for a number (operator *); declare --types 'c=real' (or int), convert it with "
      "CAST(c AS REAL)");
  EXPECT_EQ(mistake("abs(\"unit price\")", {{"unit price", Type::kText, false, "1,234.50"}}),
            "it takes the text column 'unit price' for a number (function abs); the column is text because it has "
            "'1,234.50'. If that stands for a missing value, give --null '1,234.50'; if it is a mistake in the data, "
            "give --types 'unit price=real' (or int) and --max-bad-records; to convert each value, write CAST(\"unit "
            "price\" AS REAL)");
  EXPECT_THAT(mistake("trim(c) * 2"), HasSubstr("write CAST(trim(...) AS REAL)"));
  EXPECT_THAT(mistake("date(c) - 1"), HasSubstr("julianday(...) gives days"));
}

TEST(CastTest, ATextThatIsNoNumberMakesTheRowBad) {
  const auto value = [](const std::string& expression, const std::string& line) {
    return Rows({.select = "v = " + expression}, "c=text", {line})[0];
  };
  EXPECT_EQ(value("CAST(c AS REAL) * 2", "1.5"), "3.0");
  EXPECT_EQ(value("CAST(c AS REAL)", "\"\""), "") << "NULL stays NULL";
  EXPECT_EQ(value("cast (c as int) + 1", " -12 "), "-11");
  EXPECT_EQ(value("CAST(c AS INTEGER)", "12.9"), "12");
  EXPECT_EQ(value("CAST(c AS INTEGER)", "1e3"), "1000") << "SQLite reads the 1 only";
  EXPECT_EQ(value("CAST(c AS DECIMAL(10, 2))", "12.0"), "12");
  EXPECT_EQ(value("CAST(c AS NUMERIC)", "12.5"), "12.5");
  EXPECT_EQ(value("CAST(c AS TEXT) || CAST(CAST(c AS REAL) AS INTEGER)", "2.5"), "2.52");
  EXPECT_EQ(value("CAST(replace(c, ',', '') AS REAL)", "\"1,234.50\""), "1234.5");
  EXPECT_EQ(value("CAST(nullif(c, 'N/A') AS REAL)", "N/A"), "");
  EXPECT_EQ(value("CAST(c AS INTEGER) > '5'", "10"), "1") << "a CAST keeps the affinity of its type";
  for (const char* text : {"\"1,234.50\"", "N/A", "1_000", "inf", "12 x", "0x10", "-"}) {
    for (const char* type : {"REAL", "INTEGER", "BIGINT", "DOUBLE PRECISION", "NUMERIC"}) {
      EXPECT_THAT(value("CAST(c AS " + std::string(type) + ")", text), HasSubstr("is no number for CAST(... AS "))
          << text << type;
    }
  }
  EXPECT_THAT(value("CAST(c AS INTEGER)", "12345678901234567890"), HasSubstr("too large for CAST(... AS INTEGER)"));
  EXPECT_EQ(Rows({.where = "CAST(c AS REAL) > 100"}, "c=text", {"\"1,234.50\"", "101", "99"}).size(), 2u)
      << "a bad row and 101";
}

// ---- Against SQLite ----

std::string RandomText(Rng* rng) {
  static constexpr const char* kPieces[] = {"a", "b", "A", "é", "日本", " ", "0", "12", "''", "%", "_", "zz"};
  std::string text;
  for (uint64_t n = rng->Below(5); n > 0; --n) text += kPieces[rng->Below(std::size(kPieces))];
  return text;
}
std::string RandomNumber(Rng* rng, bool real) {
  const std::string whole = std::to_string(static_cast<int64_t>(rng->Below(30)) - 10);
  if (rng->Below(20) == 0) return "9007199254740993";
  return real && rng->Below(2) == 0 ? whole + "." + std::to_string(rng->Below(4) * 25) : whole;
}

class RandomExpressions {
 public:
  explicit RandomExpressions(Rng* rng) : rng_(rng) {}
  std::string Condition(int depth) {
    switch (rng_->Below(depth > 3 ? 5 : 8)) {
      case 0: return Number() + Op() + Number();
      case 1: return Text() + Op() + Text();
      case 2: return (rng_->Below(2) == 0 ? Number() : Text()) + (rng_->Below(2) == 0 ? " IS NULL" : " IS NOT NULL");
      case 3: {
        std::string list;
        for (uint64_t n = 1 + rng_->Below(4); n > 0; --n)
          list += (list.empty() ? "" : ", ") + RandomNumber(rng_, false);
        return "i" + std::string(rng_->Below(2) == 0 ? " IN (" : " NOT IN (") + list + ")";
      }
      case 4:
        return "t" + std::string(rng_->Below(2) == 0 ? "" : " NOT") + " BETWEEN '" + RandomText(rng_) + "' AND '" +
               RandomText(rng_) + "'";
      case 5: return Condition(depth + 1) + " AND " + Condition(depth + 1);
      case 6: return "(" + Condition(depth + 1) + " OR " + Condition(depth + 1) + ")";
      default: return "NOT " + Condition(depth + 1);
    }
  }

 private:
  std::string Op() {
    static constexpr const char* kOps[] = {" = ", " <> ", " < ", " <= ", " > ", " >= ", "==", "!="};
    return kOps[rng_->Below(std::size(kOps))];
  }
  std::string Number() {
    switch (rng_->Below(4)) {
      case 0: return "i";
      case 1: return "r";
      case 2: return "j";
      default: return RandomNumber(rng_, true);
    }
  }
  std::string Text() {
    switch (rng_->Below(4)) {
      case 0: return "t";
      case 1: return "u";
      case 2: return "substr(t, " + std::to_string(1 + rng_->Below(3)) + ", " + std::to_string(rng_->Below(4)) + ")";
      default: return "'" + RandomText(rng_) + "'";
    }
  }
  Rng* rng_;
};

// A table of SQLite with the rows, to ask.
class Oracle {
 public:
  Oracle() { EXPECT_EQ(sqlite3_open(":memory:", &db_), SQLITE_OK); }
  ~Oracle() { sqlite3_close(db_); }
  void Do(const std::string& sql) {
    ASSERT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql << sqlite3_errmsg(db_);
  }
  std::vector<std::string> Ask(const std::string& sql) {
    std::vector<std::string> rows;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sql << sqlite3_errmsg(db_);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      rows.emplace_back(text == nullptr ? "" : text);
    }
    sqlite3_finalize(statement);
    return rows;
  }

 private:
  sqlite3* db_ = nullptr;
};

TEST(AgainstSqliteTest, RandomConditionsKeepTheSameRowsOnBothPaths) {
  Rng rng(11);
  Oracle oracle;
  oracle.Do("CREATE TABLE x(n INTEGER, i INTEGER, j INTEGER, r REAL, t TEXT, u TEXT)");
  std::vector<std::string> lines;
  for (int n = 0; n < 60; ++n) {
    std::string line = std::to_string(n), values = line;
    for (const char column : {'i', 'j', 'r', 't', 'u'}) {
      const bool text = column == 't' || column == 'u';
      std::string field = rng.Below(6) == 0 ? "" : text ? RandomText(&rng) : RandomNumber(&rng, column == 'r');
      while (field.find("''") != field.npos) field.erase(field.find("''"), 2);
      line += "," + field;
      values += field.empty() ? ", NULL" : text ? ", '" + field + "'" : ", " + field;
    }
    lines.push_back(line);
    oracle.Do("INSERT INTO x VALUES (" + values + ")");
  }
  const std::string types = "n=int,i=int,j=int,r=real,t=text,u=text";
  size_t fast = 0;
  constexpr int kExpressions = 3000;
  for (int e = 0; e < kExpressions; ++e) {
    const std::string condition = RandomExpressions(&rng).Condition(0);
    std::string wrong;
    fast += Condition::Parse(Tokenize(condition, &wrong), Columns(types)).has_value() ? 1 : 0;
    const auto wanted = oracle.Ask("SELECT n FROM x WHERE " + condition);
    ASSERT_EQ(Rows({.where = condition, .select = "n"}, types, lines), wanted) << condition;
    // "+ 0" sends the condition to SQLite.
    ASSERT_EQ(Rows({.where = "(" + condition + ") + 0", .select = "n"}, types, lines), wanted) << condition;
  }
  EXPECT_GT(fast, kExpressions * 9 / 10);
}

}  // namespace
}  // namespace mr::expr
