// Rooms of tasks, with real binaries: attacks by an operator and by a command of `stream`, at each tier. One table has
// what is expected; the test prints what happened beside it (docs/security.md has the same rows).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "worker/task/landlock.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;

enum class Expect : uint8_t {
  kFails,     // in every room of this tier
  kPossible,  // documented; the rights of the worker's user or an older kernel may still refuse it
};
using enum Expect;

// From these interface versions on, Landlock hides files from truncate(2), and processes from signals.
constexpr int kTruncateAbi = 3, kSignalAbi = 6;

#ifdef __SANITIZE_ADDRESS__
constexpr Expect kDaemonMemory = kPossible;  // such daemons stay dumpable (common/io/private_memory.h)
#else
constexpr Expect kDaemonMemory = kFails;
#endif

struct Attack {
  const char* line;  // as TryAttack takes it; {WORD} stands for a target
  Expect at[2];      // at tier 0 and tier 1
  int abi = 0;       // tier 1 needs at least this version of Landlock
};

constexpr Attack kAttacks[] = {
    {"socket_inet", {kFails, kFails}},
    {"socket_inet6", {kFails, kFails}},
    {"socket_unix", {kFails, kFails}},
    {"socket_netlink", {kFails, kFails}},
    {"socket_packet", {kFails, kFails}},
    {"socket_alg", {kFails, kFails}},
    {"socket_unix at_load", {kFails, kFails}},
    {"io_uring", {kFails, kFails}},
    {"ptrace {DAEMON}", {kFails, kFails}},
    {"vm_read {DAEMON}", {kFails, kFails}},
    {"vm_write {DAEMON}", {kFails, kFails}},
    {"pidfd_getfd {DAEMON}", {kFails, kFails}},
    {"kcmp {DAEMON}", {kFails, kFails}},
    {"read /proc/{DAEMON}/environ", {kDaemonMemory, kFails}},
    {"write /proc/{DAEMON}/mem", {kDaemonMemory, kFails}},
    {"other_limits {DAEMON}", {kFails, kFails}},
    {"kill {DAEMON}", {kPossible, kFails}, kSignalAbi},
    {"perf_event", {kFails, kFails}},
    {"unshare", {kFails, kFails}},
    {"setns", {kFails, kFails}},
    {"clone_namespace", {kFails, kFails}},
    {"clone3", {kFails, kFails}},
    {"mount", {kFails, kFails}},
    {"fsopen", {kFails, kFails}},
    {"open_tree", {kFails, kFails}},
    {"chroot", {kFails, kFails}},
    {"open_by_handle", {kFails, kFails}},
    {"bpf", {kFails, kFails}},
    {"userfaultfd", {kFails, kFails}},
    {"keyctl", {kFails, kFails}},
    {"add_key", {kFails, kFails}},
    {"kexec", {kFails, kFails}},
    {"module", {kFails, kFails}},
    {"reboot", {kFails, kFails}},
    {"swapon", {kFails, kFails}},
    {"set_clock", {kFails, kFails}},
    {"personality", {kFails, kFails}},
#if defined(__x86_64__)
    {"abi_i386", {kFails, kFails}},
    {"abi_x32", {kFails, kFails}},
#endif
    {"read /etc/shadow", {kPossible, kFails}},
    {"list /", {kPossible, kFails}},
    {"list {DATA}/blocks", {kPossible, kFails}},
    {"list {DATA}/lib", {kPossible, kFails}},
    {"list {DATA}/scratch", {kPossible, kFails}},
    {"read {DATA}/scratch/job_9_0009/secret", {kPossible, kFails}},
    {"through_link {DATA}/scratch/job_9_0009/secret", {kPossible, kFails}},
    {"write {DATA}/scratch/job_9_0009/secret", {kPossible, kFails}},
    {"truncate {DATA}/scratch/job_9_0009/long", {kPossible, kFails}, kTruncateAbi},
    {"remove {DATA}/scratch/job_9_0009/gone", {kPossible, kFails}},
    {"chmod {DATA}/scratch/job_9_0009/secret", {kPossible, kFails}},
    {"chmod {SECRET}", {kPossible, kFails}},
    {"set_uid .", {kPossible, kFails}},
    {"create {DATA}/lib", {kPossible, kFails}},
    {"read {DATA}/worker_id", {kPossible, kFails}},
    {"read {SECRET}", {kPossible, kFails}},
    {"create {OUTSIDE}", {kPossible, kFails}},
    // The rooms must leave this possible.
    {"create .", {kPossible, kPossible}},
    {"read /usr/bin/env", {kPossible, kPossible}},
    {"write /dev/null", {kPossible, kPossible}},
    {"read /proc/self/maps", {kPossible, kPossible}},
};

std::string Replaced(std::string text, const std::map<std::string, std::string>& targets) {
  for (const auto& [word, value] : targets) {
    if (const size_t at = text.find(word); at != text.npos) text.replace(at, word.size(), value);
  }
  return text;
}

class RoomsTest : public testing::Test {
 protected:
  void StartAt(int tier, std::vector<std::string> more = {}) {
    std::vector<std::string> flags = {"--tier", std::to_string(tier), "--task_paths", BinaryDirectory()};
    flags.insert(flags.end(), more.begin(), more.end());
    cluster_ = std::make_unique<Cluster>(ClusterOptions{.workers = 1, .slots = 2, .worker_flags = flags});
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString() << cluster_->Logs();
  }
  std::string Path(const std::string& name) const { return cluster_->directory() + "/" + name; }
  RunResult Submit(std::vector<std::string> args, const std::string& input, const std::string& output) {
    args.insert(args.begin(), {"--no-progress", "submit"});
    args.insert(args.end(), {"--input", "file://" + Path(input), "--output", "file://" + Path(output)});
    return cluster_->Mrctl(args);
  }
  RunResult SubmitOperator(const std::string& input, const std::string& output, std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"--lib", BinaryDirectory() + "/../lib/libattack_operator.so", "attack"};
    args.insert(args.end(), more.begin(), more.end());
    return Submit(args, input, output);
  }
  RunResult SubmitStream(const std::string& command, const std::string& input, const std::string& output,
                         std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"stream", "--map", command, "--reduces", "0"};
    args.insert(args.end(), more.begin(), more.end());
    return Submit(args, input, output);
  }
  static std::map<std::string, std::string> Outcomes(const std::string& text) {
    std::map<std::string, std::string> outcomes;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const size_t tab = line.find('\t');
      if (tab != line.npos) outcomes[line.substr(0, tab)] = line.substr(tab + 1);
    }
    return outcomes;
  }
  // Tries all attacks at this tier, by an operator and by a command, and prints the table.
  void TryAll(int tier) {
    StartAt(tier);
    const std::string data = cluster_->worker_data(0);
    const std::string other = data + "/scratch/job_9_0009";
    ASSERT_TRUE(MakeDirectories(other).ok());
    for (const char* name : {"secret", "long", "gone"}) std::ofstream(other + "/" + name) << "of another job\n";
    std::ofstream(Path("secret")) << "token\n";
    const std::map<std::string, std::string> targets = {{"{DAEMON}", std::to_string(cluster_->worker_pid(0))},
                                                        {"{DATA}", data},
                                                        {"{SECRET}", Path("secret")},
                                                        {"{OUTSIDE}", cluster_->directory()}};
    std::string input;
    for (const Attack& attack : kAttacks) input += Replaced(attack.line, targets) + "\n";
    std::ofstream(Path("attacks")) << input;
    const RunResult by_operator = SubmitOperator("attacks", "by_operator");
    ASSERT_EQ(by_operator.exit, 0) << by_operator.err << cluster_->Logs();
    for (const char* name : {"long", "gone"}) std::ofstream(other + "/" + name) << "of another job\n";
    const RunResult by_stream = SubmitStream(BinaryDirectory() + "/attack_command", "attacks", "by_stream");
    ASSERT_EQ(by_stream.exit, 0) << by_stream.err << cluster_->Logs();
    const auto of_operator = Outcomes(ReadParts(Path("by_operator")));
    const auto of_stream = Outcomes(ReadParts(Path("by_stream")));
    std::printf("| attack, tier %d | expected | operator | stream command |\n|---|---|---|---|\n", tier);
    for (const Attack& attack : kAttacks) {
      const std::string line = Replaced(attack.line, targets);
      const bool fails = attack.at[tier] == kFails && task::LandlockAbi() >= attack.abi;
      const auto first = of_operator.find(line), second = of_stream.find(line);
      ASSERT_NE(first, of_operator.end()) << line;
      const bool only_load = line == "socket_unix at_load";  // a command has no such code
      const std::string command = only_load ? "-" : second == of_stream.end() ? "?" : second->second;
      std::printf("| %s | %s | %s | %s |\n", attack.line, fails ? "fails" : "possible", first->second.c_str(),
                  command.c_str());
      for (const std::string& outcome : {first->second, command}) {
        EXPECT_NE(outcome, "unknown") << line;
        EXPECT_NE(outcome, "?") << line;
        if (fails) {
          EXPECT_NE(outcome, "possible") << attack.line << " at tier " << tier;
        }
      }
    }
    // A room in which a task could do nothing at all would pass, too.
    for (const char* needed : {"create .", "read /usr/bin/env", "write /dev/null", "read /proc/self/maps"}) {
      EXPECT_EQ(of_operator.at(needed), "possible") << needed;
      EXPECT_EQ(of_stream.at(needed), "possible") << needed;
    }
  }
  bool Soon(const std::function<bool()>& is) {
    for (const Instant end = Now() + Seconds(20); Now() < end && !is();) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return is();
  }
  // Returns whether a process of this machine has the word in its command line.
  static bool Runs(const std::string& word) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const auto line = ReadFile(entry.path().string() + "/cmdline");
      if (line.ok() && line->find(std::string(1, '\0') + word + std::string(1, '\0')) != std::string::npos) {
        return true;
      }
    }
    return false;
  }

  std::unique_ptr<Cluster> cluster_;
};

TEST_F(RoomsTest, ATaskOfTier0ReachesNoSocketsAndNoOtherProcesses) { TryAll(0); }

TEST_F(RoomsTest, ATaskOfTier1ReachesNoFilesOfOthers) {
  if (task::LandlockAbi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  TryAll(1);
}

TEST_F(RoomsTest, TasksReadAndRunTheirSideFiles) {
  StartAt(task::LandlockAbi() > 0 ? 1 : 0);
  std::ofstream(Path("in")) << "line\n";
  std::ofstream(Path("words.txt")) << "of a side file\n";
  std::ofstream(Path("run.sh")) << "#!/bin/sh\ncat >/dev/null; cat \"$MR_FILES_DIR/words.txt\"\n";
  const RunResult run =
      SubmitStream("$MR_FILES_DIR/run.sh", "in", "out", {"--files", Path("words.txt"), "--files", Path("run.sh")});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(ReadParts(Path("out")), "of a side file\n");
}

TEST_F(RoomsTest, TasksSeeNoVariablesOfTheDaemon) {
  cluster_ = std::make_unique<Cluster>(
      ClusterOptions{.workers = 1,
                     .labels = {"disk=ssd"},
                     .env = {"MR_TOKEN_FILE=/token", "AWS_SECRET_ACCESS_KEY=x", "LD_DEBUG_OUTPUT=/x", "LC_TIME=C"}});
  ASSERT_TRUE(cluster_->Start().ok()) << cluster_->Logs();
  std::ofstream(Path("in")) << "line\n";
  const RunResult run =
      SubmitStream("cat >/dev/null; env; tr '\\0' '\\n' </proc/$PPID/environ", "in", "out", {"--env", "OWN=1"});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  const std::string seen = ReadParts(Path("out"));
  for (const char* hidden : {"MR_TOKEN_FILE", "AWS_SECRET", "LD_DEBUG"}) EXPECT_THAT(seen, Not(HasSubstr(hidden)));
  for (const char* shown : {"OWN=1", "MR_LABEL_DISK=ssd", "LC_TIME=C", "PATH=", "MR_TASK_ID="}) {
    EXPECT_THAT(seen, HasSubstr(shown));
  }
}

TEST_F(RoomsTest, AllowNetworkGivesInternetSocketsAndNoOthers) {
  StartAt(0);
  std::ofstream(Path("attacks"))
      << "socket_inet\nsocket_inet6\nsocket_netlink\nsocket_unix\nsocket_packet\nsocket_alg\n";
  const RunResult run = SubmitStream(BinaryDirectory() + "/attack_command", "attacks", "out", {"--allow-network"});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  const auto outcomes = Outcomes(ReadParts(Path("out")));
  for (const char* open : {"socket_inet", "socket_inet6", "socket_netlink"}) {
    EXPECT_NE(outcomes.at(open), "denied: EACCES") << open;
  }
  for (const char* closed : {"socket_unix", "socket_packet", "socket_alg"}) {
    EXPECT_EQ(outcomes.at(closed), "denied: EACCES") << closed;
  }
}

TEST_F(RoomsTest, ALeastTierIsCheckedAtSubmitAndShownByWorkers) {
  StartAt(0);
  std::ofstream(Path("attacks")) << "list /\n";
  const RunResult refused = SubmitOperator("attacks", "out", {"--conf", "min_tier=1"});
  EXPECT_EQ(refused.exit, 3) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("wants rooms of tier 1"));
  EXPECT_THAT(refused.err, HasSubstr("w1, has tier 0"));
  EXPECT_EQ(SubmitOperator("attacks", "out", {"--conf", "min_tier=one"}).exit, 2);
  EXPECT_EQ(SubmitOperator("attacks", "out", {"--conf", "min_tier=0"}).exit, 0);
  EXPECT_THAT(cluster_->Mrctl({"worker", "show", "w1"}).out, HasSubstr("room        tier 0\n"));
  EXPECT_THAT(cluster_->Mrctl({"-o", "json", "workers"}).out, ::testing::ContainsRegex("\"tier\": ?0"));
}

TEST_F(RoomsTest, AnAttemptIsLimitedInProcessesAndFilesAndLeavesNothingBehind) {
  StartAt(task::LandlockAbi() > 0 ? 1 : 0, {"--task_processes", "32", "--task_file_bytes", "1m"});
  std::ofstream(Path("in")) << "line\n";
  const RunResult bomb = SubmitStream("cat >/dev/null; for i in $(seq 99); do sleep 600.77 & done; wait", "in", "bomb",
                                      {"--max-attempts", "1"});
  EXPECT_EQ(bomb.exit, 1) << bomb.err;
  EXPECT_THAT(bomb.err, HasSubstr("--task_processes"));
  EXPECT_TRUE(Soon([] { return !Runs("600.77"); }));
  const RunResult full = SubmitStream("cat >/dev/null; head -c 3m /dev/zero >$TMPDIR/big || exit 9", "in", "full",
                                      {"--max-attempts", "1"});
  EXPECT_EQ(full.exit, 1) << full.err;
  const RunResult left = SubmitStream("setsid sleep 601.77 >/dev/null 2>&1 & cat; touch $TMPDIR/mark", "in", "left");
  EXPECT_EQ(left.exit, 0) << left.err;
  EXPECT_TRUE(Soon([] { return !Runs("601.77"); }));
  // The scratch directory of a job goes with it.
  EXPECT_TRUE(Soon([&] { return std::filesystem::is_empty(cluster_->worker_data(0) + "/scratch"); }));
}

TEST_F(RoomsTest, AWorkerThatOthersReachStartsInRoomsOfTier0OnlyWhereThatIsAllowed) {
  TempDirectory directory;
  const auto start = [&](std::vector<std::string> flags) {
    std::vector<std::string> argv = {BinaryDirectory() + "/mrworker",
                                     "--master",
                                     "127.0.0.1:1",
                                     "--data",
                                     directory / "w",
                                     "--port",
                                     "0",
                                     "--http_port",
                                     "0"};
    argv.insert(argv.end(), flags.begin(), flags.end());
    return RunProgram(argv, Seconds(5));
  };
  const RunResult refused = start({"--insecure", "--bind", "0.0.0.0", "--tier", "0"});
  EXPECT_EQ(refused.exit, 3) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("--allow_tier0"));
  EXPECT_EQ(start({"--tier", "7"}).exit, 2);
  EXPECT_EQ(start({"--insecure", "--own_rights", "--bind", "0.0.0.0"}).exit, 2);
  EXPECT_EQ(start({"--task_paths", "relative"}).exit, 2);
  EXPECT_EQ(start({"--task_paths", "/nowhere/at/all"}).exit, 2);
  if (task::LandlockAbi() > 0) return;
  const RunResult missing = start({"--tier", "1"});
  EXPECT_EQ(missing.exit, 70) << missing.err;
  EXPECT_THAT(missing.err, HasSubstr("cannot make rooms of tier 1"));
}

}  // namespace
}  // namespace mr::test
