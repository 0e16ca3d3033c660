// Answers that others computed, on the data sets of MR_DATA (each with its PROVENANCE.md).

#include <gtest/gtest.h>

#include <cstdlib>

#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

class GoldenTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("MR_DATA");
    if (data == nullptr) GTEST_SKIP() << "MR_DATA is unset: no data sets";
    data_ = data;
    ASSERT_TRUE(cluster_.Start().ok());
  }
  std::string Data(const std::string& name) const { return data_ + "/" + name; }
  std::string Path(const std::string& name) const { return cluster_.directory() + "/" + name; }
  std::string Uri(const std::string& name) const { return "file://" + Path(name); }
  std::string Run(std::vector<std::string> job, const std::string& out = "out") {
    Shell("rm -rf '" + Path(out) + "'");
    job.insert(job.begin(), "submit");
    job.insert(job.end(), {"--output", Uri(out), "--conf", "max_split_bytes=300k"});
    const RunResult run = cluster_.Mrctl(job, Seconds(120));
    EXPECT_EQ(run.exit, 0) << run.err << cluster_.Logs();
    return run.exit == 0 ? ReadParts(Path(out)) : "";
  }
  // The SHA-256 digest of `text`, in hexadecimal.
  std::string Sha256(const std::string& text) {
    EXPECT_TRUE(WriteFileDurably(Path("digest"), text).ok());
    return Shell("sha256sum < '" + Path("digest") + "'").substr(0, 64);
  }
  Cluster cluster_{{.workers = 2, .slots = 2}};
  std::string data_;  // MR_DATA
};

TEST_F(GoldenTest, Shakespeare) {
  const std::string in = "file://" + Data("text-shakespeare/tinyshakespeare.txt.gz");
  EXPECT_EQ(Sha256(SortedLines(Run({"wordcount", "--conf", "letters=true", "--input", in}))),
            "bd6cba6f33b6424c11e5a93606a21bf10dc4e5831914edc8747ffe31871d630f");
  EXPECT_EQ(Sha256(Run({"sort", "--input", in, "--reduces", "3"})),
            "4411bc6a2e5632b22e89bc143d144b847cd598b4d16dca994dd23a2b132734ae");
  EXPECT_EQ(Run({"grep", "-c", "-e", "ROMEO", "--input", in}), "163\n");
}

TEST_F(GoldenTest, KingJames) {
  const std::string in = "file://" + Data("text-kjv/kjv.txt.gz");
  EXPECT_EQ(Run({"grep", "-c", "-w", "-e", "love", "--input", in}), "276\n");
  EXPECT_EQ(Run({"grep", "-c", "-e", "Jesus", "--input", in}), "936\n");
  EXPECT_EQ(Sha256(Run({"sort", "--input", in})), "e21833eb5498fcd6b70c691d70422f4485231fbd1cbb533678321f8ce0009b54");
  Shell("zcat '" + Data("text-kjv/kjv.txt.gz") + "' | cut -d' ' -f2- > '" + Path("text") + "'");
  EXPECT_EQ(Sha256(SortedLines(Run({"wordcount", "--conf", "letters=true", "--input", Uri("text")}))),
            "108902b2c7149d25e295ed5dca965add68e85d9fa371da85da6830580a4d9c15");
}

TEST_F(GoldenTest, ReviewsByVendor) {
  Shell("zcat '" + Data("elastic-examples/anonreviews.csv.gz") + "' > '" + Path("reviews.csv") + "'");
  const std::string head = Shell("head -2 '" + Path("reviews.csv") + "'");
  ASSERT_NE(head.find(','), std::string::npos) << head;
  const std::string got = Run(
      {"aggregate", "--by", "vendorId", "--agg", "count,sum(rating)", "--reduces", "1", "--input", Uri("reviews.csv")});
  ASSERT_TRUE(got.starts_with("vendorId,count,sum(rating)\n")) << got.substr(0, 100);
  EXPECT_TRUE(WriteFileDurably(Path("got"), got).ok());
  EXPECT_EQ(Shell("tail -n +2 '" + Path("got") + "' | sort -t, -k1,1n | tr , '\\t' | sha256sum").substr(0, 64),
            "06233645d19693521c87869a89972b60a44da11634ad25c850f6aa14499656f4")
      << head;
}

TEST_F(GoldenTest, EventsOfStructuredLogs) {
  EXPECT_EQ(SortedLines(Run({"aggregate", "--no-output-header", "--by", "EventId", "--input",
                             "file://" + Data("loghub/HDFS_2k.log_structured.csv.gz")})),
            SortedLines("E6,314\nE10,311\nE11,292\nE13,292\nE9,263\nE8,224\nE7,115\nE1,80\nE3,80\nE14,20\nE4,5\nE12,"
                        "2\nE2,1\nE5,1\n"));
}

TEST_F(GoldenTest, DeparturesByCountry) {
  // Routes column 4 is the source airport, airports column 1 its id and column 4 its country.
  Run({"join", "--no-header", "--left", "file://" + Data("openflights/airports.dat.gz"), "--right",
       "file://" + Data("openflights/routes.dat.gz"), "--left-on", "1", "--right-on", "4"},
      "flights");
  // A joined row has the id, then 13 columns of the airport, so that the country is the fourth column.
  const std::string got = Run({"aggregate", "--no-header", "--by", "4", "--input", Uri("flights")});
  EXPECT_TRUE(WriteFileDurably(Path("got"), got).ok());
  const std::string text = Shell("sed -E 's/^\"?([^\"]*)\"?,([0-9]+)$/\"\\1\"\\t\\2/' '" + Path("got") + "' | sort");
  EXPECT_NE(text.find("\"United States\"\t13100\n"), std::string::npos);
  EXPECT_EQ(Sha256(text), "56f9540d039e383b75134ef8d77a989540803c98860957468e3c547cd800709b");
}

}  // namespace
}  // namespace mr::test
