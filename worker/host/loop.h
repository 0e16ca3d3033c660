// The host's io thread: an Asio io_context behind a plain interface, so that Asio stays in one file.
#pragma once

#include <functional>
#include <memory>

#include "common/base/time.h"

namespace mr::worker {

// Readiness of one descriptor (borrowed). Made, used and destroyed on the loop's thread; a callback
// that is pending when it is destroyed is not called.
class Watch {
 public:
  virtual ~Watch() = default;
  // One call when the descriptor is readable (writable); asked again for the next.
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
  // Ends the thread; what has not run is dropped.
  void Stop();
  // From any thread: runs on the loop's thread, in order. Dropped after Stop.
  void Post(std::function<void()> call);
  // On the loop's thread: runs there after this time. Dropped after Stop.
  void After(Duration delay, std::function<void()> call);
  std::unique_ptr<Watch> MakeWatch(int fd);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::worker
