// Random tables through aggregate and topk, compared with SQLite and with Python's arithmetic (aggregate_oracle.py).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "common/base/rng.h"
#include "jobs/builtin/table.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

// Columns: two to group by, numbers, integers with many ties, texts with quotes and other letters.
std::string OracleTable(uint64_t seed, uint64_t rows) {
  Rng rng(seed);
  const std::vector<std::string> texts = {"plain",         "a,b", "say \"hi\"", "two\nlines",
                                          "Z\xc3\xbcrich", "12",  "1.50",       "-3"};
  std::string csv = "g,h,x,k,t\r\n";
  for (uint64_t i = 0; i < rows; ++i) {
    std::vector<std::string> row = {"g" + std::to_string(rng.Below(5)), texts[rng.Below(4)], "", "", ""};
    if (rng.Below(8) != 0) {
      row[2] = rng.Below(2) == 0 ? "-" : "";
      row[2] += std::to_string(rng.Below(rng.Below(20) == 0 ? 10'000'000'000'000 : 1000));
      if (rng.Below(2) == 0) row[2] += "." + std::to_string(rng.Below(100'000));
    }
    if (rng.Below(8) != 0) row[3] = std::to_string(rng.Below(12));
    if (rng.Below(8) != 0)
      row[4] = texts[rng.Below(texts.size())] + (rng.Below(3) == 0 ? std::to_string(rng.Below(9)) : "");
    csv += CsvLine(row, CsvDialect()) + (rng.Below(2) == 0 ? "\r\n" : "\n");
  }
  return csv;
}

class OracleTest : public ::testing::Test {
 protected:
  ~OracleTest() override {
    unlink((base_ + ".in").c_str());
    unlink((base_ + ".out").c_str());
  }
  // Runs the job, and returns what the oracle says against its output.
  std::string Differs(const std::string& csv, const std::string& job, const std::vector<std::string>& args,
                      const std::vector<std::string>& oracle_args, const LocalOptions& shape) {
    const LocalResult result = LocalJob(Builtins(), shape).Input("t.csv", csv).Run(job, args);
    if (!result.ok) return result.error;
    std::ofstream(base_ + ".in", std::ios::binary) << csv;
    std::ofstream(base_ + ".out", std::ios::binary) << result.header << result.Rows();
    std::string command =
        "python3 '" MR_SOURCE_DIR "/tests/jobs/aggregate_oracle.py' '" + base_ + ".in' '" + base_ + ".out'";
    for (const std::string& arg : oracle_args) command += " '" + arg + "'";
    FILE* const python = popen((command + " 2>&1").c_str(), "r");
    std::string said;
    for (int c; (c = fgetc(python)) != EOF;) said += static_cast<char>(c);
    const int status = pclose(python);
    return status == 0 ? said : "the oracle says: " + said;
  }

  const std::string base_ = ::testing::TempDir() + "/aggregate_oracle_" + std::to_string(getpid());
};

TEST_F(OracleTest, AggregatesAreThoseOfSqliteAndPython) {
  const std::vector<std::string> aggs = {"count",
                                         "count(x)",
                                         "sum(x)",
                                         "avg(x)",
                                         "distinct(x)",
                                         "distinct(t)",
                                         "median(x)",
                                         "p90(x)",
                                         "p99.9(x)",
                                         "quantile(x, 0)",
                                         "quantile(k, 0.333)",
                                         "stddev(x)",
                                         "stddev_pop(k)",
                                         "variance(k)",
                                         "variance_pop(x)",
                                         "first(t)",
                                         "last(x)",
                                         "list(t, 4)",
                                         "min_by(t, x)",
                                         "max_by(x, k)",
                                         "max_by(k, t)",
                                         "approx_distinct(t)"};
  std::string list;
  for (const std::string& agg : aggs) list += (list.empty() ? "" : ",") + agg;
  uint64_t seed = 1;
  for (const char* by : {"", "g", "g,h"}) {
    std::vector<std::string> args = {"--agg", list}, oracle_args = {by};
    if (*by != '\0') args.insert(args.end(), {"--by", by});
    oracle_args.insert(oracle_args.end(), aggs.begin(), aggs.end());
    for (const LocalOptions& shape : Shapes()) {
      const std::string csv = OracleTable(++seed, shape.split_bytes < 50 ? 60 : 600);
      EXPECT_EQ(Differs(csv, "aggregate", args, oracle_args, shape), "") << "seed " << seed << ", --by " << by;
    }
  }
}

TEST_F(OracleTest, TheBestRowsOfEachGroupAreThoseOfPython) {
  uint64_t seed = 100;
  for (const char* per : {"g", "g,h"}) {
    for (const char* order : {"largest", "smallest"}) {
      for (const LocalOptions& shape : Shapes()) {
        std::vector<std::string> args = {"--by", "x", "--per", per, "-n", "7"};
        if (*order == 's') args.emplace_back("--smallest");
        const std::string csv = OracleTable(++seed, shape.split_bytes < 50 ? 60 : 600);
        EXPECT_EQ(Differs(csv, "topk", args, {"topk", "x", "7", order, per}, shape), "") << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace mr::builtin
