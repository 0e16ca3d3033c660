// mrctl why with real processes: an attempt that is slow only for its input, and workers that are shunned.

#include <gtest/gtest.h>

#include <regex>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

// Returns the output of `mrctl why SUBJECT`, which it runs again until the output matches `expected`, for at most
// `seconds`.
std::string WhyUntil(const Cluster& cluster, const std::string& subject, const std::string& expected,
                     int seconds = 60) {
  const std::regex wanted(expected);
  const Instant limit = Now() + Seconds(seconds);
  std::string why;
  do {
    const RunResult run = cluster.Mrctl({"why", subject});
    why = run.out + run.err;
  } while (!std::regex_search(why, wanted) && Now() < limit);
  EXPECT_TRUE(std::regex_search(why, wanted)) << subject << ": " << expected << "\n" << why << cluster.Logs();
  return why;
}

class WhyTest : public testing::Test {
 protected:
  // A file is a split; the first one has ten times the bytes of the others, and an operator reads a tenth of a
  // small one between two naps.
  static constexpr size_t kSmall = 1 << 20;
  static std::string Read(const std::string& nap) {
    return "while [ $(head -c 104858 | wc -c) -gt 0 ]; do sleep " + nap + "; done; echo done";
  }
  void WriteInputs(const std::string& dir, int files, size_t first) {
    ASSERT_TRUE(MakeDirectories(dir).ok());
    const std::string line = std::string(63, 'x') + "\n";
    for (int i = 0; i < files; ++i) {
      std::string text;
      while (text.size() < (i == 0 ? first : kSmall)) text += line;
      ASSERT_TRUE(WriteFileDurably(dir + "/" + std::to_string(i), text).ok());
    }
  }
  RunResult Submit(const Cluster& cluster, const std::string& map, const std::string& in) {
    return cluster.Mrctl({"-q", "submit", "--detach", "--conf", "max_split_bytes=64m", "stream", "--map", map,
                          "--input", "file://" + in, "--output", "file://" + cluster.directory() + "/out"});
  }
};

// A job of maps only: by the names that `job tasks` prints, and without the stage, since only one has this letter.
TEST_F(WhyTest, TasksOfAStreamWithoutReduceAreFound) {
  Cluster cluster({.workers = 1, .slots = 2});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory(), in = dir + "/in";
  WriteInputs(in, 2, kSmall);
  const RunResult run = cluster.Mrctl(
      {"submit", "stream", "--map", "cat", "--input", "file://" + in, "--output", "file://" + dir + "/out"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_NE(cluster.Mrctl({"-v", "why", "job_1_0001"})
                .out.find("at its submission: stage 'map' planned: it reads no other stage (stage_ready)\n"),
            std::string::npos);
  for (const bool restarted : {false, true}) {
    if (restarted) {
      cluster.KillMaster();
      ASSERT_TRUE(cluster.StartMaster().ok());
    }
    for (const char* name : {"task_1_0001_0_m_000001", "task_1_0001_m_000001", "attempt_1_0001_m_000001_1"}) {
      const RunResult why = cluster.Mrctl({"why", name});
      EXPECT_EQ(why.exit, 0) << name << why.err;
      EXPECT_NE(why.out.find("committed attempt_1_0001_0_m_000001_1"), std::string::npos) << name << why.out;
    }
    EXPECT_EQ(cluster.Mrctl({"why", "task_1_0001_r_000001"}).exit, 7) << "it has no reduces";
    EXPECT_EQ(cluster.Mrctl({"why", "task_1_0007_m_000001"}).exit, 7) << "there is no such job";
    EXPECT_EQ(cluster.Mrctl({"why", "task_1_0001_x_000001"}).exit, 2);
  }
}

TEST_F(WhyTest, AnAttemptThatIsSlowForItsInputOnlyIsSparedAndWhySaysSoWithNumbers) {
  for (const std::string policy : {"late(min_age=1s,skew_check=on)", "mantri_restart(min_age=1s)"}) {
    Cluster cluster({.workers = 3, .slots = 2, .master_flags = {"--block_size=64m", "--scheduler=fifo," + policy}});
    ASSERT_TRUE(cluster.Start().ok());
    const std::string in = cluster.directory() + "/in";
    WriteInputs(in, 6, 10 * kSmall);
    const RunResult submitted = Submit(cluster, Read("0.2"), in);
    ASSERT_EQ(submitted.exit, 0) << submitted.err;
    const std::string why =
        WhyUntil(cluster, "attempt_1_0001_0_m_000000_1", "without a speculative attempt: it takes long since it has");
    // Ten times the input; at their time per byte, give or take what a busy machine does to it.
    std::smatch numbers;
    ASSERT_TRUE(std::regex_search(why, numbers,
                                  std::regex("since it has ([0-9.]+) times the input of others, at ([0-9.]+) times "
                                             "their time per byte; a new attempt would take as long \\[" +
                                             policy.substr(0, policy.find('(')))))
        << why;
    EXPECT_NEAR(std::stod(numbers[1]), 10, 0.1) << why;
    EXPECT_GT(std::stod(numbers[2]), 0.2) << why;
    EXPECT_LT(std::stod(numbers[2]), 2) << why;
    const std::string attempts = cluster.Mrctl({"job", "attempts", "job_1_0001"}).out;
    const std::string reasons = cluster.Mrctl({"why", "task_1_0001_m_000000"}).out;
    EXPECT_EQ(attempts.find("speculative"), std::string::npos) << attempts << reasons;
    EXPECT_EQ(attempts.find("restart"), std::string::npos) << attempts << reasons;
    EXPECT_EQ(cluster.Mrctl({"kill", "job_1_0001"}).exit, 0);
  }
}

TEST_F(WhyTest, AWorkerWhoseAttemptsKeepFailingIsShunnedAndWhySaysSo) {
  Cluster cluster({.workers = 3,
                   .slots = 1,
                   .master_flags = {"--scheduler=fifo,blacklist(window=1,threshold=0.4)"},
                   .labels = {"bad=1", "bad=0", "bad=0"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string in = cluster.directory() + "/in";
  WriteInputs(in, 60, kSmall);
  const RunResult submitted = Submit(cluster, "cat >/dev/null; [ $MR_LABEL_BAD = 0 ] || exit 7; sleep 0.2", in);
  ASSERT_EQ(submitted.exit, 0) << submitted.err;
  WhyUntil(cluster, "w1",
           "w1 at 127.0.0.1:[0-9]+ is live[^]*\nattempts keep failing there \\(score (0.[4-9][0-9]|1.00), blacklisted "
           "from 0.40 on\\): it gets no first attempts while other workers can take them \\[blacklist\\]");
  EXPECT_EQ(cluster.Mrctl({"why", "w2"}).out.find("keep failing"), std::string::npos);
  EXPECT_EQ(cluster.Mrctl({"kill", "job_1_0001"}).exit, 0);
}

TEST_F(WhyTest, AWorkerThatLateFindsSlowIsShunnedAndWhySaysSo) {
  Cluster cluster({.workers = 4,
                   .slots = 1,
                   .master_flags = {"--scheduler=fifo,late(min_age=1s)"},
                   .labels = {"nap=5", "nap=0.1", "nap=0.1", "nap=0.1"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string in = cluster.directory() + "/in";
  WriteInputs(in, 60, kSmall);
  const RunResult submitted = Submit(cluster, Read("$MR_LABEL_NAP"), in);
  ASSERT_EQ(submitted.exit, 0) << submitted.err;
  WhyUntil(cluster, "w1",
           "\nno speculative attempts of job_1_0001 there: its attempts made 0.[0-9]+ tasks' worth of progress, and "
           "workers below [0-9.]+ count as slow \\[late\\]");
  EXPECT_EQ(cluster.Mrctl({"kill", "job_1_0001"}).exit, 0);
}

}  // namespace
}  // namespace mr::test
