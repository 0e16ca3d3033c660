// Speculation in real processes: one worker is slow, speculative attempts of its tasks run elsewhere, the losers are
// killed, and the answer is the same.

#include <gtest/gtest.h>

#include <cstdlib>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

constexpr int kSlowSeconds = 12;

struct Outcome {
  double seconds = 0;
  std::string attempts;
};

// Counts words with maps that nap, for kSlowSeconds on the first worker and for a second elsewhere.
Outcome CountWords(const std::string& policies) {
  Cluster cluster({.workers = 4,
                   .slots = 1,
                   .master_flags = {"--block_size=64k", "--scheduler=" + policies},
                   .labels = {"slowdown=" + std::to_string(kSlowSeconds), "slowdown=1", "slowdown=1", "slowdown=1"}});
  const Status started = cluster.Start();
  EXPECT_TRUE(started.ok()) << started.ToString();
  if (!started.ok()) return {};
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in", 400'000);
  const Instant begin = Now();
  const RunResult run =
      cluster.Mrctl({"submit", "stream", "--map", "sleep $MR_LABEL_SLOWDOWN; tr -s ' ' '\\n' | sed 's/$/\\t1/'",
                     "--reduce", "awk -F'\\t' '{c[$1]+=$2} END {for (k in c) print k \"\\t\" c[k]}'", "--input",
                     "file://" + dir + "/in", "--output", "file://" + dir + "/out"},
                    Seconds(120));
  Outcome outcome{(Now() - begin).seconds(), cluster.Mrctl({"job", "attempts", "job_1_0001"}).out};
  EXPECT_EQ(run.exit, 0) << policies << "\n" << run.err << cluster.Logs();
  EXPECT_EQ(SortedLines(ReadParts(dir + "/out")),
            SortedLines(Shell("cat '" + dir +
                              "/in' | tr -s ' ' '\\n' | sort | uniq -c | awk '{c=$1; $1=\"\"; print substr($0,2) "
                              "\"\\t\" c}'")))
      << policies;
  return outcome;
}

TEST(SpeculationClusterTest, LateDoesNotWaitForASlowWorkerAndKillsItsAttempt) {
  const Outcome none = CountWords("fifo");
  EXPECT_GE(none.seconds, kSlowSeconds) << "the slow worker was not waited for";
  const Outcome late = CountWords("fifo,late(min_age=1s)");
  EXPECT_LT(late.seconds, kSlowSeconds - 2) << late.attempts;
  EXPECT_NE(late.attempts.find("killed"), std::string::npos) << late.attempts;
}

// Naps report no progress, so that only their running time is known.
TEST(SpeculationClusterTest, EachPolicyGivesNapsSpeculativeAttempts) {
  for (const std::string policy : {"hadoop_speculation(min_age=1s)", "dryad_speculation(done=0.8)",
                                   "spark_speculation(quantile=0.5)", "late(min_age=1s,skew_check=on)"}) {
    Cluster cluster(
        {.workers = 3, .slots = 1, .master_flags = {"--scheduler=fifo," + policy}, .labels = {"slowdown=60"}});
    const Status started = cluster.Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    const Instant begin = Now();
    const RunResult run = cluster.Mrctl(
        {"submit", "sleep", "--ms", "500", "--tasks", "5", "--output", "file://" + cluster.directory() + "/out"},
        Seconds(100));
    EXPECT_EQ(run.exit, 0) << policy << "\n" << run.err << cluster.Logs();
    EXPECT_LT((Now() - begin).seconds(), 20) << policy;
    const std::string attempts = cluster.Mrctl({"job", "attempts", "job_1_0001"}).out;
    EXPECT_NE(attempts.find("killed"), std::string::npos) << policy << "\n" << attempts;
    EXPECT_TRUE(PathExists(cluster.directory() + "/out/part-m-00000")) << attempts;
  }
}

// The number behind "key": in the part of the text that begins with `after`; -1 where there is none.
double NumberAfter(const std::string& text, const std::string& after, const std::string& key) {
  const size_t from = text.find(after);
  const size_t at = from == std::string::npos ? from : text.find("\"" + key + "\":", from);
  return at == std::string::npos ? -1 : std::atof(text.c_str() + at + key.size() + 3);
}

// One cluster with a slow worker and a list that speculates. The wish of a job decides.
class ChoiceTest : public testing::Test {
 protected:
  static constexpr int kNaps = 5;  // seconds on the slow worker
  ChoiceTest() {
    EXPECT_TRUE(cluster_.Start().ok());
    // Three maps: as many splits of a line each.
    EXPECT_TRUE(MakeDirectories(cluster_.directory() + "/in").ok());
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(WriteFileDurably(cluster_.directory() + "/in/" + std::to_string(i), "a\n").ok());
  }

  // A map naps on the slow worker and counts itself at its start.
  RunResult Stream(const std::string& out, std::vector<std::string> options, std::vector<std::string> flags = {}) {
    std::vector<std::string> argv = {"-o", "json", "submit"};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.insert(argv.end(), {"--input", "file://" + cluster_.directory() + "/in", "--output",
                             "file://" + cluster_.directory() + "/" + out, "stream"});
    argv.insert(argv.end(), {"--map", "echo reporter:counter:test,begun,1 >&2; cat; sleep $MR_LABEL_SLOWDOWN"});
    argv.insert(argv.end(), flags.begin(), flags.end());
    return cluster_.Mrctl(argv, Seconds(60));
  }
  int Exit(std::vector<std::string> options) {
    options.insert(options.begin(), "submit");
    options.insert(options.end(),
                   {"sleep", "--ms", "1", "--tasks", "1", "--output", "file://" + cluster_.directory() + "/never"});
    const RunResult run = cluster_.Mrctl(options, Seconds(60));
    said_ = run.err;
    return run.exit;
  }

  Cluster cluster_{{.workers = 3,
                    .slots = 1,
                    .master_flags = {"--scheduler=fifo,dryad_speculation(done=0.5)"},
                    .labels = {"slowdown=" + std::to_string(kNaps), "slowdown=1", "slowdown=1"}}};
  std::string said_;
};

TEST_F(ChoiceTest, AJobsWishDecidesAndItsSpeculativeAttemptsAreCounted) {
  const RunResult raced = Stream("raced", {});
  ASSERT_EQ(raced.exit, 0) << raced.err << cluster_.Logs();
  EXPECT_GE(NumberAfter(raced.out, "speculative", "launched"), 1) << raced.out;
  EXPECT_EQ(NumberAfter(raced.out, "speculative", "won"), NumberAfter(raced.out, "speculative", "launched"));
  EXPECT_LT(NumberAfter(raced.out, "{", "elapsed_us"), (kNaps - 1) * 1e6) << "the slow worker was waited for";
  const std::string counters = cluster_.Mrctl({"-o", "json", "job", "counters", "job_1_0001"}).out;
  EXPECT_EQ(NumberAfter(counters, "test/begun", "value"), 3) << "what losers counted counts: " << counters;
  const std::string show = cluster_.Mrctl({"job", "show", "job_1_0001"}).out;
  EXPECT_NE(show.find("1 speculative attempt launched, 1 won"), std::string::npos) << show;
  EXPECT_NE(show.find("of slot time, by attempts that did not commit"), std::string::npos) << show;

  for (const std::string list : {"--speculation=off", "--scheduler=none"}) {
    const RunResult off = Stream("off" + list, {list});
    ASSERT_EQ(off.exit, 0) << off.err << cluster_.Logs();
    EXPECT_EQ(off.out.find("speculative"), std::string::npos) << list << off.out;
    EXPECT_GE(NumberAfter(off.out, "{", "elapsed_us"), kNaps * 1e6 - 1e5) << list;
  }
  // An operator with side effects gets none either, whatever the list.
  const RunResult alone = Stream("alone", {"--speculation=on"}, {"--side-effects"});
  ASSERT_EQ(alone.exit, 0) << alone.err << cluster_.Logs();
  EXPECT_EQ(alone.out.find("speculative"), std::string::npos) << alone.out;
}

TEST_F(ChoiceTest, AWishThatCannotBeMetExitsWithTwo) {
  EXPECT_EQ(Exit({"--clone", "on"}), 2);
  EXPECT_NE(said_.find("--clone on: there is no policy"), std::string::npos) << said_;
  EXPECT_EQ(Exit({"--scheduler", "none", "--speculation", "on"}), 2) << said_;
  EXPECT_EQ(Exit({"--speculation", "maybe"}), 2);
  EXPECT_NE(said_.find("on, off or auto"), std::string::npos) << said_;
  EXPECT_EQ(Exit({"--scheduler", "fair"}), 2) << said_;
  EXPECT_EQ(Exit({"--scheduler", "late(cap=7)"}), 2) << said_;
  EXPECT_EQ(Exit({"--local", "--scheduler", "fair", "--speculation", "on"}), 2) << said_;
  ASSERT_TRUE(
      WriteFileDurably(cluster_.directory() + "/job.toml", "version = 1\njob = \"sleep\"\nclone = \"on\"\n").ok());
  EXPECT_EQ(cluster_
                .Mrctl({"submit", cluster_.directory() + "/job.toml", "--output",
                        "file://" + cluster_.directory() + "/never", "--ms", "1", "--tasks", "1"})
                .exit,
            2);
}

TEST_F(ChoiceTest, WhySaysWhyThereAreSpeculativeAttemptsOrNone) {
  const RunResult run =
      cluster_.Mrctl({"-q", "submit", "--detach", "sleep", "--ms", "3000", "--tasks", "4", "--scheduler",
                      "late(min_age=1s)", "--output", "file://" + cluster_.directory() + "/out"});
  ASSERT_EQ(run.exit, 0) << run.err;
  std::string why;
  for (int i = 0; i < 100 && why.find("slots for them are taken") == std::string::npos; ++i) {
    why = cluster_.Mrctl({"-v", "why", "job_1_0001"}).out;
  }
  EXPECT_NE(why.find("stage 'sleep' has tasks that could run and do not: all 3 slots"), std::string::npos) << why;
  for (int i = 0; i < 100 && why.find("not judged yet: it has run for") == std::string::npos; ++i) {
    why = cluster_.Mrctl({"why", "task_1_0001_0_m_000000"}).out;
  }
  EXPECT_NE(why.find("is left alone until 1.00 s [late]"), std::string::npos)
      << why << cluster_.Mrctl({"why", "task_1_0001_0_m_000000"}).err;
  EXPECT_EQ(cluster_.Mrctl({"kill", "job_1_0001"}).exit, 0);
  EXPECT_NE(cluster_.Mrctl({"why", "w1"}).out.find(" is live"), std::string::npos);
}

}  // namespace
}  // namespace mr::test
