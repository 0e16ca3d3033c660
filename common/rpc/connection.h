// The calling end of a connection: connect, hello, two-party Cap'n Proto. Thread: a KJ loop.
#pragma once

#include <capnp/capability.h>
#include <kj/async-io.h>

#include <string>

#include "common/rpc/hello.h"

namespace mr::rpc {

class RpcConnection : public kj::Refcounted {
 public:
  // Connects to "host:port" within `timeout` and exchanges hellos. Errors: kUnavailable (nobody there,
  // closed, timed out, too many connections, another protocol), kRejected (another cluster),
  // kInvalidArgument (not an address).
  static kj::Promise<Result<kj::Own<RpcConnection>>> Connect(kj::AsyncIoContext& io, const std::string& address,
                                                             Hello own, Duration timeout = Seconds(5));
  RpcConnection(kj::Own<kj::AsyncIoStream> stream, Hello peer, Role role);
  ~RpcConnection();

  // Returns the peer's bootstrap capability as T.
  template <class T>
  typename T::Client Bootstrap() {
    return BootstrapAny().template castAs<T>();
  }
  // Returns a promise that resolves when the connection has ended for any reason.
  kj::Promise<void> OnDisconnect();
  const Hello& peer() const { return peer_; }
  kj::Own<RpcConnection> AddRef() { return kj::addRef(*this); }

 private:
  capnp::Capability::Client BootstrapAny();
  struct Impl;
  kj::Own<Impl> impl_;
  Hello peer_;
};

// Splits "host:port" or "[::1]:7070". Errors: kInvalidArgument, also for a text without a port.
Result<std::pair<std::string, uint16_t>> ParseHostPort(const std::string& text);

}  // namespace mr::rpc
