// Logs of attempts outlive their workers and are followed while attempts run. With the real binaries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class LogsTest : public testing::Test {
 protected:
  LogsTest() {
    const Status started = cluster_.Start();
    EXPECT_TRUE(started.ok()) << started.ToString();
    WriteBible(Path("in"), 2'000);
  }
  std::string Path(const std::string& name) const { return cluster_.directory() + "/" + name; }
  RunResult Mrctl(const std::vector<std::string>& args) const { return cluster_.Mrctl(args, Seconds(60)); }
  // Submits a job of one map, and returns its id.
  std::string Submit(const std::string& map, const std::string& out, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {"-q",
                                     "submit",
                                     "stream",
                                     "--map",
                                     map,
                                     "--input",
                                     "file://" + Path("in"),
                                     "--output",
                                     "file://" + Path(out),
                                     "--detach"};
    args.insert(args.begin() + 2, more.begin(), more.end());
    const RunResult run = Mrctl(args);
    EXPECT_EQ(run.exit, 0) << run.err << cluster_.Logs();
    return run.out.substr(0, run.out.find('\n'));
  }
  static std::string FirstAttempt(const std::string& job) { return "attempt" + job.substr(3) + "_0_m_000000_1"; }
  bool Until(const std::function<bool()>& done) const {
    for (const Instant end = Now() + Seconds(30); Now() < end;) {
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  bool Said(const std::string& name, const std::string& text) const {
    const auto said = ReadFile(Path(name));
    return said.ok() && said->find(text) != std::string::npos;
  }

  Cluster cluster_{{.workers = 1}};
};

// More than the report's short tail, and more than the master keeps.
constexpr char kTalksAndFails[] = "seq -f 'said %08g' 20000 >&2; exit 3";

TEST_F(LogsTest, TheLogOfAFailedAttemptSurvivesACrashOfItsWorkerAndARestartOfTheMaster) {
  const std::string job = Submit(kTalksAndFails, "out", {"--max-attempts", "1"});
  EXPECT_EQ(Mrctl({"wait", job}).exit, 1);
  const std::string attempt = FirstAttempt(job);
  const std::string whole = Mrctl({"logs", attempt}).out;
  EXPECT_THAT(whole, HasSubstr("said 00020000\noperator stream.map failed: the map command exited with code 3"));
  ASSERT_TRUE(Until([&] { return PathExists(cluster_.master_data() + "/logs/" + attempt + ".failed"); }));
  cluster_.KillWorker(0);
  ASSERT_TRUE(cluster_.WaitForWorkers(0).ok());
  cluster_.KillMaster();
  ASSERT_TRUE(cluster_.StartMaster().ok());

  const RunResult kept = Mrctl({"logs", attempt});
  EXPECT_EQ(kept.exit, 0) << kept.err;
  EXPECT_THAT(kept.err, testing::ContainsRegex("its log is on w1, which (is gone|does not answer); this is what the "
                                               "master kept: its last 64 KiB of 274 KiB"));
  EXPECT_EQ(kept.out.size(), 64u << 10);
  EXPECT_THAT(whole, EndsWith(kept.out));
  const RunResult lines = Mrctl({"logs", job, "--grep", "said 0001999[89]"});
  EXPECT_EQ(lines.out, attempt + ": said 00019998\n" + attempt + ": said 00019999\n");
  const std::string last = whole.substr(whole.rfind('\n', whole.size() - 2) + 1);
  EXPECT_EQ(Mrctl({"logs", "-f", attempt, "--tail", "1"}).out, last) << "nothing to wait for";

  // A new process on the same data directory has the whole log again.
  ASSERT_TRUE(cluster_.StartWorker(0).ok());
  ASSERT_TRUE(cluster_.WaitForWorkers(1).ok());
  const RunResult again = Mrctl({"logs", attempt});
  EXPECT_EQ(again.out, whole);
  EXPECT_THAT(Mrctl({"logs", attempt, "--grep", "said 00000001$"}).out, HasSubstr("said 00000001\n"))
      << "a search reads all of it";
}

TEST_F(LogsTest, ATerminalGetsNoControlCharactersOfATask) {
  const std::string job = Submit(R"(printf '\033]0;title\007\302\2331mred\n' >&2; exit 3)", "escapes",
                                 {"--max-attempts", "1", "--name", "escapes"});
  EXPECT_EQ(Mrctl({"wait", job}).exit, 1);
  const std::string mrctl = BinaryDirectory() + "/mrctl --master " + cluster_.master_address() + " ";
  bool shown = false;
  for (const std::string verb : {"job show ", "job attempts ", "why ", "logs ", "--no-progress attach ", "wait "}) {
    for (const char* form : {"", " -o json"}) {
      const RunResult run = RunProgram({"/usr/bin/script", "-qec", mrctl + verb + job + form, "/dev/null"});
      EXPECT_THAT(run.out, HasSubstr("exit 3")) << verb << form;
      for (const char* control : {"\x1b", "\a", "\xc2\x9b"}) {
        EXPECT_EQ(run.out.find(control), std::string::npos) << verb << form << ":\n" << run.out;
      }
      shown |= run.out.find("\\x1b]0;title\\x07\\xc2\\x9b1mred") != std::string::npos;
    }
  }
  EXPECT_TRUE(shown);
}

TEST_F(LogsTest, ATerminalGetsNoControlCharactersOfACounter) {
  const std::string submit = BinaryDirectory() + "/mrctl --master " + cluster_.master_address() +
                             " --no-progress submit stream --input file://" + Path("in") + " --output file://" +
                             Path("counted") +
                             R"( --map 'printf "reporter:counter:g\033]0;pwn\007,n\033[31m,1\n" >&2; cat')";
  const RunResult run = RunProgram({"/usr/bin/script", "-qec", submit, "/dev/null"});
  EXPECT_EQ(run.exit, 0) << run.out << run.err << cluster_.Logs();
  EXPECT_THAT(run.out, HasSubstr("g\\x1b]0;pwn\\x07"));
  EXPECT_THAT(run.out, HasSubstr("n\\x1b[31m"));
  for (const char* control : {"\x1b", "\a"}) EXPECT_EQ(run.out.find(control), std::string::npos) << run.out;
}

TEST_F(LogsTest, AWorkerThatShutsDownLeavesItsLogsWithTheMaster) {
  const std::string job = Submit("echo all is well >&2; cat", "out");
  EXPECT_EQ(Mrctl({"wait", job}).exit, 0);
  EXPECT_FALSE(PathExists(cluster_.master_data() + "/logs")) << "nothing failed";
  ASSERT_TRUE(cluster_.StopWorker(0).ok());
  const RunResult logs = Mrctl({"logs", FirstAttempt(job)});
  EXPECT_EQ(logs.out, "all is well\n") << logs.err << cluster_.Logs();
  EXPECT_THAT(logs.err, HasSubstr("this is what the master kept"));
}

TEST_F(LogsTest, ADrainedWorkerGivesItsLogsToTheMasterBeforeItIsStopped) {
  const std::string job = Submit("echo all is well >&2; cat", "out");
  EXPECT_EQ(Mrctl({"wait", job}).exit, 0);
  ASSERT_EQ(Mrctl({"worker", "drain", "w1"}).exit, 0);
  EXPECT_TRUE(Until([&] { return PathExists(cluster_.master_data() + "/logs/" + FirstAttempt(job)); }))
      << cluster_.Logs();
}

TEST_F(LogsTest, ARunningAttemptIsFollowedToItsEndAcrossARestartOfTheMaster) {
  const std::string job = Submit(
      "echo begins >&2; until [ -e " + Path("go") + " ]; do sleep 0.02; done; printf ' \\033[1mand ends\\n' >&2; cat",
      "out");
  auto attempt = cluster_.MrctlInBackground({"logs", "-f", FirstAttempt(job)}, "attempt");
  auto whole = cluster_.MrctlInBackground({"logs", "--follow", job}, "whole");
  ASSERT_TRUE(attempt.ok() && whole.ok());
  ASSERT_TRUE(Until([&] { return Said("attempt.out", "begins\n") && Said("whole.out", "begins\n"); }))
      << cluster_.Logs();
  cluster_.KillMaster();
  ASSERT_TRUE(cluster_.StartMaster().ok());
  ASSERT_TRUE(WriteFileDurably(Path("go"), "").ok());
  EXPECT_EQ(attempt->Wait(Seconds(30)), 0) << *ReadFile(Path("attempt.err"));
  EXPECT_EQ(whole->Wait(Seconds(30)), 0) << *ReadFile(Path("whole.err"));
  EXPECT_EQ(*ReadFile(Path("attempt.out")), "begins\n \x1b[1mand ends\n") << "a pipe gets the bytes as they are";
  EXPECT_EQ(*ReadFile(Path("whole.out")),
            FirstAttempt(job) + ": begins\n" + FirstAttempt(job) + ":  \x1b[1mand ends\n");
}

TEST_F(LogsTest, ATaskIsFollowedThroughItsRetriesAndCtrlCEndsItQuietly) {
  const std::string job =
      Submit("mkdir " + Path("tried") + " && echo fails >&2 && exit 3; echo again >&2; until [ -e " + Path("go") +
                 " ]; do sleep 0.02; done; cat",
             "out");
  const std::string task = "task" + job.substr(3) + "_0_m_000000";
  auto lines = cluster_.MrctlInBackground({"-o", "ndjson", "logs", "-f", task, "--grep", "a[gi]"}, "lines");
  auto left = cluster_.MrctlInBackground({"logs", "-f", task}, "left");
  ASSERT_TRUE(lines.ok() && left.ok());
  ASSERT_TRUE(Until([&] { return Said("lines.out", "again") && Said("left.out", "again"); })) << cluster_.Logs();
  left->Signal(SIGINT);
  EXPECT_EQ(left->Wait(Seconds(10)), 130);
  EXPECT_EQ(*ReadFile(Path("left.err")), "");
  ASSERT_TRUE(WriteFileDurably(Path("go"), "").ok());
  EXPECT_EQ(lines->Wait(Seconds(30)), 0) << *ReadFile(Path("lines.err"));
  EXPECT_THAT(*ReadFile(Path("lines.out")), HasSubstr("\"text\":\"again\\n\""));
  EXPECT_THAT(*ReadFile(Path("lines.out")), StartsWith("{\"id\":\"attempt_"));
  EXPECT_EQ(Mrctl({"wait", job}).exit, 0);
  const RunResult none = Mrctl({"logs", job, "--grep", "never"});
  EXPECT_EQ(none.exit, 0);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("no line of 2 attempts matches"));
  EXPECT_EQ(Mrctl({"logs", job, "--grep", "("}).exit, 2);
  EXPECT_EQ(Mrctl({"-o", "json", "logs", "-f", job}).exit, 2);
  EXPECT_EQ(Mrctl({"logs", "-f", "job_9_0009"}).exit, 7);
  EXPECT_THAT(Mrctl({"logs", "-f", job}).out, HasSubstr(": fails\n")) << "the job has ended: all of it";
}

}  // namespace
}  // namespace mr::test
