// Mistakes of a user's operator, in real children: each ends its attempt with a reason, and the host goes on.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "tests/worker/host/task_harness.h"
#include "worker/task/protocol.h"

namespace mr::worker {
namespace {

class TaskFaultTest : public TaskTest {
 protected:
  // One line of input to one shuffle port.
  std::shared_ptr<Collector> RunOn(TaskSpec s, const std::string& text = "a line\n") {
    AddSplit(&s, Write("in" + std::to_string(s.attempt.task.task), text));
    if (s.ports.empty()) s.ports = {Shuffle(2)};
    auto c = std::make_shared<Collector>();
    task_ = host_->Run(std::move(s), c);
    return c;
  }
  static bool Alive(pid_t pid) { return kill(pid, 0) == 0; }
  static pid_t ReadPid(const std::string& path) {
    pid_t pid = 0;
    std::ifstream(path) >> pid;
    return pid;
  }
  // Polls, since the processes are real.
  static bool Soon(const std::function<bool()>& is, int ms = 2000) {
    for (int i = 0; i < ms / 5; ++i) {
      if (is()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return is();
  }
  static std::string TextOf(const std::string& path) {
    const Result<std::string> text = ReadFile(path);
    return text.ok() ? *text : "";
  }
  std::shared_ptr<RunningTask> task_;
};

TEST_F(TaskFaultTest, CrashNamesOperatorSignalAndLastWords) {
  const TaskResult r = RunOn(Spec("crash"))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserError);
  EXPECT_EQ(r.message, "operator crash crashed: SIGSEGV");
  EXPECT_NE(r.stderr_tail.find("about to crash"), std::string::npos);
}

TEST_F(TaskFaultTest, ThrowNamesExceptionAndPlace) {
  const TaskResult r = RunOn(Spec("throw", MR_REUSABLE))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserError);
  EXPECT_EQ(r.message, "operator throw batch() threw: the moon is full");
  EXPECT_NE(r.record.find(", byte 0"), std::string::npos) << r.record;
}

TEST_F(TaskFaultTest, ExitZeroIsNoSuccess) {
  const TaskResult r = RunOn(Spec("leave"))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserError);
  EXPECT_EQ(r.message.rfind("TASK_EXITED_EARLY", 0), 0u) << r.message;
}

TEST_F(TaskFaultTest, FailNamesReasonAndRecord) {
  const TaskResult r = RunOn(Spec("fail"), "good\nbad\n")->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserError);
  EXPECT_EQ(r.message, "operator fail failed: a bad line");
  EXPECT_EQ(r.record.rfind("one of the records 1 to 2 of its input, in the batch that begins at file:///", 0), 0u)
      << r.record;
}

TEST_F(TaskFaultTest, EndlessLoopIsKilledWithinTwoSeconds) {
  auto c = RunOn(Spec("spin"));
  ASSERT_TRUE(Soon([&] { return task_->pid() != 0; }));
  const auto begin = std::chrono::steady_clock::now();
  task_->Kill();
  task_->Kill();
  const TaskResult r = c->Wait();
  EXPECT_EQ(r.end, TaskEnd::kKilled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST_F(TaskFaultTest, WhoLooksWhetherItIsCancelledSeesIt) {
  for (const char* op : {"until.cancelled", "until.cancelled.reusable"}) {
    TaskSpec s = Spec(op, std::string(op) == "until.cancelled" ? 0 : MR_REUSABLE);
    s.config = *directory_ + "/told." + op;
    const std::string told = s.config;
    auto c = RunOn(std::move(s));
    ASSERT_TRUE(Soon([&] { return TextOf(told) == "asked"; }));
    task_->Kill();
    EXPECT_EQ(c->Wait().end, TaskEnd::kKilled);
    EXPECT_EQ(TextOf(told), "cancelled") << op;
  }
}

TEST_F(TaskFaultTest, WhoLooksAndGoesOnIsKilledAfterItsGrace) {
  TaskSpec s = Spec("until.cancelled");
  const std::string told = *directory_ + "/told.deaf";
  s.config = "deaf " + told;
  auto c = RunOn(std::move(s));
  ASSERT_TRUE(Soon([&] { return TextOf(told) == "asked"; }));
  const auto begin = std::chrono::steady_clock::now();
  task_->Kill();
  EXPECT_EQ(c->Wait().end, TaskEnd::kKilled);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, std::chrono::milliseconds(400));
  EXPECT_LT(took, std::chrono::seconds(2));
  EXPECT_EQ(TextOf(told), "cancelled");
}

TEST_F(TaskFaultTest, BadRecordsAreSkippedUpToTheLimit) {
  std::string text;
  for (int i = 0; i < 25; ++i) text += "good\nbad\n";
  TaskSpec s = Spec("picky");
  const std::string log = s.log_path;
  s.max_bad_records = 25;
  const TaskResult r = RunOn(std::move(s), text)->Wait();
  EXPECT_EQ(r.end, TaskEnd::kDone) << r.message;
  std::map<std::string, int64_t> counters;
  for (const auto& c : r.counters) counters[c.group + "/" + c.name] = c.value;
  EXPECT_EQ(counters, (std::map<std::string, int64_t>{{"mr/bad_records", 25}}));
  ASSERT_EQ(r.bad_records.size(), 3u);
  EXPECT_EQ(r.bad_records[2], "line 3 of its kind is bad");
  const std::string lines = TextOf(log);
  EXPECT_NE(lines.find("line 20 of its kind"), std::string::npos);
  EXPECT_EQ(lines.find("line 21 of its kind"), std::string::npos);

  TaskSpec fewer = Spec("picky");
  fewer.max_bad_records = 24;
  const TaskResult failed = RunOn(std::move(fewer), text)->Wait();
  EXPECT_EQ(failed.end, TaskEnd::kUserFinal);
  EXPECT_EQ(failed.message,
            "operator picky failed: it met 25 bad records, and --max-bad-records is 24; the last one: line 25 of its "
            "kind is bad");
}

TEST_F(TaskFaultTest, MoreCountersThanAnAttemptMayHaveFailItForGood) {
  const auto run = [&](const std::string& config) {
    TaskSpec s = Spec("tally");
    s.config = config;
    return RunOn(std::move(s))->Wait();
  };
  const TaskResult full = run("256 256");
  EXPECT_EQ(full.end, TaskEnd::kDone) << full.message;
  EXPECT_EQ(full.counters.size(), 256u);
  for (const char* config : {"257 16", "90000 16", "1000000 16"}) {
    const TaskResult r = run(config);
    EXPECT_EQ(r.end, TaskEnd::kUserFinal) << config;
    EXPECT_NE(r.message.find("operator tally failed: more than 256 counters: '256xxxxx"), std::string::npos)
        << r.message;
  }
  const TaskResult r = run("1400 4000");
  EXPECT_EQ(r.end, TaskEnd::kUserFinal);
  EXPECT_NE(r.message.find("a name of 4000 bytes; at most 256 are possible"), std::string::npos) << r.message;
}

TEST_F(TaskFaultTest, TheFirstBadRecordFailsByDefault) {
  const TaskResult r = RunOn(Spec("picky"), "good\nbad\n")->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserFinal);
  EXPECT_EQ(r.message.rfind("operator picky failed: line 1 of its kind is bad", 0), 0u) << r.message;
}

TEST_F(TaskFaultTest, WhoAsksToBeTriedAgainIsNotToBlame) {
  const TaskResult r = RunOn(Spec("plead"))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kEnvironment);
  EXPECT_EQ(r.message, "operator plead failed and asks to be tried again: no answer");
}

TEST_F(TaskFaultTest, WhoGivesUpIsToldApart) {
  const TaskResult r = RunOn(Spec("give_up"))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserFinal);
  EXPECT_EQ(r.message, "operator give_up failed: no attempt can do this");
}

TEST_F(TaskFaultTest, DamagedCompressedInputIsFinal) {
  TaskSpec s = Spec("echo");
  AddSplit(&s, Write("damaged.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\3no deflate at all", 27)));
  s.ports = {Shuffle(1)};
  auto c = std::make_shared<Collector>();
  host_->Run(std::move(s), c);
  const TaskResult r = c->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserFinal) << r.message;
  EXPECT_NE(r.message.find("COMPRESSED_INPUT_DAMAGED"), std::string::npos) << r.message;
}

TEST_F(TaskFaultTest, GarbageOnTheControlSocketFailsTheTask) {
  TaskSpec s = Spec("scribble");
  s.config = "sockets";
  const TaskResult r = RunOn(std::move(s))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserError);
  EXPECT_EQ(r.message.rfind("PROTOCOL", 0), 0u) << r.message;
}

TEST_F(TaskFaultTest, GarbageOnLowDescriptorsHurtsNobody) {
  const TaskResult r = RunOn(Spec("scribble"))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kDone) << r.message;
}

TEST_F(TaskFaultTest, LogIsCutAt64MiB) {
  TaskSpec s = Spec("shout");
  const std::string log = s.log_path;
  const TaskResult r = RunOn(std::move(s))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kDone) << r.message;
  EXPECT_EQ(FileSize(log).value(), 64u << 20);
  EXPECT_NE(r.stderr_tail.find("the last word"), std::string::npos);
}

TEST_F(TaskFaultTest, DescendantsInOwnSessionsEndWithTheTask) {
  for (const char* op : {"leak", "leak.spin"}) {
    TaskSpec s = Spec(op);
    s.config = *directory_ + "/pid." + op;
    const std::string file = s.config;
    auto c = RunOn(std::move(s));
    if (std::string(op) == "leak.spin") {
      ASSERT_TRUE(Soon([&] { return PathExists(file) && ReadPid(file) > 0; }));
      task_->Kill();
    }
    c->Wait();
    const pid_t pid = ReadPid(file);
    ASSERT_GT(pid, 0);
    EXPECT_FALSE(Alive(pid)) << op;
  }
}

TEST_F(TaskFaultTest, MemoryLimitIsNamed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "with this sanitizer tasks have no limit of memory";
#endif
  TaskSpec s = Spec("greedy");
  s.memory_bytes = 256u << 20;
  const TaskResult r = RunOn(std::move(s))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserError);
  EXPECT_NE(r.message.find("out of memory"), std::string::npos) << r.message;
}

TEST_F(TaskFaultTest, BadBatchIsRefused) {
  const TaskResult r = RunOn(Spec("bad.batch"))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserError);
  EXPECT_NE(r.message.find("emitted a bad batch"), std::string::npos) << r.message;
}

TEST_F(TaskFaultTest, PartitionOutOfRangeIsRefused) {
  TaskSpec s = Spec("echo");
  OutputPort port = Shuffle(2);
  port.custom_partition = true;
  s.ports = {port};
  AddSplit(&s, Write("kv", "1\tx\n7\ty\n"), 0, 0, "kv");
  auto c = std::make_shared<Collector>();
  host_->Run(std::move(s), c);
  const TaskResult r = c->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserFinal) << "each attempt would give the same partition";
  EXPECT_EQ(r.message.rfind("PARTITION_OUT_OF_RANGE", 0), 0u) << r.message;
  EXPECT_EQ(r.record, "the emitted key '7'") << "and not the record at which the batch was full";
}

TEST_F(TaskFaultTest, OtherFlagsThanSubmittedAreRefused) {
  const TaskResult r = RunOn(Spec("echo", MR_DETERMINISTIC))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserFinal);
  EXPECT_NE(r.message.find("flags"), std::string::npos);
  EXPECT_NE(r.message.find("after an upgrade, submit the job again"), std::string::npos) << r.message;
}

TEST_F(TaskFaultTest, UnknownOperatorIsSuggested) {
  const TaskResult r = RunOn(Spec("ekho"))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserFinal);
  EXPECT_NE(r.message.find("did you mean 'echo'"), std::string::npos) << r.message;
  EXPECT_NE(r.message.find("after an upgrade, submit the job again"), std::string::npos) << r.message;
}

TEST_F(TaskFaultTest, FixedLengthFileOfOtherLengthNamesTheFile) {
  TaskSpec s = Spec("echo");
  const std::string path = Write("fixed", "12345678901");
  AddSplit(&s, path, 0, 0, "fixed:10");
  s.ports = {Shuffle(1)};
  auto c = std::make_shared<Collector>();
  host_->Run(std::move(s), c);
  const TaskResult r = c->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserFinal);
  EXPECT_NE(r.message.find(path), std::string::npos) << r.message;
}

TEST_F(TaskFaultTest, LostOutputIsTheEnvironmentsFault) {
  TaskSpec s = Spec("echo");
  AddSplit(&s, Write("out", "a\nb\n"));
  s.ports = {Shuffle(1)};
  auto c = std::make_shared<Collector>();
  c->answer_ = ErrnoStatus(ENOSPC, "cannot write");
  host_->Run(std::move(s), c);
  const TaskResult r = c->Wait();
  EXPECT_EQ(r.end, TaskEnd::kEnvironment);
  EXPECT_NE(r.message.find("cannot write"), std::string::npos);
}

TEST_F(TaskFaultTest, NoScratchSpaceIsTheEnvironmentsFault) {
  TaskSpec s = Spec("tokens", kTokensFlags);
  s.scratch_directory = *directory_ + "/absent/too";  // the child makes the last directory only
  s.sort_buffer_bytes = 1000;
  const TaskResult r = RunOn(std::move(s), "a b c d e f g h i j k l m n o p q r s t u v w x y z\n")->Wait();
  EXPECT_EQ(r.end, TaskEnd::kEnvironment) << r.message;
  EXPECT_NE(r.message.find("absent"), std::string::npos) << r.message;
}

TEST_F(TaskFaultTest, KillAtAnyMomentEndsTheTaskOnceAndTheHostGoesOn) {
  const std::string path = Write("churn", std::string(200'000, 'a') + "\n");
  for (int i = 0; i < 100; ++i) {
    const bool reusable = i % 3 == 0;
    TaskSpec s = reusable ? Spec("tokens.reusable", MR_REUSABLE) : Spec("tokens", kTokensFlags);
    AddSplit(&s, path);
    s.ports = {Shuffle(2)};
    auto c = std::make_shared<Collector>();
    auto task = host_->Run(std::move(s), c);
    if (i % 5 != 0) usleep(static_cast<useconds_t>(i * 37 % 1500));
    task->Kill();
    const TaskResult r = c->Wait();
    EXPECT_TRUE(r.end == TaskEnd::kKilled || r.end == TaskEnd::kDone) << r.message;
  }
  host_->EndJob({1, 1});
}

TEST_F(TaskFaultTest, AKilledHelperIsReplacedAndItsChildrenGoOn) {
  for (int round = 0; round < 2; ++round) {  // the second helper is started by another thread than the first
    auto before = RunOn(Spec("spin"));
    const auto spinning = task_;
    ASSERT_TRUE(Soon([&] { return spinning->pid() != 0; }));
    auto helpers = Helpers();
    std::erase(helpers, spinning->pid());
    ASSERT_EQ(helpers.size(), 1u);
    ASSERT_EQ(kill(helpers[0], SIGKILL), 0);
    for (int i = 0; i < 3; ++i) {
      const TaskResult r = RunOn(Spec("echo"))->Wait();
      EXPECT_EQ(r.end, TaskEnd::kDone) << r.message;
    }
    EXPECT_FALSE(before->ended());
    TaskSpec s = Spec("leak");
    s.config = *directory_ + "/pid.after." + std::to_string(round);
    const std::string file = s.config;
    RunOn(std::move(s))->Wait();
    ASSERT_GT(ReadPid(file), 0);
    EXPECT_FALSE(Alive(ReadPid(file))) << "what children leave behind is no longer ended";
    spinning->Kill();
    EXPECT_EQ(before->Wait().end, TaskEnd::kKilled);
  }
}

TEST_F(TaskFaultTest, AHostThatCanHaveNoHelperSaysThatItIsOver) {
  const std::string copy = *directory_ + "/mrtask";
  std::filesystem::copy_file(MRTASK_PATH, copy);
  const auto others = Helpers();
  std::string fatal;
  TaskHostOptions options;
  options.mrtask_path = copy;
  options.scratch_directory = *directory_;
  options.on_fatal = [&](const Status& why) { fatal = why.message(); };
  auto host = TaskHost::Start(options);
  ASSERT_TRUE(host.ok()) << host.status().ToString();
  auto mine = Helpers();
  for (const pid_t pid : others) std::erase(mine, pid);
  ASSERT_EQ(mine.size(), 1u);
  std::filesystem::remove(copy);
  kill(mine[0], SIGKILL);
  TaskSpec s = Spec("nothing");
  s.ports = {Shuffle(1)};
  auto c = std::make_shared<Collector>();
  (*host)->Run(std::move(s), c);
  const TaskResult r = c->Wait();
  EXPECT_EQ(r.end, TaskEnd::kEnvironment);
  EXPECT_NE(r.message.find(copy), std::string::npos) << r.message;
  EXPECT_EQ(fatal, r.message);
}

// It holds three of each child: its pidfd, and the daemon's ends of its socket and of its log.
TEST_F(TaskFaultTest, TheHelperHoldsFewDescriptorsOfAttemptsThatHaveEnded) {
  ASSERT_EQ(RunOn(Spec("echo"))->Wait().end, TaskEnd::kDone);
  ASSERT_EQ(Helpers().size(), 1u);
  const std::filesystem::path open = "/proc/" + std::to_string(Helpers()[0]) + "/fd";
  const auto count = [&] { return std::distance(std::filesystem::directory_iterator(open), {}); };
  const auto before = count();
  for (int i = 0; i < 40; ++i) ASSERT_EQ(RunOn(Spec("echo"))->Wait().end, TaskEnd::kDone);
  EXPECT_TRUE(Soon([&] { return count() <= before + 3 * task::SpawnRequest::kMostEnded; }))
      << count() << ", before: " << before;
}

TEST_F(TaskFaultTest, AChildIsTakenBeforeTheDaemonAndGainsNoRights) {
  auto c = RunOn(Spec("spin"));
  ASSERT_TRUE(Soon([&] { return task_->pid() != 0; }));
  const std::string proc = "/proc/" + std::to_string(task_->pid());
  const auto own = std::stoi(*ReadFile("/proc/self/oom_score_adj"));
  const std::string wanted = std::to_string(std::min(1000, own + 500)) + "\n";
  EXPECT_TRUE(Soon([&] { return TextOf(proc + "/oom_score_adj") == wanted; }));
  EXPECT_TRUE(Soon([&] { return TextOf(proc + "/status").find("NoNewPrivs:\t1") != std::string::npos; }));
  const auto soft = [&](const std::string& limit) {
    std::ifstream limits(proc + "/limits");
    for (std::string line; std::getline(limits, line);) {
      if (line.starts_with(limit)) return line.substr(26, line.find(' ', 26) - 26);
    }
    return std::string("no such limit");
  };
  // The child sets the last of these when it has its task.
  EXPECT_TRUE(Soon([&] { return soft("Max core file ") == "0"; })) << soft("Max core file ");
  const auto few = [](long n) { return n > 0 && n <= 4096; };  // "unlimited" is none
  EXPECT_TRUE(Soon([&] { return few(std::atol(soft("Max open files").c_str())); })) << soft("Max open files");
  task_->Kill();
  c->Wait();
}

// Scripts and files in the place of mrtask.
class OtherMrtaskTest : public TaskFaultTest {
 protected:
  static Status StartWith(const std::string& script, int mode = 0755) {
    const std::string path = *directory_ + "/other";
    std::ofstream(path) << script;
    chmod(path.c_str(), static_cast<mode_t>(mode));
    TaskHostOptions options;
    options.mrtask_path = path;
    options.scratch_directory = *directory_;
    const auto begin = std::chrono::steady_clock::now();
    auto host = TaskHost::Start(options);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
    EXPECT_NE(host.status().message().find(path), std::string::npos) << host.status().message();
    return host.status();
  }
};

TEST_F(OtherMrtaskTest, OneOfAnotherProtocolIsRefusedWithBothNumbers) {
  const Status status = StartWith("#!/bin/sh\nprintf 'PMTH\\143\\0\\0\\0' >&3\nexec sleep 60\n");
  EXPECT_EQ(status.code(), Code::kRejected);
  EXPECT_NE(status.message().find("speaks protocol 99, this mrworker " + std::to_string(mr::task::kTaskProtocol) +
                                  ": install"),
            std::string::npos)
      << status.message();
}

TEST_F(OtherMrtaskTest, OneThatAnswersOtherwiseIsRefused) {
  EXPECT_EQ(StartWith("#!/bin/sh\necho hello, who is there >&3\nexec sleep 60\n").code(), Code::kRejected);
}

TEST_F(OtherMrtaskTest, OneThatEndsAtOnceIsRefused) {
  // A program that knows no protocol prints its usage and ends.
  EXPECT_EQ(StartWith("#!/bin/sh\nexit 2\n").code(), Code::kRejected);
}

TEST_F(OtherMrtaskTest, OneThatCannotBeRunIsNamed) {
  EXPECT_EQ(StartWith("#!/bin/sh\n", 0644).code(), Code::kNotAllowed);
  TaskHostOptions options;
  options.mrtask_path = "/nonexistent/mrtask";
  EXPECT_EQ(TaskHost::Start(options).status().code(), Code::kNotFound);
}

// A host in a process of its own, to be killed with its task running.
class KilledHostTest : public testing::Test {
 protected:
  void Start(const char* oper) {
    char name[] = "/tmp/mr_task_kill_XXXXXX";
    directory_ = mkdtemp(name);
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    daemon_ = fork();
    if (daemon_ == 0) {
      close(ready[0]);
      execl(DRIVER_PATH, DRIVER_PATH, std::to_string(ready[1]).c_str(), directory_.c_str(), oper, nullptr);
      _exit(1);
    }
    close(ready[1]);
    char line[64] = {};
    ASSERT_GT(read(ready[0], line, sizeof line - 1), 0);
    close(ready[0]);
    ASSERT_EQ(sscanf(line, "%d %d %d", &child_, &leaked_, &helper_), 3);
    EXPECT_EQ(kill(child_, 0), 0);
    EXPECT_EQ(kill(leaked_, 0), 0);
  }
  ~KilledHostTest() override {
    for (const pid_t pid : {child_, leaked_}) {
      if (!Gone(pid)) kill(pid, SIGKILL);
    }
    EXPECT_TRUE(RemoveTree(directory_).ok());
  }
  void KillDaemon() {
    kill(daemon_, SIGKILL);
    waitpid(daemon_, nullptr, 0);
  }
  static bool Gone(pid_t pid) {
    if (kill(pid, 0) != 0) return true;
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number, command, state;
    stat >> number >> command >> state;
    return state == "Z" || state.empty();  // nobody may be there to reap it
  }
  static bool SoonGone(pid_t pid) {
    for (int i = 0; i < 4000 && !Gone(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Gone(pid);
  }

  std::string directory_;
  pid_t daemon_ = 0, child_ = 0, leaked_ = 0, helper_ = 0;
};

TEST_F(KilledHostTest, TakesItsTasksAlong) {
  ASSERT_NO_FATAL_FAILURE(Start("fork.spin"));
  KillDaemon();
  EXPECT_TRUE(SoonGone(child_));
  EXPECT_TRUE(SoonGone(leaked_));
}

TEST_F(KilledHostTest, TakesWhatHasLeftSessionGroupAndParentAlong) {
  ASSERT_NO_FATAL_FAILURE(Start("leak.spin"));
  KillDaemon();
  EXPECT_TRUE(SoonGone(leaked_));
  EXPECT_TRUE(SoonGone(child_));
}

// A task that writes to its log would end by SIGPIPE before the helper finds the processes that it has started.
TEST_F(KilledHostTest, TakesWhatATaskThatWritesHasStartedAlong) {
  ASSERT_NO_FATAL_FAILURE(Start("leak.shout"));
  KillDaemon();
  EXPECT_TRUE(SoonGone(leaked_));
  EXPECT_TRUE(SoonGone(child_));
}

TEST_F(KilledHostTest, TakesItsTasksAlongWhereItsHelperIsKilledToo) {
  ASSERT_NO_FATAL_FAILURE(Start("leak.spin"));
  kill(daemon_, SIGSTOP);  // it would replace the helper
  kill(helper_, SIGKILL);
  KillDaemon();
  EXPECT_TRUE(SoonGone(child_));
  // The next host of the same data directory finds the processes that the task had started.
  EXPECT_FALSE(Gone(leaked_));
  TaskHostOptions options;
  options.mrtask_path = MRTASK_PATH;
  options.scratch_directory = options.data_directory = directory_;
  const auto next = TaskHost::Start(options);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ((*next)->EndLeftovers(), 1u);
  EXPECT_TRUE(SoonGone(leaked_));
  EXPECT_EQ((*next)->EndLeftovers(), 0u) << "its own are no leftovers";
  EXPECT_EQ(Helpers().size(), 1u);
}

}  // namespace
}  // namespace mr::worker
