// The calling end of a connection: connect, hello, two-party Cap'n Proto. Lives on a KJ loop.
#pragma once

#include <capnp/capability.h>
#include <kj/async-io.h>

#include <string>

#include "common/rpc/hello.h"

namespace mr::rpc {

class RpcConnection : public kj::Refcounted {
 public:
  // Connects to "host:port" within `timeout` and exchanges hellos. Failures: kUnavailable (nobody
  // there, closed, another protocol), kRejected (another cluster), kDeadline (in time: the same
  // text with "timed out").
  static kj::Promise<Result<kj::Own<RpcConnection>>> Connect(kj::AsyncIoContext& io, std::string address, Hello own,
                                                             Duration timeout = Seconds(5));
  RpcConnection(kj::Own<kj::AsyncIoStream> stream, Hello peer, Role role);
  ~RpcConnection();

  // The peer's bootstrap capability as T.
  template <class T>
  typename T::Client Bootstrap() {
    return BootstrapAny().template castAs<T>();
  }
  // Done when the connection has ended, however it ended.
  kj::Promise<void> OnDisconnect();
  const Hello& peer() const { return peer_; }
  kj::Own<RpcConnection> AddRef() { return kj::addRef(*this); }

 private:
  capnp::Capability::Client BootstrapAny();
  struct Impl;
  kj::Own<Impl> impl_;
  Hello peer_;
};

// Splits "host:port" ("[::1]:7070" too); port must be there. kInvalidArgument otherwise.
Result<std::pair<std::string, uint16_t>> ParseHostPort(const std::string& text);

}  // namespace mr::rpc
