// Every answer equals coreutils byte for byte, on clusters of several shapes.

#include <gtest/gtest.h>

#include <cstdlib>

#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

struct Shape {
  int workers, slots;
  const char* block;
};

std::string ShapeName(const testing::TestParamInfo<Shape>& info) {
  return std::to_string(info.param.workers) + "workers" + std::to_string(info.param.slots) + "slots" + info.param.block;
}

class ShapedCluster : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    cluster_ =
        std::make_unique<Cluster>(ClusterOptions{.workers = GetParam().workers,
                                                 .slots = GetParam().slots,
                                                 .master_flags = {std::string("--block_size=") + GetParam().block}});
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
  }

  std::string Path(const std::string& name) const { return cluster_->directory() + "/" + name; }
  std::string Uri(const std::string& name) const { return "file://" + Path(name); }
  bool small_blocks() const { return std::string(GetParam().block) == "4k"; }

  // Runs the job with Path("out") as its output; its parts in order.
  std::string Run(std::vector<std::string> job) {
    job.insert(job.begin(), "submit");
    job.insert(job.end(), {"--output", Uri("out")});
    const RunResult run = cluster_->Mrctl(job, Seconds(120));
    EXPECT_EQ(run.exit, 0) << run.err << cluster_->Logs();
    return run.exit == 0 ? ReadParts(Path("out")) : "";
  }

  std::unique_ptr<Cluster> cluster_;
};

class WordCountShapes : public ShapedCluster {};

TEST_P(WordCountShapes, EqualsCoreutils) {
  WriteBible(Path("in"), small_blocks() ? 200'000 : 0);
  EXPECT_EQ(SortedLines(Run({"wordcount", "--input", Uri("in")})), ExpectedWordCount(Path("in")));
}

INSTANTIATE_TEST_SUITE_P(All, WordCountShapes,
                         testing::Values(Shape{1, 1, "4k"}, Shape{1, 3, "4k"}, Shape{2, 1, "4k"}, Shape{2, 3, "4k"},
                                         Shape{5, 1, "4k"}, Shape{5, 3, "4k"}, Shape{1, 1, "1m"}, Shape{1, 3, "1m"},
                                         Shape{2, 1, "1m"}, Shape{2, 3, "1m"}, Shape{5, 1, "1m"}, Shape{5, 3, "1m"},
                                         Shape{1, 1, "64m"}, Shape{1, 3, "64m"}, Shape{2, 1, "64m"}, Shape{2, 3, "64m"},
                                         Shape{5, 1, "64m"}, Shape{5, 3, "64m"}),
                         ShapeName);

class JobShapes : public ShapedCluster {};

TEST_P(JobShapes, SortEqualsSort) {
  WriteBible(Path("in"), small_blocks() ? 200'000 : 0);
  EXPECT_EQ(Run({"sort", "--input", Uri("in"), "--reduces", "3"}), Shell("sort '" + Path("in") + "'"));
}

TEST_P(JobShapes, SortOfFixedRecordsEqualsAStableSortByKey) {
  // 100-byte printable records, so that sort(1) can check them: key in the first 10 bytes.
  Shell("seq 1 " + std::string(small_blocks() ? "2000" : "30000") +
        " | awk '{s=sprintf(\"%d\", ($1*7919)%9973); printf \"%-10s%-89s\\n\", s, $1}' > '" + Path("in") + "'");
  EXPECT_EQ(Run({"sort", "--input", Uri("in"), "--format", "fixed:100", "--reduces", "3"}),
            Shell("sort -s -k1.1,1.10 '" + Path("in") + "'"));
}

TEST_P(JobShapes, GrepEqualsGrep) {
  WriteBible(Path("in"), small_blocks() ? 200'000 : 0);
  EXPECT_EQ(Run({"grep", "-e", "(king|queen)s? of", "--input", Uri("in")}),
            Shell("grep -E '(king|queen)s? of' '" + Path("in") + "'"));
}

TEST_P(JobShapes, JoinEqualsJoin) {
  const std::string rows = small_blocks() ? "1500" : "20000";
  Shell("echo id,name > '" + Path("left.csv") + "'; seq 1 " + rows + " | awk '{print ($1*31)%5003 \",name\" $1}' >> '" +
        Path("left.csv") + "'");
  Shell("echo id,city > '" + Path("right.csv") + "'; seq 1 " + rows +
        " | awk '{print ($1*17)%7001 \",city\" $1}' >> '" + Path("right.csv") + "'");
  const std::string expected = Shell("join -t, <(tail -n +2 '" + Path("left.csv") +
                                     "' | sort -t, -k1,1) <(tail -n +2 '" + Path("right.csv") + "' | sort -t, -k1,1)");
  ASSERT_FALSE(expected.empty());
  const std::string got =
      Run({"join", "--no-output-header", "--left", Uri("left.csv"), "--right", Uri("right.csv"), "--on", "id"});
  EXPECT_EQ(SortedLines(got), SortedLines(expected));
}

TEST_P(JobShapes, StreamEqualsThePipe) {
  WriteBible(Path("in"), small_blocks() ? 200'000 : 0);
  const std::string map = "tr -s ' ' '\\n' | sed 's/$/\\t1/'";
  const std::string reduce = "awk -F'\\t' '{c[$1]+=$2} END {for (k in c) print k \"\\t\" c[k]}'";
  const std::string got = Run({"stream", "--map", map, "--reduce", reduce, "--input", Uri("in"), "--reduces", "3"});
  EXPECT_EQ(SortedLines(got), SortedLines(Shell("cat '" + Path("in") + "' | " + map + " | sort | " + reduce)));
}

// Read as gzip and zstd make them, as files and as blocks, alone and by a glob; written so that these can read them;
// and what was written is read again, in splits where it has frames.
TEST_P(JobShapes, CompressedInputsAndOutputsHoldTheSameLines) {
  WriteBible(Path("in"), small_blocks() ? 200'000 : 0);
  const std::string words = ExpectedWordCount(Path("in")), dir = "cd '" + cluster_->directory() + "' && ";
  Shell(dir + "gzip -k in && zstd -qk in && split -n l/3 in piece. && gzip piece.a?");
  EXPECT_TRUE(SortedLines(Run({"wordcount", "--input", Uri("piece.*.gz")})) == words);
  for (const auto& [suffix, cat] : {std::pair{".gz", "gzip -dc "}, std::pair{".zst", "zstd -dc "}}) {
    Shell("rm -r '" + Path("out") + "'");
    EXPECT_TRUE(SortedLines(Run({"wordcount", "--input", Uri("in") + suffix})) == words) << suffix;
    ASSERT_EQ(cluster_->Mrctl({"fs", "put", Path("in") + suffix, std::string("/in") + suffix}).exit, 0);
    Shell("rm -r '" + Path("out") + "'");
    Run({"grep", "-e", "", "--input", std::string("/in") + suffix, "--output-format", std::string("text") + suffix});
    EXPECT_TRUE(Shell(dir + cat + "out/part-*" + suffix) == *ReadFile(Path("in"))) << suffix;
    Shell(dir + "rm -rf again && mv out again");
    EXPECT_TRUE(SortedLines(Run({"wordcount", "--input", Uri("again")})) == words) << suffix;
  }
}

INSTANTIATE_TEST_SUITE_P(Three, JobShapes, testing::Values(Shape{1, 1, "1m"}, Shape{2, 3, "4k"}, Shape{5, 1, "64m"}),
                         ShapeName);

class TrianglesTest : public testing::Test {
 protected:
  std::string Count(const std::string& edges) {
    const Status started = cluster_.Start();
    EXPECT_TRUE(started.ok()) << started.ToString();
    const std::string out = cluster_.directory() + "/out";
    const RunResult run = cluster_.Mrctl(
        {"submit", "triangles", "--input", "file://" + edges, "--output", "file://" + out}, Seconds(300));
    EXPECT_EQ(run.exit, 0) << run.err << cluster_.Logs();
    return run.exit == 0 ? ReadParts(out) : "";
  }
  Cluster cluster_{{.workers = 2, .slots = 2}};
};

TEST_F(TrianglesTest, TheCompleteGraphOf60NodesHas34220) {
  const std::string edges = cluster_.directory() + "/k60";
  Shell("for i in $(seq 1 60); do for j in $(seq $((i+1)) 60); do echo \"$i $j\"; done; done > '" + edges + "'");
  EXPECT_NE(Count(edges).find("34220"), std::string::npos);
}

TEST_F(TrianglesTest, EgoFacebookHas1612010) {
  const char* data = std::getenv("MR_DATA");
  if (data == nullptr) GTEST_SKIP() << "MR_DATA is not set: the graph is not in the tree";
  const std::string edges = cluster_.directory() + "/edges";
  Shell("zcat '" + std::string(data) + "/graph-snap/facebook_combined.tsv.gz' > '" + edges + "'");
  EXPECT_NE(Count(edges).find("1612010"), std::string::npos);
}

TEST(DigestTest, TwoRunsThatSpillGiveEqualContentDigests) {
  Cluster cluster({.workers = 2, .slots = 2});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string in = cluster.directory() + "/in";
  WriteWords(in, 200'000, 5);
  for (const char* out : {"a", "b"}) {
    const RunResult run =
        cluster.Mrctl({"submit", "wordcount", "--input", "file://" + in, "--output",
                       "file://" + cluster.directory() + "/" + out, "--reduces", "3", "--conf", "sort_buffer=256k"},
                      Seconds(120));
    ASSERT_EQ(run.exit, 0) << run.err;
  }
  EXPECT_EQ(SortedLines(ReadParts(cluster.directory() + "/a")), ExpectedWordCount(in));
  EXPECT_EQ(OutputDigest(cluster.directory() + "/a"), OutputDigest(cluster.directory() + "/b"));
}

}  // namespace
}  // namespace mr::test
