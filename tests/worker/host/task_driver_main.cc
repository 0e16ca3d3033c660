// A daemon for the tests to kill: runs one task that never ends and that has started a process, and writes both pids
// and its helper's to a descriptor. Arguments: the descriptor, a directory, the operator.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/worker/host/task_harness.h"
#include "worker/host/task_host.h"

namespace {

class Ignore : public mr::worker::TaskObserver {
 public:
  void OnOutput(const mr::worker::OutputChunk&, std::function<void(mr::Status)> done) override { done({}); }
  void ReadMore(uint32_t, uint64_t, uint32_t, std::function<void(mr::Result<std::string>)> reply) override {
    reply(mr::Unavailable("no more"));
  }
  void OnEnd(mr::worker::TaskResult) override {}
};

}  // namespace

int main(int, char** argv) {
  using namespace mr::worker;
  TaskHostOptions options;
  options.mrtask_path = MRTASK_PATH;
  options.scratch_directory = options.data_directory = argv[2];
  const std::string file = options.scratch_directory + "/input", pid_file = options.scratch_directory + "/pid";
  std::ofstream(file) << "line\n";
  auto host = TaskHost::Start(options).value();
  TaskSpec s;
  s.attempt = {{{1, 1}, 0, 0}, 1};
  s.library_path = TEST_LIBRARY;
  s.operator_name = argv[3];
  s.config = pid_file;
  s.tasks = s.inputs = 1;
  SplitInput in;
  in.name = file;
  in.format = "text";
  in.length = in.file_bytes = in.fd_length = 5;
  in.fd = mr::OpenFile(file, 0).value();
  s.splits.push_back(std::move(in));
  const auto task = host->Run(std::move(s), std::make_shared<Ignore>());
  int leaked = 0;
  while (leaked == 0) {
    usleep(1000);
    std::ifstream(pid_file) >> leaked;
  }
  dprintf(atoi(argv[1]), "%d %d %d\n", task->pid(), leaked, Helpers().at(0));
  for (;;) pause();
}
