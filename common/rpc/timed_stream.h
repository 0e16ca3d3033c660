// A stream that records when bytes moved, so that a server finds peers that do not take their data.
#pragma once

#include <kj/async-io.h>
#include <kj/timer.h>

#include <cstdint>

#include "common/base/time.h"

namespace mr::rpc {

// Thread: the loop's.
class TimedStream final : public kj::AsyncIoStream {
 public:
  TimedStream(kj::Own<kj::AsyncIoStream> inner, kj::Timer& timer)
      : inner_(kj::mv(inner)), timer_(timer), moved_(timer.now()), waits_since_(moved_) {}

  // Returns when the last read or write ended.
  kj::TimePoint moved() const { return moved_; }
  // Returns whether writes are unfinished, and none has ended for `grace` and the time of their bytes at this rate.
  // rate: bytes per second.
  bool Slow(Duration grace, uint64_t rate) const;

  kj::Promise<size_t> tryRead(void* buffer, size_t least, size_t most) override;
  kj::Promise<void> write(const void* buffer, size_t size) override;
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override;
  kj::Promise<void> whenWriteDisconnected() override { return inner_->whenWriteDisconnected(); }
  void shutdownWrite() override { inner_->shutdownWrite(); }
  void abortRead() override { inner_->abortRead(); }

 private:
  void Begin(size_t size);
  kj::Promise<void> Ended(size_t size, kj::Promise<void> written);

  kj::Own<kj::AsyncIoStream> inner_;
  kj::Timer& timer_;
  kj::TimePoint moved_;
  kj::TimePoint waits_since_;  // the first unfinished write began, or another one ended
  size_t unfinished_ = 0;      // bytes of the writes that have not ended
};

}  // namespace mr::rpc
