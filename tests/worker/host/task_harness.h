// Runs tasks of the test library through a real host and waits for them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/abi/batch.h"
#include "common/abi/operator_table.h"
#include "common/io/files.h"
#include "worker/host/task_host.h"

namespace mr::worker {

// The helpers among this process's children, and the tasks: these are clones with the same command line.
inline std::vector<pid_t> Helpers() {
  std::vector<pid_t> helpers;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (pid_t pid; children >> pid;) {
      const auto line = ReadFile("/proc/" + std::to_string(pid) + "/cmdline");  // an error: it ended meanwhile
      if (line.ok() && line->find(std::string("\0helper\0", 8)) != std::string::npos) helpers.push_back(pid);
    }
  }
  return helpers;
}

struct Record {
  std::string key, value;
  auto operator<=>(const Record&) const = default;
};

// Keeps all output, and lets the test wait for the end.
class Collector : public TaskObserver {
 public:
  void OnOutput(const OutputChunk& chunk, std::function<void(Status)> done) override {
    {
      const std::lock_guard lock(mutex_);
      chunks_.push_back({chunk.port, chunk.partition, chunk.records, std::string(chunk.bytes)});
      if (hold_) {
        held_.push_back(std::move(done));
        return;
      }
    }
    done(answer_);
  }
  void ReadMore(uint32_t, uint64_t offset, uint32_t length, std::function<void(Result<std::string>)> reply) override {
    reply(more_ ? more_(offset, length) : Result<std::string>(Unavailable("no more")));
  }
  void OnEnd(TaskResult result) override {
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
    ended_ = true;
    changed_.notify_all();
  }
  TaskResult Wait(int seconds = 30) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(seconds), [this] { return ended_; })) {
      ADD_FAILURE() << "the task did not end";
    }
    return result_;
  }
  // Lets go of what was held, and holds no more.
  void Release() {
    std::vector<std::function<void(Status)>> held;
    {
      const std::lock_guard lock(mutex_);
      hold_ = false;
      held.swap(held_);
    }
    for (const auto& done : held) done(answer_);
  }
  size_t count() {
    const std::lock_guard lock(mutex_);
    return chunks_.size();
  }
  bool ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

  struct Kept {
    uint32_t port, partition, records;
    std::string bytes;
  };
  // Records of one partition, in order.
  std::vector<Record> Records(uint32_t partition) const {
    std::vector<Record> all;
    for (const Kept& c : chunks_) {
      if (c.partition != partition) continue;
      BatchView view;
      const std::string copy = c.bytes;
      EXPECT_EQ(BatchView::Parse(copy.data(), copy.size(), &view), nullptr);
      for (uint32_t i = 0; i < view.size(); ++i) all.push_back({std::string(view.key(i)), std::string(view.value(i))});
    }
    return all;
  }
  std::string Bytes() const {
    std::string all;
    for (const Kept& c : chunks_) all += c.bytes;
    return all;
  }
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    const std::string all = Bytes();
    for (size_t at = 0; at < all.size();) {
      const size_t nl = all.find('\n', at);
      lines.push_back(all.substr(at, nl - at));
      at = nl + 1;
    }
    return lines;
  }

  std::vector<Kept> chunks_;
  std::function<Result<std::string>(uint64_t, uint32_t)> more_;
  Status answer_;
  bool hold_ = false;
  std::vector<std::function<void(Status)>> held_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  TaskResult result_;
};

class TaskTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    char name[] = "/tmp/mr_task_test_XXXXXX";
    directory_ = new std::string(mkdtemp(name));
    TaskHostOptions options;
    options.mrtask_path = MRTASK_PATH;
    options.scratch_directory = *directory_;
    Result<std::unique_ptr<TaskHost>> host = TaskHost::Start(options);
    ASSERT_TRUE(host.ok()) << host.status().ToString();
    host_ = std::move(host).value().release();
  }
  static void TearDownTestSuite() {
    delete host_;
    host_ = nullptr;
    EXPECT_TRUE(RemoveTree(*directory_).ok());
    delete directory_;
  }

  TaskSpec Spec(const std::string& op, uint32_t flags = 0) {
    TaskSpec s;
    s.attempt = {{{1, 1}, 0, next_task_++}, 1};
    s.stage_name = "stage";
    s.job_name = "job";
    s.tasks = 1;
    s.library_path = TEST_LIBRARY;
    s.operator_name = op;
    s.operator_flags = flags;
    s.partition_seed = 7;
    s.log_path = *directory_ + "/log" + std::to_string(s.attempt.task.task);
    return s;
  }
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = *directory_ + "/" + name;
    const UniqueFd fd = OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC).value();
    EXPECT_TRUE(WriteAll(fd.get(), text).ok());
    return path;
  }
  // [offset, offset + length) of the file, all of it where length is 0.
  void AddSplit(TaskSpec* s, const std::string& path, uint64_t offset = 0, uint64_t length = 0,
                const std::string& format = "text") {
    SplitInput in;
    in.input = s->inputs;
    in.name = "file://" + path;
    in.format = format;
    in.file_bytes = FileSize(path).value();
    in.offset = offset;
    in.length = length == 0 ? in.file_bytes - offset : length;
    in.fd = OpenFile(path, O_RDONLY).value();
    in.fd_length = in.file_bytes;
    s->splits.push_back(std::move(in));
    s->inputs = 1;
  }
  static OutputPort Shuffle(uint32_t partitions, bool combine = false, bool sorted = true) {
    OutputPort p;
    p.partitions = partitions;
    p.sorted = sorted;
    p.combine = combine;
    return p;
  }
  static OutputPort Files(const std::string& format = "text") {
    OutputPort p;
    p.files = true;
    p.format = format;
    return p;
  }
  static std::string Batch(const std::vector<Record>& records, uint16_t flags = kSorted) {
    BatchBuilder b;
    for (const Record& r : records) b.Add(r.key, r.value);
    std::string bytes;
    b.Finish(flags, &bytes);
    return bytes;
  }

  static TaskHost* host_;
  static std::string* directory_;
  static uint32_t next_task_;
};

inline TaskHost* TaskTest::host_ = nullptr;
inline std::string* TaskTest::directory_ = nullptr;
inline uint32_t TaskTest::next_task_ = 0;

inline constexpr uint32_t kTokensFlags = MR_DETERMINISTIC | MR_ASSOCIATIVE;

}  // namespace mr::worker
