// Waits until the daemon has to end: SIGTERM, SIGINT, or the end of its lifeline. Uses Asio.
#pragma once

namespace mr::worker {

enum class StopReason { kSignal, kLifeline };

class StopWaiter {
 public:
  // lifeline_fd: read end of a pipe, whose end of file means "stop at once"; -1 = none. Signals are caught from now on.
  explicit StopWaiter(int lifeline_fd);
  ~StopWaiter();
  StopWaiter(const StopWaiter&) = delete;
  StopWaiter& operator=(const StopWaiter&) = delete;

  // Blocks until there is a reason. Call it once.
  StopReason Wait();

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace mr::worker
