// Attempts that could harm the cluster: they act outside while their worker stands still, hang, leave processes behind,
// or start too many. With real daemons.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

std::string Text(const std::string& path) {
  const auto text = ReadFile(path);
  return text.ok() ? *text : "";
}

template <class Ready>
bool WaitFor(Ready&& ready, Duration limit = Seconds(60)) {
  const Instant end = Now() + limit;
  while (!ready()) {
    if (Now() >= end) return false;
    usleep(50'000);
  }
  return true;
}

// Processes whose command line has this number. Not those that look for it: they have it with brackets.
int Running(std::string number) {
  number.insert(number.size() - 1, "[");
  return std::atoi(Shell("set +e +o pipefail; grep -lsz '" + number + "]' /proc/[0-9]*/cmdline | wc -l").c_str());
}

struct Effect {
  std::string attempt, worker;
  int64_t at = 0;  // ns
};

std::vector<Effect> Effects(const std::string& path) {
  std::vector<Effect> all;
  std::istringstream in(Text(path));
  for (Effect e; in >> e.attempt >> e.worker >> e.at;) all.push_back(e);
  return all;
}

// An attempt whose effects are seen; its worker gets `signal`, and another worker the next attempt.
void EffectsDoNotOverlap(int signal) {
  Cluster cluster({.workers = 2, .slots = 1, .master_flags = {"--side_effects_lease=2s"}, .labels = {"me=0", "me=1"}});
  const Status started = cluster.Start();
  ASSERT_TRUE(started.ok()) << started.ToString();
  const std::string dir = cluster.directory(), file = dir + "/effects";
  ASSERT_TRUE(WriteFileDurably(dir + "/in", "one\n").ok());
  // The background loop leaves session, group and parent.
  const std::string act = "echo \"$MR_ATTEMPT_ID $MR_LABEL_ME $(date +%s%N)\" >> " + file + "; sleep 0.1; ";
  const std::string map =
      "setsid sh -c '(while :; do " + act + "done) &' & for i in $(seq 60); do " + act + "done; cat";
  auto job = cluster.MrctlInBackground({"submit", "stream", "--side-effects", "--map", map, "--input",
                                        "file://" + dir + "/in", "--output", "file://" + dir + "/out"},
                                       "submit");
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(WaitFor([&] { return Effects(file).size() >= 6; })) << cluster.Logs();
  const std::string first = Effects(file)[0].attempt;
  const pid_t stopped = cluster.worker_pid(std::stoi(Effects(file)[0].worker));
  ASSERT_EQ(kill(stopped, signal), 0);
  std::string why;
  const bool waits = WaitFor([&] {
    why = cluster.Mrctl({"-v", "why", "job_1_0001"}).out;
    return why.find("known to have ended") != std::string::npos;
  });
  const bool again = WaitFor([&] { return Effects(file).back().attempt != first; });
  if (signal == SIGSTOP) kill(stopped, SIGCONT);
  EXPECT_TRUE(waits) << why;
  ASSERT_TRUE(again) << Text(file) << cluster.Logs();
  const auto exit = job->Wait(Seconds(60));
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(*exit, 0) << Text(dir + "/submit.err") << cluster.Logs();
  EXPECT_EQ(ReadParts(dir + "/out"), "one\n");
  const std::vector<Effect> all = Effects(file);
  int64_t last_of_first = 0, first_of_second = INT64_MAX;
  for (const Effect& e : all) {
    if (e.attempt == first)
      last_of_first = std::max(last_of_first, e.at);
    else
      first_of_second = std::min(first_of_second, e.at);
  }
  EXPECT_LT(last_of_first, first_of_second) << Text(file);
}

TEST(AttemptsTest, EffectsNeverOverlapWhereAWorkerStandsStill) { EffectsDoNotOverlap(SIGSTOP); }

TEST(AttemptsTest, EffectsNeverOverlapWhereAWorkerIsKilled) { EffectsDoNotOverlap(SIGKILL); }

class OneWorkerTest : public testing::Test {
 protected:
  void Start(std::vector<std::string> worker_flags = {}) {
    cluster_.emplace(ClusterOptions{.workers = 1, .slots = 2, .worker_flags = std::move(worker_flags)});
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    dir_ = cluster_->directory();
    ASSERT_TRUE(WriteFileDurably(dir_ + "/in", "one\n").ok());
  }
  std::vector<std::string> Submit(const std::string& map, std::vector<std::string> options = {}) {
    std::vector<std::string> words = {"submit"};
    words.insert(words.end(), options.begin(), options.end());
    const std::string out = "file://" + dir_ + "/out" + std::to_string(++outputs_);
    for (const std::string& word : {std::string("stream"), std::string("--map"), map, std::string("--input"),
                                    "file://" + dir_ + "/in", std::string("--output"), out}) {
      words.push_back(word);
    }
    return words;
  }
  std::string Out() const { return ReadParts(dir_ + "/out" + std::to_string(outputs_)); }

  std::optional<Cluster> cluster_;
  std::string dir_;
  int outputs_ = 0;
};

TEST_F(OneWorkerTest, AHungAttemptIsNamedAndThenEnds) {
  ASSERT_NO_FATAL_FAILURE(Start());
  auto job = cluster_->MrctlInBackground(
      Submit("cat > /dev/null; echo the last words >&2; sleep 98761", {"--task-timeout", "8s", "--max-attempts", "1"}),
      "submit");
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  std::string doctor, why;
  EXPECT_TRUE(WaitFor([&] {
    why = cluster_->Mrctl({"why", "attempt_1_0001_0_m_000000_1"}).out;
    const size_t stack = why.find("the operator makes no progress");
    return stack != std::string::npos && why.find("\n  #", stack) != std::string::npos;
  })) << why;
  doctor = cluster_->Mrctl({"doctor"}).out;
  EXPECT_NE(doctor.find("attempt_1_0001_0_m_000000_1 on w1: the operator makes no progress"), std::string::npos)
      << doctor;
  EXPECT_TRUE(WaitFor([&] {
    doctor = cluster_->Mrctl({"doctor"}).out;
    return doctor.find("has made no progress for") != std::string::npos;
  })) << doctor;
  why = cluster_->Mrctl({"why", "job_1_0001"}).out;
  EXPECT_NE(why.find("on w1 has made no progress for"), std::string::npos) << why;
  const auto exit = job->Wait(Seconds(60));
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(*exit, 1);
  const std::string error = Text(dir_ + "/submit.err");
  EXPECT_NE(error.find("made no progress for 8"), std::string::npos) << error;
  EXPECT_NE(error.find("sleep S"), std::string::npos) << "what it was doing: " << error;
  EXPECT_NE(error.find("the last words"), std::string::npos) << error;
  EXPECT_EQ(Running("98761"), 0);
}

TEST_F(OneWorkerTest, BytesThroughAPipeAreProgress) {
  ASSERT_NO_FATAL_FAILURE(Start());
  // Far less than a batch, so none of it leaves the operator before its end.
  const RunResult run =
      cluster_->Mrctl(Submit("for i in 1 2 3 4 5 6; do echo $i; sleep 1; done", {"--task-timeout", "4s"}));
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(Out(), "1\n2\n3\n4\n5\n6\n");
}

TEST_F(OneWorkerTest, ATaskTimeoutIsCheckedAndZeroIsNever) {
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_EQ(cluster_->Mrctl(Submit("cat", {"--task-timeout", "5"})).exit, 2);
  const RunResult never = cluster_->Mrctl(Submit("cat; sleep 1", {"--task-timeout", "0"}));
  EXPECT_EQ(never.exit, 0) << never.err;
}

TEST_F(OneWorkerTest, AJobEndsWhenItsCommandHas) {
  ASSERT_NO_FATAL_FAILURE(Start());
  // They hold all three pipes; every other one has been given away by its parent, too.
  const RunResult run = cluster_->Mrctl(
      Submit("cat; for i in $(seq 150); do setsid sleep 98762 & (setsid sleep 98762 &) ; done"), Seconds(60));
  EXPECT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(Out(), "one\n");
  EXPECT_TRUE(WaitFor([] { return Running("98762") == 0; }, Seconds(10))) << Running("98762") << " are left";
}

TEST_F(OneWorkerTest, ACommandThatNoLongerReadsWhileItsChildrenHoldItsInputEnds) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(WriteFileDurably(dir_ + "/in", std::string(1 << 20, 'x') + "\n").ok());
  const RunResult run = cluster_->Mrctl(Submit("setsid sleep 98763 & echo done"), Seconds(60));
  EXPECT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(Out(), "done\n");
}

TEST_F(OneWorkerTest, TooManyProcessesEndTheAttemptAndTheWorkerLives) {
  ASSERT_NO_FATAL_FAILURE(Start({"--task_processes=200"}));
  const RunResult run = cluster_->Mrctl(
      Submit("for i in $(seq 2000); do setsid sleep 98764 & done; sleep 98764", {"--max-attempts", "1"}), Seconds(60));
  EXPECT_EQ(run.exit, 1) << run.err << cluster_->Logs();
  EXPECT_NE(run.err.find("had more than 200 processes and threads at a time"), std::string::npos) << run.err;
  EXPECT_TRUE(WaitFor([] { return Running("98764") == 0; }, Seconds(10))) << Running("98764") << " are left";
  const RunResult next = cluster_->Mrctl(Submit("cat"));
  EXPECT_EQ(next.exit, 0) << next.err;
  EXPECT_EQ(Out(), "one\n");
}

TEST_F(OneWorkerTest, DescriptorsAndFileSizesAreLimited) {
  ASSERT_NO_FATAL_FAILURE(Start({"--task_open_files=300", "--task_file_bytes=1m"}));
  const RunResult limits = cluster_->Mrctl(Submit("ulimit -Hn; ulimit -Sn"));
  EXPECT_EQ(limits.exit, 0) << limits.err;
  EXPECT_EQ(Out(), "300\n300\n");
  const RunResult large =
      cluster_->Mrctl(Submit("exec head -c 3000000 /dev/zero > $TMPDIR/large", {"--max-attempts", "1"}));
  EXPECT_EQ(large.exit, 1) << large.err;
  EXPECT_NE(large.err.find("File size limit exceeded"), std::string::npos) << large.err;
}

}  // namespace
}  // namespace mr::test
