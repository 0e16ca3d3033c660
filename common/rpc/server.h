// Accept loop of a daemon: hello first, then one two-party Cap'n Proto connection per peer, with
// explicit limits. Lives on a KJ loop.
#pragma once

#include <capnp/capability.h>
#include <kj/async-io.h>

#include <functional>
#include <memory>
#include <string>

#include "common/rpc/hello.h"

namespace mr::rpc {

struct ConnectionLimits {
  uint64_t traversal_words = 4ull << 20 >> 3;  // 4 MiB a message; data connections take 16 MiB
  int nesting = 32;
  size_t flow_words = 64ull << 20 >> 3;  // unanswered call words before reading stops
};
ConnectionLimits LimitsFor(Role role);

// What the server does with an accepted peer: its bootstrap capability, or why it is refused.
// `peer` is its address as text. Destroying what the bootstrap holds is how the server learns that
// the connection ended (a capability server's destructor).
using BootstrapFactory = std::function<Result<capnp::Capability::Client>(const Hello& hello, const std::string& peer)>;
// Told of a peer that speaks another protocol, on the loop, after each of them; it may log.
using OtherProtocol = std::function<void(const std::string& peer, const Status& why)>;

class RpcServer {
 public:
  // own: role, cluster id and incarnation that the reply says. max_connections: further ones are
  // closed at once.
  RpcServer(kj::AsyncIoContext& io, Hello own, BootstrapFactory factory, size_t max_connections = 4096,
            OtherProtocol other_protocol = nullptr);
  ~RpcServer();

  // Binds and starts to accept; port 0 = any. The port in use, or kUnavailable naming it.
  kj::Promise<Result<uint16_t>> Listen(const std::string& address, uint16_t port);

  size_t connections() const;

 private:
  struct Impl;
  kj::Own<Impl> impl_;
};

}  // namespace mr::rpc
