// Limits that the host keeps: the lease of tasks with side effects, time without progress, processes; and whose
// processes end with a task. Real children.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/worker/host/task_harness.h"
#include "worker/task/process_tree.h"

namespace mr::worker {
namespace {

class TaskLimitsTest : public TaskTest {
 protected:
  std::shared_ptr<Collector> RunOn(TaskHost* host, TaskSpec s) {
    AddSplit(&s, Write("in" + std::to_string(s.attempt.task.task), "a line\n"));
    if (s.ports.empty()) s.ports = {Shuffle(2)};
    auto c = std::make_shared<Collector>();
    task_ = host->Run(std::move(s), c);
    return c;
  }
  std::unique_ptr<TaskHost> OwnHost(uint32_t processes = 0) {
    TaskHostOptions options;
    options.mrtask_path = MRTASK_PATH;
    options.scratch_directory = *directory_;
    options.processes = processes;
    return TaskHost::Start(options).value();
  }
  // With the number of a process that has left session, group and parent, in a file.
  TaskSpec Leaking(const std::string& op, uint32_t flags = 0) {
    TaskSpec s = Spec(op, flags);
    s.config = *directory_ + "/limits.pid." + std::to_string(s.attempt.task.task);
    return s;
  }
  static pid_t ReadPid(const std::string& path) {
    pid_t pid = 0;
    std::ifstream(path) >> pid;
    return pid;
  }
  static bool Alive(pid_t pid) { return pid > 0 && kill(pid, 0) == 0; }
  static bool Soon(const std::function<bool()>& is) {
    for (int i = 0; i < 4000 && !is(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return is();
  }
  std::shared_ptr<RunningTask> task_;
};

TEST_F(TaskLimitsTest, ALeaseThatRunsOutEndsATaskWithSideEffectsAndAllThatItStarted) {
  const auto host = OwnHost();
  host->RenewLease(Now() + Seconds(3600));
  auto others = RunOn(host.get(), Spec("spin"));
  const auto spinning = task_;
  TaskSpec s = Leaking("leak.effects", MR_SIDE_EFFECTS);
  const std::string file = s.config;
  auto c = RunOn(host.get(), std::move(s));
  ASSERT_TRUE(Soon([&] { return Alive(ReadPid(file)); }));
  EXPECT_FALSE(c->ended()) << "the lease is an hour";
  spinning->Kill();
  EXPECT_EQ(others->Wait().end, TaskEnd::kKilled);

  const auto short_lease = OwnHost();
  short_lease->RenewLease(Now() + Seconds(2));
  auto ordinary = RunOn(short_lease.get(), Spec("spin"));
  const auto goes_on = task_;
  TaskSpec leased = Leaking("leak.effects", MR_SIDE_EFFECTS);
  const std::string pid_file = leased.config;
  auto ends = RunOn(short_lease.get(), std::move(leased));
  ASSERT_TRUE(Soon([&] { return ReadPid(pid_file) > 0; }));
  const TaskResult r = ends->Wait();
  EXPECT_EQ(r.end, TaskEnd::kLeaseOver) << r.message;
  EXPECT_NE(r.message.find("no contact with the master"), std::string::npos) << r.message;
  EXPECT_FALSE(Alive(ReadPid(pid_file))) << "what it started goes on";
  EXPECT_FALSE(ordinary->ended()) << "it has no side effects";
  // None begins any more, until the lease is renewed.
  EXPECT_EQ(RunOn(short_lease.get(), Leaking("leak.effects", MR_SIDE_EFFECTS))->Wait().end, TaskEnd::kLeaseOver);
  short_lease->RenewLease(Now() + Seconds(3600));
  TaskSpec next = Leaking("leak.effects", MR_SIDE_EFFECTS);
  const std::string next_file = next.config;
  auto begins = RunOn(short_lease.get(), std::move(next));
  EXPECT_TRUE(Soon([&] { return Alive(ReadPid(next_file)); }));
  EXPECT_FALSE(begins->ended());
}

// Nothing else is started, so nobody but the host itself can see that its helper is gone.
TEST_F(TaskLimitsTest, ALeaseEndsItsTaskAlsoWhereTheHelperWasKilled) {
  const auto others = Helpers();
  const auto host = OwnHost();
  auto helpers = Helpers();
  for (const pid_t pid : others) std::erase(helpers, pid);
  ASSERT_EQ(helpers.size(), 1u);
  host->RenewLease(Now() + Seconds(3));
  TaskSpec s = Leaking("leak.effects", MR_SIDE_EFFECTS);
  const std::string file = s.config;
  auto c = RunOn(host.get(), std::move(s));
  ASSERT_TRUE(Soon([&] { return Alive(ReadPid(file)); }));
  ASSERT_EQ(kill(helpers[0], SIGKILL), 0);
  ASSERT_TRUE(Soon([&] { return c->ended(); })) << "it runs without a lease";
  EXPECT_EQ(c->Wait().end, TaskEnd::kLeaseOver);
  EXPECT_FALSE(Alive(ReadPid(file)));
}

TEST_F(TaskLimitsTest, AnEarlierTimeShortensNoLease) {
  const auto host = OwnHost();
  host->RenewLease(Now() + Seconds(3600));
  host->RenewLease(Instant{Now().ns - 1'000'000'000});
  TaskSpec s = Leaking("leak.effects", MR_SIDE_EFFECTS);
  const std::string file = s.config;
  auto c = RunOn(host.get(), std::move(s));
  EXPECT_TRUE(Soon([&] { return Alive(ReadPid(file)); }));
  EXPECT_FALSE(c->ended());
}

TEST_F(TaskLimitsTest, TheEndOfATaskEndsNoProcessOfAnother) {
  TaskSpec s = Leaking("leak.spin");
  const std::string file = s.config;
  auto c = RunOn(host_, std::move(s));
  const auto spinning = task_;
  ASSERT_TRUE(Soon([&] { return Alive(ReadPid(file)); }));
  EXPECT_EQ(RunOn(host_, Leaking("leak"))->Wait().end, TaskEnd::kDone);
  EXPECT_TRUE(Alive(ReadPid(file))) << "it is another task's";
  spinning->Kill();
  EXPECT_EQ(c->Wait().end, TaskEnd::kKilled);
  EXPECT_FALSE(Alive(ReadPid(file)));
}

TEST_F(TaskLimitsTest, ATaskWithoutProgressEndsAndSaysWhatItDid) {
  TaskSpec s = Spec("spin");
  s.timeout = Millis(400);
  const TaskResult r = RunOn(host_, std::move(s))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserError) << r.message;
  EXPECT_NE(r.stderr_tail.find("the process died of SIGQUIT; its stack, innermost call first:\n"), std::string::npos)
      << r.stderr_tail;
  EXPECT_NE(r.stderr_tail.find("Spin("), std::string::npos) << r.stderr_tail;
  EXPECT_NE(r.message.find("operator spin made no progress for"), std::string::npos) << r.message;
  EXPECT_EQ(r.record.rfind("record 1 of its input, in the batch that begins at file:///", 0), 0u) << r.record;
  EXPECT_NE(r.message.find("--task-timeout"), std::string::npos) << r.message;
  EXPECT_NE(r.message.find("its processes: mrtask R"), std::string::npos) << r.message;
}

TEST_F(TaskLimitsTest, OutputWithoutFurtherProgressEndsByTheTimeoutToo) {
  TaskSpec s = Spec("emit.spin");
  s.timeout = Millis(400);
  s.ports = {Files()};
  const auto c = RunOn(host_, std::move(s));
  const TaskResult r = c->Wait();
  EXPECT_GT(c->count(), 0u) << "the operator spun before any of its output left the child";
  EXPECT_EQ(r.end, TaskEnd::kUserError) << r.message;
  EXPECT_NE(r.message.find("operator emit.spin made no progress for"), std::string::npos) << r.message;
}

// A clock that the test moves; it counts its reads, since each look after the tasks has one.
class MovedClock {
 public:
  Instant Read() {
    const std::lock_guard lock(mutex_);
    ++reads_;
    now_ = now_ + each_;
    changed_.notify_all();
    return now_;
  }
  void Jump(Duration by) {
    const std::lock_guard lock(mutex_);
    now_ = now_ + by;
  }
  void PassAtEachRead(Duration by) {
    const std::lock_guard lock(mutex_);
    each_ = by;
  }
  bool AwaitReads(int more) {
    std::unique_lock lock(mutex_);
    const int enough = reads_ + more;
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return reads_ >= enough; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Instant now_{1'000'000'000};
  Duration each_;
  int reads_ = 0;
};

TEST_F(TaskLimitsTest, TimeInWhichTheMachineSleptIsNoLackOfProgress) {
  MovedClock clock;
  TaskHostOptions options;
  options.mrtask_path = MRTASK_PATH;
  options.scratch_directory = *directory_;
  options.now = [&] { return clock.Read(); };
  const auto host = TaskHost::Start(options).value();
  TaskSpec s = Spec("spin");
  s.timeout = Seconds(30);
  const auto c = RunOn(host.get(), std::move(s));
  ASSERT_TRUE(clock.AwaitReads(3));
  clock.Jump(Seconds(3600));
  ASSERT_TRUE(clock.AwaitReads(3));
  EXPECT_FALSE(c->ended()) << c->Wait().message;
  clock.PassAtEachRead(Seconds(1));
  const TaskResult r = c->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserError) << r.message;
  EXPECT_NE(r.message.find("made no progress for 3"), std::string::npos) << r.message;
}

// Its state is Z although it runs: pthread_exit in main().
TEST_F(TaskLimitsTest, AProcessWhoseMainThreadHasEndedEndsWithTheTask) {
  TaskSpec s = Leaking("leak.half");
  const std::string file = s.config;
  EXPECT_EQ(RunOn(host_, std::move(s))->Wait().end, TaskEnd::kDone);
  ASSERT_GT(ReadPid(file), 0);
  EXPECT_FALSE(Alive(ReadPid(file)));
}

// Another process that traces this one, and does not look whether it ended: until then its parent cannot collect it.
class Tracer {
 public:
  explicit Tracer(pid_t traced) {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const char ok = ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0 ? 1 : 0;
      (void)!write(ends[1], &ok, 1);
      for (;;) pause();
    }
    char ok = 0;
    traces_ = read(ends[0], &ok, 1) == 1 && ok == 1;
    close(ends[0]);
    close(ends[1]);
  }
  ~Tracer() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool traces() const { return traces_; }

 private:
  pid_t pid_ = -1;
  bool traces_ = false;
};

TEST_F(TaskLimitsTest, AProcessWhoseEndCannotBeCollectedHoldsNobodyUpForEver) {
  TaskSpec s = Leaking("leak.spin");
  const std::string file = s.config;
  auto c = RunOn(host_, std::move(s));
  ASSERT_TRUE(Soon([&] { return ReadPid(file) > 0; }));
  const Tracer tracer(ReadPid(file));
  if (!tracer.traces()) GTEST_SKIP() << "no right to trace a process";
  task_->Kill();
  EXPECT_TRUE(Soon([&] { return c->ended(); })) << "the end of its task waits for it";
  EXPECT_EQ(ListDirectory("/proc/" + std::to_string(ReadPid(file)) + "/task").value().size(), 1u)
      << "it was not killed";
}

TEST_F(TaskLimitsTest, AProcessThatDoesNotEndIsWaitedForOnceAndCollectedWithoutAnybodysEnd) {
  std::atomic<int> said = 0;
  TaskHostOptions options;
  options.mrtask_path = MRTASK_PATH;
  options.scratch_directory = *directory_;
  options.on_stuck = [&](const std::string&) { ++said; };
  const auto host = TaskHost::Start(options).value();
  TaskSpec s = Leaking("leak.spin");
  const std::string file = s.config;
  auto c = RunOn(host.get(), std::move(s));
  ASSERT_TRUE(Soon([&] { return ReadPid(file) > 0; }));
  std::optional<Tracer> tracer(ReadPid(file));
  if (!tracer->traces()) GTEST_SKIP() << "no right to trace a process";
  task_->Kill();
  ASSERT_TRUE(Soon([&] { return c->ended(); }));
  EXPECT_TRUE(Alive(ReadPid(file))) << "the tracer holds it";
  const Instant begin = Now();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(RunOn(host.get(), Spec("nothing"))->Wait().end, TaskEnd::kDone);
  // Were each to wait for it, they would take 30 s.
  EXPECT_LT(Now() - begin, Seconds(15));
  EXPECT_EQ(said, 1);
  tracer.reset();
  EXPECT_TRUE(Soon([&] { return !Alive(ReadPid(file)); })) << "no task ends any more, and nobody looks";
}

TEST_F(TaskLimitsTest, AProcessWhoseMainThreadHasEndedIsKilledWithTheTree) {
  TaskSpec s = Leaking("leak.half.spin");
  const std::string file = s.config;
  auto c = RunOn(host_, std::move(s));
  const auto spinning = task_;
  ASSERT_TRUE(Soon([&] { return ReadPid(file) > 0; }));
  const std::string threads = "/proc/" + std::to_string(ReadPid(file)) + "/task";
  ASSERT_EQ(ListDirectory(threads).value().size(), 2u);
  EXPECT_NE(task::DescribeTree(spinning->pid()).find(", mrtask Z"), std::string::npos)
      << task::DescribeTree(spinning->pid());
  EXPECT_TRUE(task::KillBelow(spinning->pid(), Seconds(10)));
  EXPECT_EQ(ListDirectory(threads).value().size(), 1u) << "it goes on; the operator does not wait for it";
  spinning->Kill();
  EXPECT_EQ(c->Wait().end, TaskEnd::kKilled);
}

TEST_F(TaskLimitsTest, WaitingForInputsIsNoLackOfProgress) {
  TaskSpec s = Spec("trace");
  s.timeout = Millis(200);
  s.inputs = 1;
  EdgeInput edge;
  edge.segments = 1;
  s.edges.push_back(edge);
  s.ports = {Shuffle(1)};
  auto c = std::make_shared<Collector>();
  auto task = host_->Run(std::move(s), c);
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  EXPECT_FALSE(c->ended());
  task->Feed(0, 0, 0, Batch({{"k", "v"}}), true, [] {});
  const TaskResult r = c->Wait();
  EXPECT_EQ(r.end, TaskEnd::kDone) << r.message;
}

TEST_F(TaskLimitsTest, ProcessesOfATaskAreCounted) {
  const auto host = OwnHost(20);
  EXPECT_EQ(RunOn(host.get(), Leaking("leak"))->Wait().end, TaskEnd::kDone);
  TaskSpec s = Leaking("breed");
  const std::string file = s.config;
  const TaskResult r = RunOn(host.get(), std::move(s))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kUserError) << r.message;
  EXPECT_NE(r.message.find("had more than 20 processes and threads at a time"), std::string::npos) << r.message;
  ASSERT_GT(ReadPid(file), 0);
  EXPECT_FALSE(Alive(ReadPid(file)));
}

}  // namespace
}  // namespace mr::worker
