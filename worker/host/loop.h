// The host's io thread: an Asio io_context behind a plain interface, so that Asio stays in one file.
#pragma once

#include <functional>
#include <memory>

#include "common/base/time.h"

namespace mr::worker {

// Readiness of one borrowed descriptor. Made, used and destroyed on the loop's thread. A callback that is pending at
// the destruction is not called.
class Watch {
 public:
  virtual ~Watch() = default;
  // Calls once, when the descriptor is readable (writable). Needed again for the next call.
  virtual void WhenReadable(std::function<void()> call) = 0;
  virtual void WhenWritable(std::function<void()> call) = 0;
};

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void Start();
  // Ends the thread. Drops what has not run.
  void Stop();
  // Runs a call on the loop's thread, in order. Any thread. Dropped after Stop.
  void Post(std::function<void()> call);
  // Runs a call on the loop's thread after this time. Thread: the loop's. Dropped after Stop.
  void After(Duration delay, std::function<void()> call);
  std::unique_ptr<Watch> MakeWatch(int fd);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::worker
