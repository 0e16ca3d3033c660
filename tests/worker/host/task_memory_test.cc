// Limits of memory of real children: that of a job, and the default of the host for jobs without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/worker/host/task_harness.h"

namespace mr::worker {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMiB = 1ull << 20;

class TaskMemoryTest : public TaskTest {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "with this sanitizer tasks have no limit of memory";
#endif
    TaskHostOptions options;
    options.mrtask_path = MRTASK_PATH;
    options.scratch_directory = *directory_;
    options.default_memory = [this] { return default_memory_.load(); };
    own_ = TaskHost::Start(options).value();
  }
  TaskResult RunOwn(TaskSpec s, const std::string& text = "a line\n", int* pid = nullptr) {
    AddSplit(&s, Write("in" + std::to_string(s.attempt.task.task), text));
    if (s.ports.empty()) s.ports = {Shuffle(1)};
    output_ = std::make_shared<Collector>();
    output_->hold_ = pid != nullptr;
    const auto task = own_->Run(std::move(s), output_);
    if (pid != nullptr) {
      while (!output_->ended() && output_->count() == 0) std::this_thread::yield();
      *pid = task->pid();
      output_->Release();
    }
    return output_->Wait();
  }
  // Returns "SOFT HARD" in MiB and the job's limit in bytes, as an attempt sees them.
  Record LimitsOf(uint64_t of_job, int* pid) {
    TaskSpec s = Spec("memory.limits.reusable", MR_REUSABLE);
    s.memory_bytes = of_job;
    EXPECT_EQ(RunOwn(std::move(s), "a line\n", pid).end, TaskEnd::kDone);
    const std::vector<Record> records = output_->Records(0);
    return records.size() == 1 ? records[0] : Record{};
  }
  std::atomic<uint64_t> default_memory_ = 1024 * kMiB;
  std::shared_ptr<Collector> output_;
  std::unique_ptr<TaskHost> own_;
};

TEST_F(TaskMemoryTest, AnAttemptThatReachesTheDefaultLimitNamesItAndItsSource) {
  default_memory_ = 256 * kMiB;
  const TaskResult r = RunOwn(Spec("greedy"));
  EXPECT_EQ(r.end, TaskEnd::kUserError);
  EXPECT_EQ(
      r.message,
      "operator greedy batch() ran out of memory (std::bad_alloc); raise --memory; the attempt's limit is 256 MiB "
      "(the default: the worker's memory over its slots, or its --task_memory_bytes)");
  TaskSpec s = Spec("fail.at");
  s.config = "allocate";
  EXPECT_THAT(RunOwn(std::move(s), "allocate\n").message,
              HasSubstr("its limit of 256 MiB (the default: the worker's memory over its slots, or its "
                        "--task_memory_bytes) was reached; raise --memory"));
}

TEST_F(TaskMemoryTest, AJobsOwnLimitTakesTheDefaultsPlace) {
  default_memory_ = 256 * kMiB;
  int pid = 0;
  EXPECT_EQ(LimitsOf(600 * kMiB, &pid), (Record{"600 600", "629145600"}));
  EXPECT_EQ(LimitsOf(100 * kMiB, &pid), (Record{"100 100", "104857600"}));
  TaskSpec s = Spec("greedy");
  s.memory_bytes = 128 * kMiB;
  EXPECT_THAT(RunOwn(std::move(s)).message, HasSubstr("the attempt's limit is 128 MiB (--memory)"));
}

TEST_F(TaskMemoryTest, AReusedProcessTakesTheDefaultOfEachTask) {
  int first = 0, next = 0;
  EXPECT_EQ(LimitsOf(0, &first), (Record{"1024 none", "0"}));
  for (const auto& [bytes, shown] : {std::pair<uint64_t, const char*>{512 * kMiB, "512 none"},
                                     {4096 * kMiB, "4096 none"},
                                     {0, "none none"},
                                     {700 * kMiB, "700 none"}}) {
    default_memory_ = bytes;
    EXPECT_EQ(LimitsOf(0, &next), (Record{shown, "0"}));
    EXPECT_EQ(next, first) << "the process was not reused";
  }
}

}  // namespace
}  // namespace mr::worker
