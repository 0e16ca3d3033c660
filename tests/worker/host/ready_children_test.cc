// Children that wait for their first task. Real children.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <thread>

#include "tests/worker/host/task_harness.h"

namespace mr::worker {
namespace {

class ReadyChildrenTest : public TaskTest {
 protected:
  std::unique_ptr<TaskHost> HostWith(uint32_t ready) {
    TaskHostOptions options;
    options.mrtask_path = MRTASK_PATH;
    options.scratch_directory = *directory_;
    options.ready_children = ready;
    return TaskHost::Start(options).value();
  }
  // Children of the test's own host, beside its helper; `others`: of the suite's host.
  static std::set<pid_t> Others() {
    const auto helpers = Helpers();
    return {helpers.begin(), helpers.end()};
  }
  // Waits until this many processes, with the helper, are beside `others`. Returns them.
  static std::set<pid_t> WaitFor(const std::set<pid_t>& others, size_t number) {
    std::set<pid_t> mine;
    for (int i = 0; i < 2000; ++i) {
      mine = Others();
      for (const pid_t other : others) mine.erase(other);
      if (mine.size() == number) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(mine.size(), number);
    return mine;
  }
  std::shared_ptr<Collector> RunOn(TaskHost* host, TaskSpec s) {
    AddSplit(&s, Write("in" + std::to_string(s.attempt.task.task), "a line\n"));
    s.ports = {Shuffle(2)};
    auto c = std::make_shared<Collector>();
    task_ = host->Run(std::move(s), c);
    return c;
  }
  pid_t PidOfTask() const {
    for (int i = 0; i < 2000 && task_->pid() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return task_->pid();
  }
  std::shared_ptr<RunningTask> task_;
};

TEST_F(ReadyChildrenTest, AFirstTaskGetsAChildThatWasThereBefore) {
  const auto others = Others();
  const auto host = HostWith(2);
  const auto before = WaitFor(others, 3);
  auto c = RunOn(host.get(), Spec("spin"));
  EXPECT_TRUE(before.contains(PidOfTask()));
  WaitFor(others, 4);  // another one waits in its place
  task_->Kill();
  EXPECT_EQ(c->Wait().end, TaskEnd::kKilled);
}

TEST_F(ReadyChildrenTest, TheirTasksRunAsThoseOfOthersDo) {
  const auto others = Others();
  const auto host = HostWith(2);
  WaitFor(others, 3);
  for (int i = 0; i < 6; ++i) {
    const TaskResult r = RunOn(host.get(), Spec("echo"))->Wait();
    EXPECT_EQ(r.end, TaskEnd::kDone) << r.message;
    EXPECT_EQ(r.records_in, 1u);
  }
}

TEST_F(ReadyChildrenTest, AChildThatDiesBeforeItsTaskFailsNone) {
  const auto others = Others();
  const auto host = HostWith(2);
  const auto helper = WaitFor(others, 3);
  // The helper is the one with the lowest number: it has made the others.
  for (auto it = std::next(helper.begin()); it != helper.end(); ++it) ASSERT_EQ(kill(*it, SIGKILL), 0);
  WaitFor(others, 1);
  const TaskResult r = RunOn(host.get(), Spec("echo"))->Wait();
  EXPECT_EQ(r.end, TaskEnd::kDone) << r.message;
}

TEST_F(ReadyChildrenTest, ATaskWithSideEffectsGetsAChildThatTheHelperKnowsAsLeased) {
  const auto others = Others();
  const auto host = HostWith(1);
  const auto before = WaitFor(others, 2);
  TaskSpec s = Spec("leak.effects", MR_SIDE_EFFECTS);
  s.config = *directory_ + "/ready.pid";
  auto c = RunOn(host.get(), std::move(s));
  EXPECT_FALSE(before.contains(PidOfTask()));
  task_->Kill();
  c->Wait();
}

TEST_F(ReadyChildrenTest, TheyEndWithTheHost) {
  const auto others = Others();
  {
    const auto host = HostWith(2);
    WaitFor(others, 3);
  }
  WaitFor(others, 0);
}

}  // namespace
}  // namespace mr::worker
