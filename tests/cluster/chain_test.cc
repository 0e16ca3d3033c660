// Job files of several steps, as one job, against coreutils and against the same jobs one after the other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;

class ChainTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 2, .slots = 2});
    ASSERT_TRUE(cluster_->Start().ok());
    WriteBible(Path("bible"), 400'000);
    Shell("cd '" + cluster_->directory() +
          "' && seq 1 3000 | awk '{printf \"u%d,%d\\n\", $1 % 40, $1}' > visits.csv && "
          "seq 0 2 39 | awk '{printf \"u%d,name%d\\n\", $1, $1}' > users.csv");
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static std::string Path(const std::string& name) { return cluster_->directory() + "/" + name; }
  static std::string Uri(const std::string& name) { return "file://" + Path(name); }
  static std::string In(const std::string& script) { return Shell("cd '" + cluster_->directory() + "' && " + script); }

  // `%` in the file stands for the directory's URI.
  static RunResult Submit(const std::string& file, std::vector<std::string> more = {},
                          const std::string& verb = "submit") {
    std::string text;
    for (char c : file) text += c == '%' ? Uri("") : std::string(1, c);
    std::ofstream(Path("job.toml")) << text;
    more.insert(more.begin(), {verb, Path("job.toml")});
    return cluster_->Mrctl(more, Seconds(120));
  }
  // The job's parts in order; small splits.
  static std::string Run(const std::string& file) {
    In("rm -rf out");
    const RunResult run = Submit(file, {"--output", Uri("out"), "--conf", "max_split_bytes=30k"});
    EXPECT_EQ(run.exit, 0) << run.err << cluster_->Logs();
    return run.exit == 0 ? ReadParts(Path("out")) : "";
  }

  static Cluster* cluster_;
};
Cluster* ChainTest::cluster_ = nullptr;

TEST_F(ChainTest, GrepThenWordcountIsThePipe) {
  const std::string found =
      Run("input = '%bible'\n[[step]]\njob = 'grep'\nargs = ['-e', 'king']\n[[step]]\njob = 'wordcount'\n");
  In("grep king bible > kings");
  EXPECT_EQ(SortedLines(found), ExpectedWordCount(Path("kings")));
}

TEST_F(ChainTest, SortSamplesWhatAStepWrote) {
  EXPECT_EQ(Run("[[step]]\njob = 'sort'\nreduces = 3\ninput = '@grep'\n[[step]]\njob = 'grep'\nargs = ['-i', '-e', "
                "'lord']\ninput = '%bible'\n"),
            In("grep -i lord bible | sort"));
}

TEST_F(ChainTest, FilesOfStepsHaveOffsetsAndNames) {
  // Line numbers need the newlines before each split: of one upstream task, those of its output.
  EXPECT_EQ(Run("input = '%bible'\n[[step]]\njob = 'sort'\nreduces = 1\n[[step]]\njob = 'grep'\nargs = ['-n', '-H', "
                "'-e', 'Sarah']\n"),
            In("sort bible | grep -n Sarah | sed 's,^,@sort/00000:,'"));
}

TEST_F(ChainTest, JoinReadsTwoSteps) {
  const std::string joined =
      Run("[[step]]\nname = 'visits'\njob = 'grep'\nargs = ['-e', ',.*7$']\ninput = '%visits.csv'\n"
          "[[step]]\nname = 'users'\njob = 'grep'\nargs = ['-v', '-e', '^u4,']\ninput = '%users.csv'\n"
          "[[step]]\njob = 'join'\nargs = ['--no-header', '--left', '@users', '--right', '@visits', '--on', '1']\n");
  EXPECT_EQ(SortedLines(joined),
            In("grep ',.*7$' visits.csv | sort -t, -k1,1 > v; grep -v '^u4,' users.csv | sort -t, -k1,1 > u; "
               "join -t, u v | sort"));
}

TEST_F(ChainTest, ThreeStepsAndAFanOutAreOneJob) {
  const std::string file =
      "input = '%bible'\n[[step]]\nname = 'lines'\njob = 'grep'\nargs = ['-e', 'a']\n"
      "[[step]]\nname = 'counts'\njob = 'wordcount'\ninput = '@lines'\nreduces = 2\n"
      "[[step]]\nname = 'common'\njob = 'grep'\nargs = ['-e', '\\t[0-9]{3,}$']\ninput = '@counts'\n"
      "[[step]]\njob = 'sort'\ninput = '@common'\n";
  std::string found = Run(file);
  In("grep a bible > as");
  std::ofstream(Path("expected_counts")) << ExpectedWordCount(Path("as"));
  EXPECT_EQ(found, In("grep -P '\\t[0-9]{3,}$' expected_counts | sort"));
  const RunResult explained = Submit(file, {}, "explain");
  EXPECT_EQ(explained.exit, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("counts.sum"));
}

TEST_F(ChainTest, StepsThatCannotBeAreRefusedTogetherAndNothingRuns) {
  const RunResult run = Submit(
      "output = '%never'\n[[step]]\njob = 'grep'\nargs = ['-e', '(']\ninput = '%bible'\n"
      "[[step]]\njob = 'sort'\nargs = ['--nope']\n[[step]]\njob = 'no_such_job'\n");
  EXPECT_EQ(run.exit, 2) << run.err;
  EXPECT_THAT(run.err, HasSubstr("step 'grep'"));
  EXPECT_THAT(run.err, HasSubstr("step 'sort'"));
  EXPECT_THAT(run.err, HasSubstr("step 'no_such_job'"));
  EXPECT_EQ(In("test -e never && echo there || true"), "");
  const RunResult dangling =
      Submit("[[step]]\njob = 'grep'\nargs = ['-e', 'x']\ninput = '@gerp'\n[[step]]\njob = 'sort'\nreduces = 0\n");
  EXPECT_EQ(dangling.exit, 2);
  EXPECT_THAT(dangling.err, HasSubstr("2 mistakes"));
  EXPECT_EQ(
      Submit("[[step]]\njob = 'grep'\nargs = ['-e', 'x']\ninput = '%no_such_file'\n", {"--output", Uri("never")}).exit,
      7);
}

TEST_F(ChainTest, TablesOfStepsWithoutAHeaderAreSummedByNumber) {
  const std::string first =
      "[[step]]\njob = 'grep'\nargs = ['-e', '7$']\ninput = '%visits.csv'\n[[step]]\njob = 'aggregate'\n";
  EXPECT_EQ(SortedLines(Run(first + "args = ['--no-header', '--by', '1', '--agg', 'sum(2)']\n")),
            In("grep '7$' visits.csv | awk -F, '{s[$1] += $2} END {for (u in s) print u \",\" s[u]}' | sort"));
  const RunResult refused = Submit(first + "args = ['--by', '1', '--agg', 'sum(2)']\n", {"--output", Uri("never")});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("step 'aggregate': reads the first line of each file of @grep as a header"));
  EXPECT_THAT(refused.err, HasSubstr("--no-header"));
}

TEST_F(ChainTest, StepsThatReadTablesNameTheirColumns) {
  In("(echo user,n; cat visits.csv) > named_visits.csv; (echo user,name; cat users.csv) > named_users.csv");
  const std::string sums =
      "[[step]]\nname = 'sums'\njob = 'aggregate'\nargs = ['--by', 'user', '--agg', 'sum(n)']\n"
      "input = '%named_visits.csv'\nreduces = 3\n";
  const std::string joined = sums +
                             "[[step]]\njob = 'join'\nreduces = 2\nargs = ['--left', '@sums', '--right', "
                             "'%named_users.csv', '--on', 'user', '--broadcast-bytes', '0']\n";
  const std::string in_order =
      "awk -F, '{s[$1] += $2} END {for (u in s) print u \",\" s[u]}' visits.csv | sort -t, -k1,1 | join -t, - "
      "<(sort -t, -k1,1 users.csv) | sort -t, -k2,2nr";
  EXPECT_EQ(Run(joined + "[[step]]\njob = 'topk'\nargs = ['--by', 'sum(n)', '-n', '3']\n"),
            "user,sum(n),name\n" + In("bash -c \"" + [&] {
              std::string quoted;
              for (const char c : in_order) quoted += (c == '"' || c == '$' ? "\\" : "") + std::string(1, c);
              return quoted;
            }() + "\" | sed -n 1,3p"));
  // The rows alone reach a step on lines, and one that counts columns.
  const std::string rows =
      In("awk -F, '{s[$1] += $2} END {for (u in s) print u \",\" s[u]}' visits.csv | LC_ALL=C sort");
  EXPECT_EQ(Run(sums + "[[step]]\njob = 'sort'\n"), rows);
  EXPECT_EQ(Run(sums + "[[step]]\njob = 'aggregate'\nargs = ['--no-header', '--agg', 'count,sum(2)']\n"),
            In("awk -F, '{s += $2} END {print 40 \",\" s}' visits.csv"));
  const RunResult wrong =
      Submit(sums + "[[step]]\njob = 'topk'\nargs = ['--by', 'summ']\n", {"--output", Uri("never")});
  EXPECT_EQ(wrong.exit, 1) << wrong.err;
  EXPECT_THAT(wrong.err, HasSubstr("has no column 'summ'"));
  EXPECT_THAT(wrong.err, HasSubstr("its header names: user, sum(n)"));
}

TEST_F(ChainTest, TablesInRecordsPassFromStepToStepAndThroughFiles) {
  In("(echo user,n; cat visits.csv) > counted.csv; rm -rf records");
  const std::string sums =
      "[[step]]\nname = 'sums'\njob = 'aggregate'\nargs = ['--by', 'user', '--agg', 'sum(n)', '--output-format', "
      "'record']\ninput = '%counted.csv'\nreduces = 3\n";
  const std::string top =
      "args = ['--format', 'record', '--by', 'sum(n)', '-n', '3', '--where', '\"sum(n)\" > 0', '--output-format', "
      "'csv']\n";
  const std::string wanted =
      "user,sum(n)\n" +
      In("awk -F, '{s[$1] += $2} END {for (u in s) print u \",\" s[u]}' visits.csv | sort -t, -k2,2nr | sed -n 1,3p");
  EXPECT_EQ(Run(sums + "[[step]]\njob = 'topk'\n" + top), wanted);
  const RunResult written = Submit(sums, {"--output", Uri("records")});
  ASSERT_EQ(written.exit, 0) << written.err;
  EXPECT_EQ(Run("[[step]]\njob = 'topk'\ninput = '%records'\n" + top), wanted);
  const RunResult refused =
      Submit(sums + "[[step]]\njob = 'topk'\nargs = ['--by', 'sum(n)']\n", {"--output", Uri("never")});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("but step 'sums' writes record"));
}

TEST_F(ChainTest, ALocalRunReadsFilesBesideIt) {
  std::ofstream(Path("here.toml"))
      << "[[step]]\njob = 'grep'\nargs = ['-e', 'king']\ninput = 'bible'\n[[step]]\njob = 'sort'\n";
  SpawnOptions options;
  options.directory = cluster_->directory();
  const RunResult run = RunMrctl({"-q", "submit", "--local", "here.toml"}, Seconds(120), options);
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(run.out, In("grep king bible | sort"));
}

}  // namespace
}  // namespace mr::test
