// Everyday questions of analysts, on the data sets of MR_DATA: each takes at most two jobs and no other tool. The
// answers equal those of awk, sed, SQLite and GNU grep.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

class QuestionsTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("MR_DATA");
    if (data == nullptr) GTEST_SKIP() << "MR_DATA is unset: no data sets";
    data_ = data;
    ASSERT_TRUE(cluster_.Start().ok());
  }
  std::string Data(const std::string& name) const { return data_ + "/" + name; }
  std::string Uri(const std::string& name) const { return "file://" + cluster_.directory() + "/" + name; }
  // Runs a job with small splits, into the output `out`.
  void Run(std::vector<std::string> job, const std::string& out) {
    job.insert(job.begin(), "submit");
    job.insert(job.end(), {"--output", Uri(out), "--conf", "max_split_bytes=300k"});
    const RunResult run = cluster_.Mrctl(job, Seconds(120));
    ASSERT_EQ(run.exit, 0) << run.err << cluster_.Logs();
  }
  // Returns an output's rows behind its header, in sorted order.
  std::string Rows(const std::string& out) {
    const RunResult cat = cluster_.Mrctl({"fs", "cat", Uri(out)}, Seconds(60));
    EXPECT_EQ(cat.exit, 0) << cat.err;
    return SortedLines(cat.out.substr(std::min(cat.out.find('\n') + 1, cat.out.size())));
  }
  void Parse(const std::string& out) {
    Run({"parse", "--apache", "--input", "file://" + Data("elastic-examples/apache_logs.gz")}, out);
  }
  std::string Expected(const std::string& command) { return SortedLines(Shell(command)); }

  Cluster cluster_{{.workers = 2, .slots = 2}};
  std::string data_;
};

TEST_F(QuestionsTest, RequestsPerStatusAndHour) {
  Parse("requests");
  Run({"aggregate", "--by", "status", "--bucket", "time=1h", "--input", Uri("requests")}, "hours");
  const auto rows = Rows("hours");
  EXPECT_GT(std::count(rows.begin(), rows.end(), '\n'), 100);
  EXPECT_EQ(rows, Expected("zcat '" + Data("elastic-examples/apache_logs.gz") +
                           "' | awk '{split($4, t, \"[:[/]\"); n[$9 \",2015-05-\" t[2] \"T\" t[5] \":00:00Z\"]++} "
                           "END {for (k in n) print k \",\" n[k]}'"));
}

TEST_F(QuestionsTest, ClientsByBytes) {
  Parse("requests");
  Run({"aggregate", "--by", "host", "--agg", "sum(bytes) as bytes", "--input", Uri("requests")}, "clients");
  Run({"topk", "--by", "bytes", "-n", "20", "--input", Uri("clients")}, "top");
  EXPECT_EQ(Rows("top"), Expected("zcat '" + Data("elastic-examples/apache_logs.gz") +
                                  "' | awk '{n[$1] += $10} END {for (k in n) print k \",\" n[k]}' | LC_ALL=C sort -t, "
                                  "-k2,2nr -k1,1 | sed -n 1,20p"));
}

TEST_F(QuestionsTest, SessionsByAddress) {
  Parse("requests");
  Run({"sessionize", "--user", "host", "--time", "time", "--gap", "30m", "--input", Uri("requests")}, "sessions");
  Run({"aggregate", "--by", "host", "--agg", "count", "--input", Uri("sessions")}, "counts");
  std::string text = Rows("counts");
  std::replace(text.begin(), text.end(), ',', '\t');
  ASSERT_TRUE(WriteFileDurably(cluster_.directory() + "/digest", text).ok());
  // PROVENANCE.md of the data set has the digest of gawk's answer.
  EXPECT_EQ(Shell("sha256sum < '" + cluster_.directory() + "/digest'").substr(0, 64),
            "a40d46da0d1dbc84cc5febff1226ac50650452dea9074ddf5f9afe558dd74ff0");
}

TEST_F(QuestionsTest, TemplatesOfALog) {
  Run({"parse", "--regex", R"(\[(?P<time>[^]]*)\] \[(?P<level>\w+)\] (?P<text>.*))", "--select",
       "level, template = regexp_replace(text, '[0-9]+|/\\S+', '<*>')", "--input",
       "file://" + Data("loghub/Apache_2k.log.gz")},
      "lines");
  Run({"aggregate", "--by", "level,template", "--input", Uri("lines")}, "templates");
  EXPECT_EQ(Rows("templates"),
            Expected("(zcat '" + Data("loghub/Apache_2k.log.gz") +
                     "'; echo) | tr -d '\\r' | sed -E '/^$/d; s/^\\[[^]]*\\] \\[([a-z]+)\\] /\\1,/; "
                     "s@[0-9]+|/[^ ]+@<*>@g' | LC_ALL=C sort | uniq -c | sed -E 's/^ *([0-9]+) (.*)$/\\2,\\1/'"));
}

TEST_F(QuestionsTest, RoutesByCountryByTwoJoins) {
  const std::string airports = "file://" + Data("openflights/airports.dat.gz");
  Run({"join", "--no-header", "--null", "\\N", "--left", "file://" + Data("openflights/routes.dat.gz"), "--right",
       airports, "--left-on", "4", "--right-on", "1", "--select", "\"6\", \"12\""},
      "from");
  Run({"join", "--no-header", "--left", Uri("from"), "--right", airports, "--left-on", "1", "--right-on", "1",
       "--select", "\"2\", \"5\""},
      "both");
  Run({"aggregate", "--no-header", "--by", "1,2", "--input", Uri("both")}, "countries");
  const RunResult cat = cluster_.Mrctl({"fs", "cat", Uri("countries")}, Seconds(60));
  EXPECT_EQ(SortedLines(cat.out),
            Expected("cd '" + cluster_.directory() + "' && zcat '" + Data("openflights/airports.dat.gz") +
                     "' > a.csv && zcat '" + Data("openflights/routes.dat.gz") +
                     "' > r.csv && sqlite3 -csv :memory: "
                     "'create table a(id,name,city,country,iata,icao,lat,lon,alt,tz,dst,zone,type,source)' "
                     "'create table r(airline,aid,src,sid,dst,did,share,stops,plane)' '.import a.csv a' '.import r.csv "
                     "r' '.mode list' '.separator ,' "
                     "'select x.country, y.country, count(*) from r join a x on r.sid = x.id join a y on r.did = y.id "
                     "group by 1, 2' | tr -d '\\r'"));
}

TEST_F(QuestionsTest, MostReviewsOfAReviewerPerMonth) {
  const std::string reviews = Data("elastic-examples/anonreviews.csv.gz");
  Run({"aggregate", "--select", "month = substr(date, 1, 7), reviewerId", "--by", "month,reviewerId", "--input",
       "file://" + reviews},
      "reviewers");
  Run({"topk", "--by", "count", "--per", "month", "-n", "1", "--input", Uri("reviewers")}, "top");
  // Which of several reviewers with as many reviews is named has no meaning.
  std::string most, rows = Rows("top");
  for (size_t from = 0, end; (end = rows.find('\n', from)) != rows.npos; from = end + 1) {
    const std::string row = rows.substr(from, end - from);
    most += row.substr(0, 7) + row.substr(row.rfind(',')) + "\n";
  }
  EXPECT_EQ(most,
            Expected("zcat '" + reviews +
                     "' | tail -n +2 | awk -F, '{k = substr($4, 1, 7); c = ++n[k \",\" $1]; if (c > m[k]) m[k] = c} "
                     "END {for (k in m) print k \",\" m[k]}'"));
}

TEST_F(QuestionsTest, NumberOfDifferentWords) {
  const std::string text = Data("text-kjv/kjv.txt.gz");
  Run({"wordcount", "--input", "file://" + text}, "words");
  Run({"aggregate", "--no-header", "--separator", "\\t", "--quote", "none", "--input", Uri("words")}, "number");
  EXPECT_EQ(
      cluster_.Mrctl({"fs", "cat", Uri("number")}, Seconds(60)).out,
      Shell("zcat '" + text + "' | tr -s ' \\t\\v\\f\\r' '\\n\\n\\n\\n\\n' | grep -v '^$' | LC_ALL=C sort -u | wc -l"));
}

TEST_F(QuestionsTest, LinesAroundAMatch) {
  Shell("zcat '" + Data("loghub/HDFS_2k.log.gz") + "' > '" + cluster_.directory() + "/hdfs.log'");
  Run({"grep", "-C", "2", "-e", "WARN", "--input", Uri("hdfs.log")}, "around");
  EXPECT_EQ(ReadParts(cluster_.directory() + "/around"),
            Shell("grep -C 2 WARN '" + cluster_.directory() + "/hdfs.log'"));
}

}  // namespace
}  // namespace mr::test
