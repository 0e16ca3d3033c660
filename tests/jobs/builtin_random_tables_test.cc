// Random tables through select, parse, aggregate and join, against SQLite. The files have quotes, CR LF, empty fields,
// Unicode, and ragged or broken rows, which Python's csv module (strict) refuses as well.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <set>

#include "common/base/rng.h"
#include "jobs/builtin/table.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

// Number of tables. The whole suite sets MR_RANDOM_TABLES to 10,000.
int TablesToTry() {
  const char* const text = std::getenv("MR_RANDOM_TABLES");
  return text == nullptr ? 600 : std::atoi(text);
}

struct Table {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;  // valid ones
  std::string csv;
  uint64_t bad_lines = 0;
};

class Tables {
 public:
  explicit Tables(uint64_t seed) : rng_(seed) {}

  // Columns: k (a small key or nothing), n (whole numbers or nothing), r (decimals with halves or nothing), t (text).
  Table Make(const std::string& prefix) {
    Table table;
    for (const char* name : {"k", "n", "r", "t"}) table.names.push_back(prefix + name);
    crlf_ = rng_.Below(3) == 0;
    Append(table.names, &table.csv);
    const uint64_t rows = rng_.Below(25);
    for (uint64_t i = 0; i < rows; ++i) {
      if (rng_.Below(12) == 0) {
        ++table.bad_lines;
        table.csv += Bad();
        continue;
      }
      std::vector<std::string> row = {"k" + std::to_string(rng_.Below(5)), "", "", ""};
      if (rng_.Below(8) == 0) row[0].clear();
      if (rng_.Below(5) != 0) row[1] = std::to_string(static_cast<int64_t>(rng_.Below(41)) - 20);
      if (rng_.Below(5) != 0) row[2] = std::to_string(static_cast<int64_t>(rng_.Below(20)) - 9) + ".5";
      if (rng_.Below(5) != 0) row[3] = Text();
      Append(row, &table.csv);
      table.rows.push_back(row);
    }
    return table;
  }
  Rng& rng() { return rng_; }

 private:
  std::string End() const { return crlf_ ? "\r\n" : "\n"; }
  std::string Text() {
    static constexpr const char* kPieces[] = {"a", "B", "é", "日", " ", ",", "\"", "\n", "\r\n", "'", "0", "\t", ";"};
    std::string text;
    for (uint64_t n = 1 + rng_.Below(4); n > 0; --n) text += kPieces[rng_.Below(std::size(kPieces))];
    return text;
  }
  void Append(const std::vector<std::string>& row, std::string* csv) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) *csv += ',';
      if (NeedsQuotes(row[i]) || rng_.Below(6) == 0) {
        *csv += '"';
        for (const char c : row[i]) csv->append(c == '"' ? 2 : 1, c);
        *csv += '"';
      } else {
        *csv += row[i];
      }
    }
    *csv += End();
  }
  // A line that is no row: too few or too many fields, text behind a quote.
  std::string Bad() {
    static constexpr const char* kBad[] = {"k1", "k1,2,3.5", "k1,2,3.5,x,y", "k1,2,3.5,\"x\"y", "k1,\"2\" ,3.5,x"};
    return kBad[rng_.Below(std::size(kBad))] + End();
  }

  Rng rng_;
  bool crlf_ = false;
};

class Oracle {
 public:
  Oracle() { EXPECT_EQ(sqlite3_open(":memory:", &db_), SQLITE_OK); }
  ~Oracle() { sqlite3_close(db_); }
  void Load(const std::string& name, const Table& table) {
    std::string sql = "DROP TABLE IF EXISTS " + name + "; CREATE TABLE " + name + "(";
    constexpr const char* kTypes[] = {"TEXT", "INTEGER", "REAL", "TEXT"};
    for (size_t i = 0; i < 4; ++i) sql += (i == 0 ? "" : ", ") + table.names[i] + " " + kTypes[i];
    ASSERT_EQ(sqlite3_exec(db_, (sql + ")").c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db_);
    sqlite3_stmt* insert = nullptr;
    sqlite3_prepare_v2(db_, ("INSERT INTO " + name + " VALUES (?, ?, ?, ?)").c_str(), -1, &insert, nullptr);
    for (const auto& row : table.rows) {
      for (int i = 0; i < 4; ++i) {
        const std::string& field = row[static_cast<size_t>(i)];
        if (field.empty()) {
          sqlite3_bind_null(insert, i + 1);
        } else {
          sqlite3_bind_text(insert, i + 1, field.data(), static_cast<int>(field.size()), SQLITE_TRANSIENT);
        }
      }
      EXPECT_EQ(sqlite3_step(insert), SQLITE_DONE);
      sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
  }
  // Returns the rows of the answer as records, in sorted order.
  std::vector<std::string> Ask(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sql << sqlite3_errmsg(db_);
    std::vector<std::string> rows;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      std::vector<std::string> row;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        row.emplace_back(text == nullptr ? "" : text);
      }
      std::string line;
      AppendRow(row, {}, &line);
      rows.push_back(line);
    }
    sqlite3_finalize(statement);
    std::sort(rows.begin(), rows.end());
    return rows;
  }

 private:
  sqlite3* db_ = nullptr;
};

LocalOptions ShapeWith(Rng* rng, uint64_t bad) {
  auto shapes = Shapes();
  LocalOptions shape = shapes[rng->Below(shapes.size())];
  shape.max_bad_records = bad;
  return shape;
}

// Returns the rows of an output as records, in sorted order.
std::vector<std::string> SortedRecords(const LocalResult& result) {
  std::vector<std::string> rows;
  for (const std::string& part : result.parts) {
    const std::string text = part.substr(result.header.size());
    ForEachCsvRecord(text, {}, [&](const CsvRecord& record) {
      std::vector<std::string> fields;
      EXPECT_EQ(ParseCsvRecord(record.text, &fields), nullptr);
      std::string line;
      AppendRow(fields, {}, &line);
      rows.push_back(line);
    });
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

void ExpectRows(const LocalResult& result, const std::vector<std::string>& wanted, const std::string& what) {
  ASSERT_TRUE(result.ok) << what << ": " << result.error;
  ASSERT_EQ(SortedRecords(result), wanted) << what;
}

const std::vector<std::string> kTypes = {"--types", "k=text,n=int,r=real,t=text"};

std::vector<std::string> With(std::vector<std::string> args, const std::vector<std::string>& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(RandomTablesTest, SelectEqualsSqlite) {
  struct Query {
    const char *where, *select, *sql;
  };
  constexpr Query kQueries[] = {
      {"n > 0", "", "SELECT * FROM x WHERE n > 0"},
      {"n IS NULL OR r < 0", "t, n", "SELECT t, n FROM x WHERE n IS NULL OR r < 0"},
      {"t LIKE '%a%' OR t = ''", "*", "SELECT * FROM x WHERE t LIKE '%a%' OR t = ''"},
      {"", "k, d = n * 2 + 1, u = upper(t), len = length(t)", "SELECT k, n * 2 + 1, upper(t), length(t) FROM x"},
      {"NOT n BETWEEN -5 AND 5", "q = substr(t, 2, 1), s = n + r",
       "SELECT substr(t, 2, 1), n + r FROM x WHERE NOT n BETWEEN -5 AND 5"},
      {"r = 0.5 OR r IN (1.5, -2.5)", "r2 = r * r", "SELECT r * r FROM x WHERE r = 0.5 OR r IN (1.5, -2.5)"},
      {"k IN ('k1', 'k3') AND n <= 7", "c = CASE WHEN t IS NULL THEN 'none' ELSE t || '!' END",
       "SELECT CASE WHEN t IS NULL THEN 'none' ELSE t || '!' END FROM x WHERE k IN ('k1', 'k3') AND n <= 7"},
      {"n IS NOT NULL",
       "iso = to_time(strftime('%Y-%m-%dT%H:%M:%SZ', n * 1234567, 'unixepoch')), ms = to_time(n * 1000, 'epoch_ms'), "
       "day = to_time(strftime('%d.%m.%Y', n * 86400, 'unixepoch'), '%d.%m.%Y'), "
       "log = to_time(time_text(n * 7777, 'apache')), text = time_text(n * 86399)",
       "SELECT n * 1234567, n, n * 86400, n * 7777, strftime('%Y-%m-%dT%H:%M:%SZ', n * 86399, 'unixepoch') FROM x "
       "WHERE n IS NOT NULL"},
      {"to_time(time_text(r)) < to_time('1970-01-01T00:00:02')",
       "s = to_time(strftime('%Y-%m-%d %H:%M:%f', r, 'unixepoch')), m = to_time(r * 1000, 'epoch_ms')",
       "SELECT r, r FROM x WHERE r < 2"},
  };
  Tables tables(21);
  Oracle oracle;
  for (int i = 0; i < TablesToTry() / 3; ++i) {
    const Table table = tables.Make("");
    oracle.Load("x", table);
    const Query& query = kQueries[tables.rng().Below(std::size(kQueries))];
    std::vector<std::string> args = kTypes;
    if (*query.where != '\0') args = With(args, {"--where", query.where});
    if (*query.select != '\0') args = With(args, {"--select", query.select});
    const LocalOptions shape = ShapeWith(&tables.rng(), table.bad_lines);
    const LocalResult result = LocalJob(Builtins(), shape).Input("x", table.csv).Run("select", args);
    ExpectRows(result, oracle.Ask(query.sql), query.sql + table.csv);
    if (testing::Test::HasFatalFailure()) return;
    if (table.bad_lines == 0) continue;
    LocalOptions strict = shape;
    --strict.max_bad_records;
    EXPECT_FALSE(LocalJob(Builtins(), strict).Input("x", table.csv).Run("select", args).ok) << table.csv;
  }
}

TEST(RandomTablesTest, AggregatesOfSelectedRowsEqualSqlite) {
  Tables tables(22);
  Oracle oracle;
  for (int i = 0; i < TablesToTry() / 3; ++i) {
    const Table table = tables.Make("");
    oracle.Load("x", table);
    const LocalResult result =
        LocalJob(Builtins(), ShapeWith(&tables.rng(), table.bad_lines))
            .Input("x", table.csv)
            .Run("aggregate", With(kTypes, {"--where", "n <> 3", "--select", "k, n, first = substr(t, 1, 1)", "--by",
                                            "k,first", "--agg", "count,sum(n),min(n),max(n),distinct(n)"}));
    ExpectRows(result,
               oracle.Ask("SELECT k, substr(t, 1, 1), count(*), sum(n), min(n), max(n), count(DISTINCT n) FROM x "
                          "WHERE n <> 3 GROUP BY 1, 2"),
               table.csv);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomTablesTest, JoinsEqualSqliteAndTheirRowsCanBeReadAgain) {
  Tables tables(23);
  Oracle oracle;
  for (int i = 0; i < TablesToTry() / 3; ++i) {
    const Table left = tables.Make("l"), right = tables.Make("r");
    oracle.Load("a", left);
    oracle.Load("b", right);
    const bool outer = tables.rng().Below(2) == 0;
    LocalOptions shape = ShapeWith(&tables.rng(), left.bad_lines + right.bad_lines);
    const LocalResult result =
        LocalJob(Builtins(), shape)
            .File("a", left.csv)
            .File("b", right.csv)
            .Run("join", {"--left", "a", "--right", "b", "--left-on", "lk", "--right-on", "rk", "--type",
                          outer ? "left" : "inner", "--broadcast-bytes", tables.rng().Below(2) == 0 ? "0" : "1m",
                          "--types", "ln=int,rn=int,lr=real,rr=real,lt=text,rt=text", "--where",
                          "ln IS NULL OR rn IS NULL OR ln < rn", "--select", "*, sum = ln + rn"});
    const std::string joined = std::string("SELECT lk, ln, lr, lt, rn, rr, rt, ln + rn FROM a ") +
                               (outer ? "LEFT JOIN" : "JOIN") +
                               " b ON lk = rk WHERE (ln IS NULL OR rn IS NULL OR ln < rn)";
    ExpectRows(result, oracle.Ask(joined), left.csv + "-- right:\n" + right.csv);
    if (testing::Test::HasFatalFailure()) return;
    // The output is a table: no row of it is bad.
    shape.max_bad_records = 0;
    const LocalResult again = LocalJob(Builtins(), shape)
                                  .Input("x", result.Output())
                                  .Run("select", {"--where", "sum > 0 OR sum IS NULL", "--types", "sum=int"});
    ExpectRows(again, oracle.Ask(joined + " AND (ln + rn > 0 OR ln + rn IS NULL)"), result.Output());
    if (testing::Test::HasFatalFailure()) return;
    const LocalResult records =
        LocalJob(Builtins(), shape).Input("x", result.Output()).Run("select", {"--output-format", "record"});
    ASSERT_TRUE(records.ok) << records.error;
    std::string file;
    for (const std::string& part : records.parts) file += part;
    const LocalResult back =
        LocalJob(Builtins(), shape).Input("x", file).Run("select", {"--format", "record", "--output-format", "csv"});
    ASSERT_EQ(back.Output(), result.Output()) << back.error;
  }
}

TEST(RandomTablesTest, JsonIsParsedIntoTheSameTable) {
  Tables tables(24);
  for (int i = 0; i < TablesToTry() / 6; ++i) {
    const Table table = tables.Make("");
    std::string lines;
    std::vector<std::string> wanted;
    for (const auto& row : table.rows) {
      const auto number = [](const std::string& field) { return field.empty() ? "null" : field; };
      lines += "{\"k\": " + sdk::JsonString(row[0]) + ", \"in\": {\"n\": " + number(row[1]) + "}, \"a\": [0, " +
               number(row[2]) + "], \"t\": " + sdk::JsonString(row[3]) + "}\n";
      std::string line;
      AppendRow(row, {}, &line);
      wanted.push_back(line);
    }
    std::sort(wanted.begin(), wanted.end());
    const LocalResult result = LocalJob(Builtins(), ShapeWith(&tables.rng(), 0))
                                   .Input("x", lines)
                                   .Run("parse", {"--json", "k, n = in.n, r = a[1], t"});
    ExpectRows(result, wanted, lines);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace mr::builtin
