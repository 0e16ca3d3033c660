// Connects to this daemon's own RPC port once per period and remembers whether a hello came back. This is what
// readiness means: a daemon whose port accepts nobody is not ready, whatever else works. Thread: a KJ loop.
#pragma once

#include <kj/async-io.h>

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr::rpc {

// Connects to "host:port" and waits for the reply to a hello. kUnavailable: why nobody answers there.
kj::Promise<Status> ProbePort(kj::AsyncIoContext& io, std::string address, Duration timeout);

class SelfCheck {
 public:
  static constexpr Duration kPeriod = Seconds(1);
  // A check that has no answer after so long has failed.
  static constexpr Duration kTimeout = Seconds(2);
  // The port counts as dead when no check worked for so long: two failed ones in a row on a busy machine are no news.
  static constexpr Duration kStale = Seconds(5);

  // address: what the port is bound to; a wildcard is reached by loopback. Begins at once.
  SelfCheck(kj::AsyncIoContext& io, const std::string& address, uint16_t port);

  // Empty: the port answers. Otherwise why it does not, for people. Cost: a comparison.
  std::string WhyNot() const;

 private:
  kj::Promise<void> Run();
  kj::Promise<void> Once();

  kj::AsyncIoContext& io_;
  kj::Timer& timer_;
  const std::string address_;
  const uint16_t port_;
  kj::Own<kj::NetworkAddress> to_;
  kj::TimePoint worked_;
  bool ever_ = false;
  std::string why_ = "not tried yet";
  kj::Promise<void> running_;
};

}  // namespace mr::rpc
