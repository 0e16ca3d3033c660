// Accepts connections for as long as it lives. An accept that fails (EMFILE, ENFILE, ENOBUFS, ENOMEM, a broken
// peer) is followed by a pause and another try; it never ends the loop. Thread: a KJ loop.
#pragma once

#include <kj/async-io.h>
#include <kj/timer.h>

#include <functional>
#include <string>

namespace mr::rpc {

// Receives one line for people when accepts begin to fail, and one when they work again.
using LogLine = std::function<void(const std::string& line)>;

class AcceptLoop final : private kj::TaskSet::ErrorHandler {
 public:
  // The pause after a failed accept: short against any timeout of a peer, long against the cost of a try.
  static constexpr kj::Duration kPause = 50 * kj::MILLISECONDS;

  // name: the port, for people ("RPC port 7070"). take: receives each connection and must not block.
  AcceptLoop(kj::Timer& timer, kj::Own<kj::ConnectionReceiver> receiver, std::string name,
             std::function<void(kj::Own<kj::AsyncIoStream>)> take, LogLine log = nullptr);

  // Returns the bound port.
  uint16_t port() const { return port_; }
  // Returns the number of accepts that failed since the start.
  uint64_t failures() const { return failures_; }

 private:
  kj::Promise<void> Accept();
  void Failed(const kj::Exception& e);
  void taskFailed(kj::Exception&& e) override;

  kj::Timer& timer_;
  kj::Own<kj::ConnectionReceiver> receiver_;
  const std::string name_;
  const std::function<void(kj::Own<kj::AsyncIoStream>)> take_;
  const LogLine log_;
  const uint16_t port_;
  uint64_t failures_ = 0;
  uint64_t episode_ = 0;  // failures since the last accept that worked
  kj::TaskSet tasks_;     // last: it uses the others
};

}  // namespace mr::rpc
