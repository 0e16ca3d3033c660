// Speculation in real processes: one worker is slow, copies of its attempts run elsewhere, what they
// race with is killed, and the answer is the same.

#include <gtest/gtest.h>

#include <cstdlib>

#include "common/io/clock.h"
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

// Naps say nothing of their progress: only how long they have run.
TEST(SpeculationClusterTest, NapsAreCopiedByEachPolicy) {
  for (const std::string policy : {"hadoop_speculation(min_age=1s)", "dryad_speculation(done=0.8)",
                                   "spark_speculation(quantile=0.5)", "late(min_age=1s,skew_check=on)"}) {
    Cluster cluster({.workers = 3, .slots = 1, .master_flags = {"--scheduler=fifo," + policy}, .labels = {"slowdown=60"}});
    const Status started = cluster.Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    const Instant begin = Now();
    const RunResult run = cluster.Mrctl({"submit", "sleep", "--ms", "500", "--tasks", "5", "--output",
                                         "file://" + cluster.directory() + "/out"},
                                        Seconds(100));
    EXPECT_EQ(run.exit, 0) << policy << "\n" << run.err << cluster.Logs();
    EXPECT_LT((Now() - begin).seconds(), 20) << policy;
    const std::string attempts = cluster.Mrctl({"job", "attempts", "job_1_0001"}).out;
    EXPECT_NE(attempts.find("killed"), std::string::npos) << policy << "\n" << attempts;
    EXPECT_TRUE(PathExists(cluster.directory() + "/out/part-m-00000")) << attempts;
  }
}

}  // namespace
}  // namespace mr::test
