// How a daemon learns that it is to end: SIGTERM or SIGINT, or the end of its lifeline. Asio waits.
#pragma once

namespace mr::worker {

enum class StopReason { kSignal, kLifeline };

class StopWaiter {
 public:
  // lifeline_fd: read end of a pipe whose end of file means "at once"; -1 = none. Signals are
  // caught from here on.
  explicit StopWaiter(int lifeline_fd);
  ~StopWaiter();
  StopWaiter(const StopWaiter&) = delete;
  StopWaiter& operator=(const StopWaiter&) = delete;

  // The calling thread sleeps until there is a reason. Once.
  StopReason Wait();

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace mr::worker
