// A message stream that stops reading calls while too many of the peer's calls are unanswered or too many bytes of
// replies wait to be sent. So a peer that calls and does not read uses a bounded amount of memory.
// Thread: a KJ loop.
#pragma once

#include <capnp/serialize-async.h>
#include <kj/async-io.h>
#include <kj/timer.h>

#include <cstdint>
#include <functional>
#include <unordered_set>

namespace mr::rpc {

// The send queues of all connections of one server together.
struct SharedQueue {
  uint64_t bytes = 0;  // of replies and calls that wait to be sent, over all connections
  uint64_t limit = 0;  // above it, each connection may have only one unanswered call
};

class MessageGate final : public capnp::MessageStream {
 public:
  struct Limits {
    size_t calls = 128;                   // calls of the peer without a written reply
    uint64_t queued_bytes = 16ull << 20;  // that wait to be sent on this connection
  };
  // queued: returns the bytes that wait to be sent on this connection. It is called often and must be cheap.
  MessageGate(kj::AsyncIoStream& stream, kj::Timer& timer, Limits limits, SharedQueue& shared,
              std::function<size_t()> queued);
  ~MessageGate() noexcept(false);

  // Returns the number of the peer's calls without a written reply.
  size_t calls() const { return calls_.size(); }
  // Returns the time at which the last whole message was read or written.
  kj::TimePoint last_message() const { return last_message_; }
  // The start and the size of the current write; 0 bytes: none.
  kj::TimePoint write_began() const { return write_began_; }
  uint64_t write_bytes() const { return write_bytes_; }
  // Updates the shared sum with this connection's queued bytes.
  void Count();

  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> tryReadMessage(kj::ArrayPtr<kj::AutoCloseFd> fds,
                                                                    capnp::ReaderOptions options,
                                                                    kj::ArrayPtr<capnp::word> scratch) override;
  kj::Promise<void> writeMessage(kj::ArrayPtr<const int> fds,
                                 kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) override;
  kj::Promise<void> writeMessages(kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) override;
  kj::Maybe<int> getSendBufferSize() override { return inner_.getSendBufferSize(); }
  kj::Promise<void> end() override { return inner_.end(); }

 private:
  bool Open();
  kj::Promise<void> WhenOpen();
  void Read(capnp::MessageReader& message);
  void Wrote();

  capnp::AsyncIoMessageStream inner_;
  kj::Timer& timer_;
  const Limits limits_;
  SharedQueue& shared_;
  const std::function<size_t()> queued_;
  uint64_t counted_ = 0;                // of this connection in shared_.bytes
  std::unordered_set<uint32_t> calls_;  // question ids; at most limits_.calls
  kj::TimePoint last_message_, write_began_;
  uint64_t write_bytes_ = 0;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<void>>> waiting_;  // a read that waits for the gate
};

}  // namespace mr::rpc
