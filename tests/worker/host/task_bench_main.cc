// How many empty tasks a host ends per second: in reused children, and with a process per attempt.
// And the throughput of a sorted, combined word count of one split. Prints one line per figure. Arguments: tasks, and
// the tier of the rooms (0).
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "common/abi/operator_table.h"
#include "worker/host/task_host.h"

namespace mr::worker {
namespace {

class Gate : public TaskObserver {
 public:
  void Enter(int limit) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ < limit; });
    ++running_;
  }
  void WaitAll() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ == 0; });
  }
  void OnOutput(const OutputChunk&, std::function<void(Status)> done) override { done({}); }
  void ReadMore(uint32_t, uint64_t, uint32_t, std::function<void(Result<std::string>)> reply) override {
    reply(Unavailable("no more"));
  }
  void OnEnd(TaskResult result) override {
    if (result.end != TaskEnd::kDone) {
      fprintf(stderr, "a task failed: %s\n", result.message.c_str());
      _exit(1);
    }
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
};

double Rate(TaskHost* host, const std::string& scratch, const char* op, uint32_t flags, int tasks, int in_flight) {
  const auto gate = std::make_shared<Gate>();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < tasks; ++i) {
    gate->Enter(in_flight);
    TaskSpec s;
    s.attempt = {{{1, 1}, 0, static_cast<uint32_t>(i)}, 1};
    s.library_path = TEST_LIBRARY;
    s.operator_name = op;
    s.operator_flags = flags;
    s.ports = {OutputPort{}};
    s.owner = "bench";
    s.scratch_directory = scratch;
    host->Run(std::move(s), gate);
  }
  gate->WaitAll();
  return tasks / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double WordCount(TaskHost* host, const std::string& path, const char* op, uint32_t flags) {
  const auto gate = std::make_shared<Gate>();
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t bytes = FileSize(path).value();
  TaskSpec s;
  s.attempt = {{{1, 1}, 0, 0}, 1};
  s.library_path = TEST_LIBRARY;
  s.operator_name = op;
  s.operator_flags = flags;
  s.inputs = 1;
  SplitInput in;
  in.name = path;
  in.format = "text";
  in.length = in.file_bytes = in.fd_length = bytes;
  in.fd = OpenFile(path, O_RDONLY).value();
  s.splits.push_back(std::move(in));
  OutputPort port;
  port.partitions = 8;
  port.sorted = port.combine = true;
  s.ports = {port};
  s.scratch_directory = "/tmp";
  gate->Enter(1);
  host->Run(std::move(s), gate);
  gate->WaitAll();
  return static_cast<double>(bytes) / 1e6 /
         std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace
}  // namespace mr::worker

int main(int argc, char** argv) {
  using namespace mr::worker;
  TaskHostOptions options;
  options.mrtask_path = MRTASK_PATH;
  options.scratch_directory = "/tmp";
  char data[] = "/tmp/mr_task_bench.XXXXXX";
  const int tier = argc > 2 ? atoi(argv[2]) : 0;  // from 2 on: as root
  if (tier > 0) {
    const std::string library = TEST_LIBRARY;
    options.rooms.tier = tier;
    options.rooms.paths = {{library.substr(0, library.rfind('/')), false}};
    options.data_directory = mkdtemp(data);
    options.scratch_directory = options.data_directory + "/scratch";
    if (!mr::MakeDirectories(options.scratch_directory).ok() || chmod(data, 0711) != 0) return 1;
    if (tier > 1) options.task_users = {3000200, 3000201};
    options.slots = 4;
  }
  auto host = TaskHost::Start(options).value();
  const std::string scratch = tier > 0 ? options.scratch_directory + "/job" : "/tmp";
  const int tasks = argc > 1 ? atoi(argv[1]) : 3000;
  for (int in_flight : {1, 2, 4}) {
    printf("empty tasks, reused child,   %d in flight: %.0f/s\n", in_flight,
           Rate(host.get(), scratch, "nothing.reusable", MR_REUSABLE, tasks, in_flight));
    printf("empty tasks, own process,    %d in flight: %.0f/s\n", in_flight,
           Rate(host.get(), scratch, "nothing", 0, tasks / 2, in_flight));
  }
  if (tier > 0) {
    host.reset();
    return mr::RemoveTree(data).ok() ? 0 : 1;
  }
  std::string text;
  uint32_t x = 1;
  while (text.size() < 32u << 20) {
    x = x * 1664525 + 1013904223;
    text += "word" + std::to_string((x >> 8) % 20000) + (x % 11 == 0 ? "\n" : " ");
  }
  const std::string path = "/tmp/mr_task_bench." + std::to_string(getpid());
  {
    const mr::UniqueFd fd = mr::OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC).value();
    if (!mr::WriteAll(fd.get(), text).ok()) return 1;
  }
  const uint32_t flags = MR_DETERMINISTIC | MR_ASSOCIATIVE;
  printf("token count, lines:      %.0f MB/s\n", WordCount(host.get(), path, "tokens", flags));
  printf("token count, raw blocks: %.0f MB/s\n", WordCount(host.get(), path, "tokens.raw", flags | MR_RAW_BLOCKS));
  unlink(path.c_str());
}
