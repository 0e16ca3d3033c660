// A child process of a test, started with explicit descriptors and with its output in files. The destructor kills and
// reaps it. Thread: one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr::test {

struct SpawnOptions {
  std::string stdin_path = "/dev/null";
  std::string stdout_path = "/dev/null";
  std::string stderr_path = "/dev/null";
  // Appends to the output files instead of emptying them, so that a restarted daemon keeps its log.
  bool append = false;
  // Descriptors to inherit: (number in the test, number in the child).
  std::vector<std::pair<int, int>> inherit;
  std::vector<std::string> env;  // "NAME=value", in addition to the environment of the test
  std::string directory;         // working directory, empty = the test's
  uint64_t open_files = 0;       // ulimit -n, soft and hard; 0 = the test's
  int network = -1;              // descriptor of the network namespace to run in (needs root); -1 = the test's
};

class Process {
 public:
  Process() = default;
  Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  Process& operator=(Process&& other) noexcept;
  ~Process();

  static Result<Process> Spawn(const std::vector<std::string>& argv, const SpawnOptions& options);

  bool running();
  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Waits for the end. Returns the exit code, or 128 + the signal that ended it; nothing if it still runs at the limit.
  std::optional<int> Wait(Duration limit);
  // Kills the process (SIGKILL) and reaps it.
  void Kill();

 private:
  pid_t pid_ = 0;  // 0: none, or reaped
};

}  // namespace mr::test
