// A stream for many small messages. It gathers the writes of one turn of the loop in one system call, and reads ahead.
// An RPC system makes one write and two reads per message otherwise.
#pragma once

#include <kj/async-io.h>
#include <kj/vector.h>

#include "common/rpc/hello.h"

namespace mr::rpc {

// Thread: the loop's. A small write is done at once for the caller, so an error of the stream fails a later write, and
// ends the read. A stream that is destroyed first writes what waits, as far as that needs no waiting.
class BatchedStream final : public kj::AsyncIoStream {
 public:
  // Most bytes that wait to be written, and most that are read ahead. A longer write or read passes by the buffer.
  static constexpr size_t kBytes = 8192;

  explicit BatchedStream(kj::Own<kj::AsyncIoStream> inner) : inner_(kj::mv(inner)) {}
  ~BatchedStream() noexcept(false);

  kj::Promise<size_t> tryRead(void* buffer, size_t least, size_t most) override;
  kj::Promise<void> write(const void* buffer, size_t size) override;
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override;
  kj::Promise<void> whenWriteDisconnected() override { return inner_->whenWriteDisconnected(); }
  void shutdownWrite() override;
  void abortRead() override { inner_->abortRead(); }
  void getsockopt(int level, int option, void* value, kj::uint* length) override {
    inner_->getsockopt(level, option, value, length);
  }
  void setsockopt(int level, int option, const void* value, kj::uint length) override {
    inner_->setsockopt(level, option, value, length);
  }
  void getsockname(struct sockaddr* address, kj::uint* length) override { inner_->getsockname(address, length); }
  void getpeername(struct sockaddr* address, kj::uint* length) override { inner_->getpeername(address, length); }

 private:
  void FlushSoon();
  kj::Promise<void> Flush();

  kj::Own<kj::AsyncIoStream> inner_;
  kj::byte ahead_[kBytes];  // read and not taken: from begin_ to end_
  size_t begin_ = 0, end_ = 0;
  kj::Vector<kj::byte> waiting_, leaving_;  // to be written; being written
  bool flushing_ = false;                   // a flush is due or under way
  bool due_ = false;                        // it has not begun
  bool shut_down_ = false;                  // after what waits
  kj::Maybe<kj::Exception> failed_;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> on_flushed_;  // of a write that waits for what was before it
  kj::Promise<void> flush_ = nullptr;                          // last: uses what is above
};

// Returns the stream for the messages of a peer of this role: a batched one for the control connection of a worker,
// which has a report and a command for each short task.
kj::Own<kj::AsyncIoStream> ForMessagesOf(Role role, kj::Own<kj::AsyncIoStream> stream);

}  // namespace mr::rpc
