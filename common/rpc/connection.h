// The calling end of a connection: connect, hello, credential, two-party Cap'n Proto. Thread: a KJ loop.
#pragma once

#include <capnp/capability.h>
#include <kj/async-io.h>

#include <memory>
#include <string>
#include <utility>

#include "common/rpc/credentials.h"
#include "common/rpc/hello.h"

namespace mr::rpc {

class RpcConnection : public kj::Refcounted {
 public:
  // Connects to "host:port" or "unix:/path" within `timeout`, and proves who this process is. credentials: null for
  // those of the process. Errors: kUnavailable (nobody there, closed, timed out, too many connections, another
  // protocol), kRejected (another cluster), kNotAllowed (refused, or the server does not prove itself; says what to
  // do), kInvalidArgument (not an address).
  static kj::Promise<Result<kj::Own<RpcConnection>>> Connect(kj::AsyncIoContext& io, const std::string& address,
                                                             Hello own, Duration timeout = Seconds(5),
                                                             std::shared_ptr<const Credentials> credentials = nullptr);
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
  // Returns whether the server lets in anybody (--insecure), by its own word.
  bool insecure() const { return (peer_.flags & kHelloInsecure) != 0; }
  kj::Own<RpcConnection> AddRef() { return kj::addRef(*this); }

 private:
  capnp::Capability::Client BootstrapAny();
  struct Impl;
  kj::Own<Impl> impl_;
  Hello peer_;
};

// Splits "host:port" or "[::1]:7070". Errors: kInvalidArgument, also for a text without a port.
Result<std::pair<std::string, uint16_t>> ParseHostPort(const std::string& text);
// Returns the path of "unix:/path", or "" for another kind of address. Errors: kInvalidArgument: no absolute path, or
// longer than the 107 bytes of a socket's address.
Result<std::string> ParseUnixPath(const std::string& text);
// Returns whether Connect() understands the address: those of the two above, for HOST:PORT and unix:PATH.
Status CheckAddress(const std::string& text);

}  // namespace mr::rpc
