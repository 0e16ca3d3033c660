// Connects to this daemon's own RPC port once per period and records whether it lets this process in. This decides
// readiness: a daemon with a port that accepts nobody, or with a lost secret, is not ready, whatever else works.
// Thread: a KJ loop.
#pragma once

#include <kj/async-io.h>

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr::rpc {

// Connects to "host:port" and waits for the verdict on this process. Errors: those of RpcConnection::Connect.
kj::Promise<Status> ProbePort(kj::AsyncIoContext& io, const std::string& address, Duration timeout);

class SelfCheck {
 public:
  static constexpr Duration kPeriod = Seconds(1);
  // A check without an answer after so long has failed.
  static constexpr Duration kTimeout = Seconds(2);
  // The port counts as dead when no check succeeded for so long. On a busy machine two may fail in a row.
  static constexpr Duration kStale = Seconds(5);

  // Begins to check at once. address: the port's bind address; a wildcard is reached by loopback.
  SelfCheck(kj::AsyncIoContext& io, const std::string& address, uint16_t port);

  // Returns "" where the port answers, else why it does not, for people. Cost: a comparison.
  std::string WhyNot() const;

 private:
  kj::Promise<void> Run();
  kj::Promise<Status> Once();

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
