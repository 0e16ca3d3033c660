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
#include <thread>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/cluster/rooms.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "worker/task/landlock.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;

constexpr int kTiers = 4, kNever = kTiers;

// From these interface versions on, Landlock hides files from truncate(2), and processes from signals.
constexpr int kTruncateAbi = 3, kSignalAbi = 6;

#ifdef __SANITIZE_ADDRESS__
constexpr int kDaemonMemory = 1;  // such daemons stay dumpable (common/io/private_memory.h)
#else
constexpr int kDaemonMemory = 0;
#endif

struct Attack {
  const char* line;  // as TryAttack takes it; {WORD} stands for a target
  int fails_from;    // the tier from which on it fails; below it is documented as possible
  int abi = 0;       // tier 1 needs at least this version of Landlock for that
};

constexpr Attack kAttacks[] = {
    {"socket_inet", 0},
    {"socket_inet6", 0},
    {"socket_unix", 0},
    {"socket_netlink", 0},
    {"socket_packet", 0},
    {"socket_alg", 0},
    {"socket_unix at_load", 0},
    {"io_uring", 0},
    {"ptrace {DAEMON}", 0},
    {"vm_read {DAEMON}", 0},
    {"vm_write {DAEMON}", 0},
    {"pidfd_getfd {DAEMON}", 0},
    {"kcmp {DAEMON}", 0},
    {"read /proc/{DAEMON}/environ", kDaemonMemory},
    {"write /proc/{DAEMON}/mem", kDaemonMemory},
    {"other_limits {DAEMON}", 0},
    {"priority {DAEMON}", 2},
    {"cpus {DAEMON}", 2},
    {"kill {DAEMON}", 1, kSignalAbi},
    {"kill {MASTER}", 1, kSignalAbi},
    {"read /proc/{DAEMON}/cmdline", 3},
    {"perf_event", 0},
    {"unshare", 0},
    {"setns", 0},
    {"clone_namespace", 0},
    {"clone3", 0},
    {"mount", 0},
    {"fsopen", 0},
    {"open_tree", 0},
    {"chroot", 0},
    {"open_by_handle", 0},
    {"bpf", 0},
    {"userfaultfd", 0},
    {"keyctl", 0},
    {"add_key", 0},
    {"kexec", 0},
    {"module", 0},
    {"reboot", 0},
    {"swapon", 0},
    {"set_clock", 0},
    {"personality", 0},
#if defined(__x86_64__)
    {"abi_i386", 0},
    {"abi_x32", 0},
#endif
    {"read /etc/shadow", 1},
    {"list /", 1},
    {"list {DATA}/blocks", 1},
    {"list {DATA}/lib", 1},
    {"list {DATA}/scratch", 1},
    {"read {DATA}/scratch/job_9_0009/secret", 1},
    {"through_link {DATA}/scratch/job_9_0009/secret", 1},
    {"write {DATA}/scratch/job_9_0009/secret", 1},
    {"truncate {DATA}/scratch/job_9_0009/long", 1, kTruncateAbi},
    {"remove {DATA}/scratch/job_9_0009/gone", 1},
    {"chmod {DATA}/scratch/job_9_0009/secret", 1},
    {"chmod {SECRET}", 1},
    {"set_uid .", 1},
    {"create {DATA}/lib", 1},
    {"read {DATA}/worker_id", 1},
    {"read {SECRET}", 1},
    {"create {OUTSIDE}", 1},
    // The rooms must leave this possible.
    {"create .", kNever},
    {"read /usr/bin/env", kNever},
    {"write /dev/null", kNever},
    {"read /proc/self/maps", kNever},
};

// Users that nothing else on a machine of tests has.
constexpr char kUsers[] = "3000000-3000015";

class RoomsTest : public testing::Test {
 protected:
  // A worker that ends removes its control groups.
  void TearDown() override {
    if (cluster_ == nullptr || cluster_->worker_pid(0) <= 0) return;
    const Status stopped = cluster_->StopWorker(0);
    EXPECT_TRUE(stopped.ok()) << stopped.ToString() << cluster_->Logs();
    EXPECT_TRUE(GroupsOf(cluster_->worker_data(0)).empty());
  }
  void StartAt(int tier, std::vector<std::string> more = {}) {
    std::vector<std::string> flags = {"--tier", std::to_string(tier), "--task_paths", BinaryDirectory()};
    if (tier >= 2) flags.insert(flags.end(), {"--task_uids", kUsers});
    flags.insert(flags.end(), more.begin(), more.end());
    cluster_ = std::make_unique<Cluster>(ClusterOptions{.workers = 1, .slots = 2, .worker_flags = flags});
    // Users of tasks pass through it to the data of the worker.
    ASSERT_EQ(chmod(cluster_->directory().c_str(), 0711), 0);
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
  // Tries all attacks at this tier, by an operator and by a command, and prints the table.
  void TryAll(int tier) {
    StartAt(tier);
    const std::string data = cluster_->worker_data(0);
    const std::string other = data + "/scratch/job_9_0009";
    ASSERT_TRUE(MakeDirectories(other).ok());
    for (const char* name : {"secret", "long", "gone"}) std::ofstream(other + "/" + name) << "of another job\n";
    std::ofstream(Path("secret")) << "token\n";
    const std::map<std::string, std::string> targets = {{"{DAEMON}", std::to_string(cluster_->worker_pid(0))},
                                                        {"{MASTER}", std::to_string(cluster_->master_pid())},
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
      const bool fails = tier >= attack.fails_from && (tier > 1 || task::LandlockAbi() >= attack.abi);
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
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(RoomsTest, ATaskOfTier0ReachesNoSocketsAndNoOtherProcesses) { TryAll(0); }

TEST_F(RoomsTest, ATaskOfTier1ReachesNoFilesOfOthers) {
  if (task::LandlockAbi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  TryAll(1);
}

TEST_F(RoomsTest, ATaskOfTier2ReachesNothingOfOthers) {
  if (const std::string lacks = Lacks(2); !lacks.empty()) GTEST_SKIP() << lacks;
  TryAll(2);
}

TEST_F(RoomsTest, ATaskOfTier3SeesNothingOfOthers) {
  if (const std::string lacks = Lacks(3); !lacks.empty()) GTEST_SKIP() << lacks;
  TryAll(3);
}

class RoomsOfTierTest : public RoomsTest, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    const std::string lacks = Lacks(GetParam());
    if (!lacks.empty()) GTEST_SKIP() << lacks;
    std::ofstream(InputPath("in")) << "line\n";
  }
  std::string InputPath(const std::string& name) const { return inputs_ / name; }
  RunResult Stream(const std::string& command, const std::string& output, std::vector<std::string> more = {}) {
    std::ofstream(Path("in")) << "line\n";
    more.insert(more.end(), {"--max-attempts", "1"});
    return SubmitStream(command, "in", output, more);
  }
  TempDirectory inputs_;
};

TEST_P(RoomsOfTierTest, AnAttemptThatUsesAllMemoryIsKilledAndNoOther) {
  ASSERT_NO_FATAL_FAILURE(StartAt(GetParam()));
  // Each process stays below --memory, all together do not. The neighbour runs until the hog has ended.
  const std::string end = Path("ended");
  auto neighbour = cluster_->MrctlInBackground(
      {"submit", "stream", "--map", "cat; while [ ! -e $TMPDIR/../../../../ended ]; do sleep 0.05; done", "--reduces",
       "0", "--input", "file://" + InputPath("in"), "--output", "file://" + Path("neighbour"), "--max-attempts", "1"},
      "neighbour");
  ASSERT_TRUE(neighbour.ok());
  const RunResult hog = Stream(
      "cat >/dev/null; for i in 1 2 3 4; do ({ head -c 90m /dev/zero; sleep 5; } | tail -n 1 || kill -9 $$) & done; "
      "wait",
      "hog", {"--memory", "128m"});
  EXPECT_EQ(hog.exit, 1) << hog.err;
  EXPECT_THAT(hog.err, HasSubstr("killed for memory: used 1"));
  EXPECT_THAT(hog.err, HasSubstr(" of 192"));
  std::ofstream(end) << "";
  EXPECT_EQ(neighbour->Wait(Seconds(30)), 0) << ReadFile(Path("neighbour.err")).value();
}

TEST_P(RoomsOfTierTest, AForkBombIsHeldByItsControlGroup) {
  ASSERT_NO_FATAL_FAILURE(StartAt(GetParam(), {"--task_processes", "64"}));
  // Each round doubles them; they leave session, group and parent.
  const RunResult bomb =
      Stream("cat >/dev/null; bomb() { bomb | bomb & sleep 602.77; }; bomb; setsid sleep 602.77", "bomb");
  EXPECT_EQ(bomb.exit, 1) << bomb.err;
  EXPECT_TRUE(Soon([] { return !Runs("602.77"); }));
  EXPECT_EQ(Stream("cat", "after").exit, 0);
}

TEST_P(RoomsOfTierTest, ADiskIsNotFilled) {
  ASSERT_NO_FATAL_FAILURE(StartAt(GetParam(), {"--task_scratch_bytes", "8m"}));
  // Many files, each small enough for --task_file_bytes.
  const RunResult many =
      Stream("cat >/dev/null; i=0; while :; do head -c 200k /dev/zero >$TMPDIR/$i || exit 3; i=$((i+1)); done", "many");
  EXPECT_EQ(many.exit, 1) << many.err;
  EXPECT_THAT(many.err, HasSubstr("--task_scratch_bytes"));
  // A file without a name.
  const RunResult hidden =
      Stream("cat >/dev/null; exec 5>$TMPDIR/f; rm $TMPDIR/f; head -c 64m /dev/zero >&5; sleep 603.77", "hidden");
  EXPECT_EQ(hidden.exit, 1) << hidden.err;
  EXPECT_THAT(hidden.err, HasSubstr("--task_scratch_bytes"));
  EXPECT_EQ(Stream("cat", "after").exit, 0);
}

TEST_P(RoomsOfTierTest, SideFilesLibrariesAndErrorOutputWork) {
  ASSERT_NO_FATAL_FAILURE(StartAt(GetParam()));
  std::ofstream(Path("words.txt")) << "of a side file\n";
  const RunResult run =
      Stream("cat >/dev/null; echo shown >/dev/stderr || exit 9; cat \"$MR_FILES_DIR/words.txt\"; id -u", "out",
             {"--files", Path("words.txt")});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(ReadParts(Path("out")), "of a side file\n3000000\n");
  EXPECT_THAT(cluster_->Mrctl({"worker", "show", "w1"}).out,
              HasSubstr("room        tier " + std::to_string(GetParam()) + "\n"));
  struct stat info;
  ASSERT_EQ(stat((cluster_->worker_data(0) + "/lib").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_P(RoomsOfTierTest, NothingIsLeftBehindByAnAttemptOrAKilledWorker) {
  ASSERT_NO_FATAL_FAILURE(StartAt(GetParam()));
  const RunResult left = Stream("(setsid env -i sleep 604.77 </dev/null >/dev/null 2>&1 &); cat", "left");
  EXPECT_EQ(left.exit, 0) << left.err;
  EXPECT_TRUE(Soon([] { return !Runs("604.77"); }));
  auto running = cluster_->MrctlInBackground(
      {"submit", "stream", "--map", "(setsid env -i sleep 605.77 </dev/null >/dev/null 2>&1 &); cat; sleep 605.77",
       "--reduces", "0", "--input", "file://" + InputPath("in"), "--output", "file://" + Path("killed")},
      "running");
  ASSERT_TRUE(running.ok());
  ASSERT_TRUE(Soon([] { return Runs("605.77"); })) << cluster_->Logs();
  cluster_->KillWorker(0);
  ASSERT_TRUE(cluster_->StartWorker(0).ok()) << cluster_->Logs();
  EXPECT_EQ(GroupsOf(cluster_->worker_data(0)).size(), 1u);
  running->Kill();
  EXPECT_EQ(cluster_->Mrctl({"kill", "last"}).exit, 0);
  EXPECT_TRUE(Soon([] { return !Runs("605.77"); }));
}

INSTANTIATE_TEST_SUITE_P(From2, RoomsOfTierTest, testing::Values(2, 3));

TEST_F(RoomsTest, TasksReadAndRunTheirSideFiles) {
  StartAt(task::LandlockAbi() > 0 ? 1 : 0);
  std::ofstream(Path("in")) << "line\n";
  std::ofstream(Path("words.txt")) << "of a side file\n";
  std::ofstream(Path("run.sh")) << "#!/bin/sh\ncat >/dev/null; cat \"$MR_FILES_DIR/words.txt\"\n";
  const RunResult run =
      SubmitStream("$MR_FILES_DIR/run.sh", "in", "out", {"--files", Path("words.txt"), "--files", Path("run.sh")});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(ReadParts(Path("out")), "of a side file\n");
  if (task::LandlockAbi() == 0) return;
  const RunResult denied = SubmitStream("cat /etc/shadow", "in", "denied", {"--max-attempts", "1"});
  EXPECT_EQ(denied.exit, 1);
  EXPECT_THAT(denied.err, HasSubstr("Permission denied\n"));
  EXPECT_THAT(denied.err, HasSubstr("rooms of tasks deny files that a job was not given"));
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
  std::ofstream(Path("bomb")) << "fork_bomb 608.77\n";
  const RunResult by_operator = SubmitOperator("bomb", "by_operator", {"--max-attempts", "1"});
  EXPECT_EQ(by_operator.exit, 1) << by_operator.err;
  EXPECT_THAT(by_operator.err, HasSubstr("--task_processes"));
  EXPECT_TRUE(Soon([] { return !Runs("608.77"); }));
  std::ofstream(Path("leave")) << "leave_process 609.77\n";
  EXPECT_EQ(SubmitOperator("leave", "left_by_operator").exit, 0);
  EXPECT_TRUE(Soon([] { return !Runs("609.77"); }));
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
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--tier", "2"},
                                                {"--task_uids", "1-5"},
                                                {"--task_uids", "5"},
                                                {"--task_uids", kUsers, "--cgroup_root", "x"},
                                                {"--task_scratch_bytes", "x"},
                                                {"--task_memory_bytes", "x"},
                                                {"--memory", "8"},
                                                {"--memory", "100m", "--slots", "2"}}) {
    EXPECT_EQ(start(wrong).exit, 2) << wrong[0];
  }
  // Nobody but the owner may pass through a directory of mkdtemp().
  if (Lacks(2).empty()) {
    const RunResult closed = start({"--tier", "2", "--task_uids", kUsers});
    EXPECT_EQ(closed.exit, 70) << closed.err;
    EXPECT_THAT(closed.err, HasSubstr("chmod o+x"));
  }
  EXPECT_EQ(start({"--task_paths", "relative"}).exit, 2);
  EXPECT_EQ(start({"--task_paths", "/nowhere/at/all"}).exit, 2);
  if (task::LandlockAbi() > 0) return;
  const RunResult missing = start({"--tier", "1"});
  EXPECT_EQ(missing.exit, 70) << missing.err;
  EXPECT_THAT(missing.err, HasSubstr("cannot make rooms of tier 1"));
}

}  // namespace
}  // namespace mr::test
