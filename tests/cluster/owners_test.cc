// Two owners of jobs on one worker, in rooms of tier 2 and 3: neither reaches, signals, limits or harms what belongs to
// the other, by an operator or by a command of `stream`. With the real binaries, certificates and tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/cluster/rooms.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uint64_t kFirstUser = 3000100;  // nothing else on a machine of tests has these
constexpr char kUsers[] = "3000100-3000115";

// {PID}: a process of the other owner; {JOB}: the directory of its job; {DATA}, {MASTER}: of the daemons; {PEOPLE}: of
// the token files.
constexpr const char* kOnProcesses[] = {"kill {PID}",
                                        "ptrace {PID}",
                                        "vm_read {PID}",
                                        "vm_write {PID}",
                                        "pidfd_getfd {PID}",
                                        "kcmp {PID}",
                                        "priority {PID}",
                                        "cpus {PID}",
                                        "other_limits {PID}",
                                        "read /proc/{PID}/mem",
                                        "write /proc/{PID}/mem",
                                        "read /proc/{PID}/environ",
                                        "list /proc/{PID}/fd",
                                        "list /proc/{PID}/cwd",
                                        "list /proc/{PID}/root",
                                        "read /proc/{PID}/maps",
                                        "write /proc/{PID}/oom_score_adj"};
constexpr const char* kOnFiles[] = {"list {JOB}",
                                    "list {JOB}/tmp",
                                    "list {JOB}/lib",
                                    "read {JOB}/tmp/secret",
                                    "write {JOB}/tmp/secret",
                                    "through_link {JOB}/tmp/secret",
                                    "truncate {JOB}/tmp/long",
                                    "remove {JOB}/tmp/gone",
                                    "chmod {JOB}/tmp/secret",
                                    "create {JOB}/tmp",
                                    "set_uid {JOB}/tmp",
                                    "list {DATA}/scratch",
                                    "list {DATA}/blocks",
                                    "list {DATA}/shuffle",
                                    "list {DATA}/credentials",
                                    "read {DATA}/credentials/worker.key",
                                    "read {DATA}/task_users",
                                    "list {MASTER}/credentials",
                                    "read {MASTER}/credentials/token.key",
                                    "read {PEOPLE}/anna.token",
                                    "read {PEOPLE}/ben.token",
                                    "read /etc/shadow"};

class OwnersTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const std::string lacks = Lacks(GetParam());
    if (!lacks.empty()) GTEST_SKIP() << lacks;
    setenv("XDG_STATE_HOME", Path("state").c_str(), 1);
    cluster_ = std::make_unique<Cluster>(ClusterOptions{
        .workers = 1,
        .slots = 3,
        .master_flags = {"--bind", "0.0.0.0", "--advertise", "127.0.0.1"},
        .worker_flags = {"--join", Path("w0.join"), "--tier", std::to_string(GetParam()), "--task_uids", kUsers,
                         "--task_paths", BinaryDirectory(), "--task_processes", "64", "--task_scratch_bytes", "8m"}});
    ASSERT_EQ(chmod(cluster_->directory().c_str(), 0711), 0);  // users of tasks pass through it
    Local({"cluster", "init", "--subject", "root", "--out", Path("root.token")});
    ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
    Local({"token", "create", "--join", Path("w0.join"), "--address", cluster_->master_address()});
    for (const char* name : {"anna", "ben"}) {
      Local(
          {"token", "create", "--subject", name, "--roles", "submitter", "--out", Path(std::string(name) + ".token")});
    }
    const Status started = cluster_->StartWorker(0);
    ASSERT_TRUE(started.ok()) << started.ToString() << cluster_->Logs();
  }
  void TearDown() override {
    if (cluster_ == nullptr || cluster_->worker_pid(0) <= 0) return;
    const Status stopped = cluster_->StopWorker(0);
    EXPECT_TRUE(stopped.ok()) << stopped.ToString() << cluster_->Logs();
    EXPECT_TRUE(GroupsOf(cluster_->worker_data(0)).empty());
  }
  std::string Path(const std::string& name) const { return files_ / name; }
  void Local(std::vector<std::string> args) {
    args.insert(args.begin() + 2, {"--data", cluster_->master_data()});
    const RunResult run = RunMrctl(args);
    ASSERT_EQ(run.exit, 0) << run.err;
  }
  SpawnOptions With(const std::string& name) const {
    SpawnOptions options;
    options.env = {"MR_TOKEN_FILE=" + Path(name + ".token")};
    return options;
  }
  RunResult As(const std::string& name, const std::vector<std::string>& args) {
    return cluster_->Mrctl(args, Seconds(60), With(name));
  }
  void Put(const std::string& name, const std::string& file, const std::string& text) {
    std::ofstream(Path(file)) << text;
    const RunResult put = As(name, {"fs", "put", "--force", Path(file), "/user/" + name + "/" + file});
    ASSERT_EQ(put.exit, 0) << put.err;
  }
  // Ben's command or operator, on these lines.
  RunResult Stream(const std::string& command, const std::string& lines, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"stream", "--map", command, "--reduces", "0"});
    return Submit(lines, more);
  }
  RunResult Attack(bool by_operator, const std::string& lines, std::vector<std::string> more = {}) {
    if (!by_operator) return Stream(BinaryDirectory() + "/attack_command", lines, std::move(more));
    more.insert(more.begin(), {"--lib", BinaryDirectory() + "/../lib/libattack_operator.so", "attack"});
    return Submit(lines, more);
  }
  RunResult Submit(const std::string& lines, std::vector<std::string> args) {
    Put("ben", "lines", lines);
    args.insert(args.begin(), {"--no-progress", "submit"});
    args.insert(args.end(), {"--max-attempts", "1", "--input", "/user/ben/lines", "--output", "-"});
    return As("ben", args);
  }
  static bool Soon(const std::function<bool()>& is) {
    for (const Instant end = Now() + Seconds(30); Now() < end && !is();) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return is();
  }
  // Starts Anna's job, which runs until Neighbour() is called, and waits for its files.
  void StartNeighbour() {
    Put("anna", "in", "a line of anna\n");
    SpawnOptions options = With("anna");
    options.stdout_path = Path("anna.out");
    options.stderr_path = Path("anna.err");
    auto started =
        Process::Spawn({BinaryDirectory() + "/mrctl", "--master", cluster_->master_address(), "--no-progress", "submit",
                        "stream", "--map",
                        "echo secret >$TMPDIR/secret; echo x >$TMPDIR/long; echo x >$TMPDIR/gone; id -u >$TMPDIR/uid; "
                        "touch $TMPDIR/up; "
                        "while [ ! -e $TMPDIR/../../../../ended ]; do sleep 0.05; done; cat",
                        "--reduces", "0", "--max-attempts", "1", "--input", "/user/anna/in", "--output", "-"},
                       options);
    ASSERT_TRUE(started.ok());
    neighbour_ = std::move(*started);
    ASSERT_TRUE(Soon([&] {
      for (const auto& entry : std::filesystem::directory_iterator(cluster_->worker_data(0) + "/scratch")) {
        job_ = entry.path().string();
        if (PathExists(job_ + "/tmp/up")) return true;
      }
      return false;
    })) << ReadFile(Path("anna.err")).value()
        << cluster_->Logs();
    user_ = std::stoull(ReadFile(job_ + "/tmp/uid").value());
  }
  // Lets Anna's job end, which must have suffered nothing.
  void ExpectUnharmed() {
    std::ofstream(cluster_->directory() + "/ended") << "";
    EXPECT_EQ(neighbour_.Wait(Seconds(30)), 0) << ReadFile(Path("anna.err")).value() << cluster_->Logs();
    EXPECT_EQ(ReadFile(Path("anna.out")).value(), "a line of anna\n");
  }
  static std::vector<std::string> ProcessesOf(uint64_t user) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const auto status = ReadFile(entry.path().string() + "/status");
      if (status.ok() && status->find("\nUid:\t" + std::to_string(user) + "\t") != std::string::npos) {
        found.push_back(entry.path().filename().string());
      }
    }
    return found;
  }

  TempDirectory files_;
  std::unique_ptr<Cluster> cluster_;
  Process neighbour_;
  std::string job_;
  uint64_t user_ = 0;
};

TEST_P(OwnersTest, EachOwnerHasAUserAndKeepsIt) {
  ASSERT_NO_FATAL_FAILURE(StartNeighbour());
  EXPECT_GE(user_, kFirstUser);
  EXPECT_LE(user_, kFirstUser + 15);
  const RunResult first = Stream("cat >/dev/null; id -u; id -g; id -G", "x\n");
  ASSERT_EQ(first.exit, 0) << first.err << cluster_->Logs();
  const uint64_t other = std::stoull(first.out);
  EXPECT_GE(other, kFirstUser);
  EXPECT_LE(other, kFirstUser + 15);
  EXPECT_NE(other, user_);
  const std::string number = std::to_string(other) + "\n";
  EXPECT_EQ(first.out, number + number + number) << "user, group, and no group besides";
  EXPECT_EQ(Stream("cat >/dev/null; id -u", "x\n").out, number);
  ExpectUnharmed();
}

TEST_P(OwnersTest, NothingOfOneIsWithinReachOfTheOther) {
  ASSERT_NO_FATAL_FAILURE(StartNeighbour());
  std::map<std::string, std::string> targets = {{"{JOB}", job_},
                                                {"{DATA}", cluster_->worker_data(0)},
                                                {"{MASTER}", cluster_->master_data()},
                                                {"{PEOPLE}", files_.path()}};
  std::vector<std::string> lines;
  for (const char* attack : kOnFiles) lines.push_back(Replaced(attack, targets));
  const std::vector<std::string> processes = ProcessesOf(user_);
  ASSERT_GE(processes.size(), 2u) << "a task's process and its command";
  for (const std::string& pid : processes) {
    for (const char* attack : kOnProcesses) lines.push_back(Replaced(attack, {{"{PID}", pid}}));
  }
  std::string input = "create .\nread /usr/bin/env\nread /proc/self/maps\n";
  for (const std::string& line : lines) input += line + "\n";
  for (const bool by_operator : {true, false}) {
    SCOPED_TRACE(by_operator ? "by an operator" : "by a command");
    const RunResult run = Attack(by_operator, input);
    ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
    const auto outcomes = Outcomes(run.out);
    for (const char* needed : {"create .", "read /usr/bin/env", "read /proc/self/maps"}) {
      EXPECT_EQ(outcomes.at(needed), "possible") << needed;
    }
    for (const std::string& line : lines) {
      ASSERT_TRUE(outcomes.contains(line)) << line;
      EXPECT_THAT(outcomes.at(line), StartsWith("denied: ")) << line;
    }
  }
  EXPECT_EQ(ReadFile(job_ + "/tmp/secret").value(), "secret\n");
  EXPECT_EQ(ReadFile(job_ + "/tmp/long").value(), "x\n");
  EXPECT_TRUE(PathExists(job_ + "/tmp/gone"));
  ExpectUnharmed();
}

TEST_P(OwnersTest, WhoKillsAllThatHeCanKillsHimselfAlone) {
  ASSERT_NO_FATAL_FAILURE(StartNeighbour());
  const pid_t worker = cluster_->worker_pid(0);
  const RunResult all = Stream("kill -9 -1; sleep 9", "x\n");
  EXPECT_EQ(all.exit, 1) << all.out << all.err;
  const RunResult by_operator = Attack(true, "kill_all\n");
  EXPECT_EQ(by_operator.exit, 0) << by_operator.err;
  EXPECT_EQ(kill(worker, 0), 0);
  EXPECT_GE(ProcessesOf(user_).size(), 2u);
  EXPECT_EQ(Stream("cat", "after\n").out, "after\n");
  ExpectUnharmed();
}

TEST_P(OwnersTest, LimitsOfOneCostTheOtherNothing) {
  ASSERT_NO_FATAL_FAILURE(StartNeighbour());
  for (const bool by_operator : {true, false}) {
    SCOPED_TRACE(by_operator ? "by an operator" : "by a command");
    // It is killed, or cannot start more.
    const RunResult bomb = Attack(by_operator, "fork_bomb 606.77\n");
    EXPECT_TRUE(bomb.exit == 1 || bomb.out == "fork_bomb 606.77\tdenied: EAGAIN\n") << bomb.out << bomb.err;
    EXPECT_TRUE(Soon([] { return !Runs("606.77"); }));
    const RunResult full = Attack(by_operator, "fill_disk\n");
    EXPECT_EQ(full.exit, 1) << full.out;
    EXPECT_THAT(full.err, HasSubstr("--task_scratch_bytes"));
    const RunResult memory = Attack(by_operator, "use_memory\n", {"--memory", "128m"});
    EXPECT_EQ(memory.exit, 1) << memory.out;
    EXPECT_THAT(memory.err, HasSubstr("killed for memory"));
    const RunResult left = Attack(by_operator, "leave_process 607.77\n");
    EXPECT_EQ(left.exit, 0) << left.err;
    EXPECT_THAT(left.out, HasSubstr("possible"));
    EXPECT_TRUE(Soon([] { return !Runs("607.77"); }));
  }
  EXPECT_EQ(Stream("cat", "after\n").out, "after\n");
  ExpectUnharmed();
}

INSTANTIATE_TEST_SUITE_P(From2, OwnersTest, testing::Values(2, 3));

}  // namespace
}  // namespace mr::test
