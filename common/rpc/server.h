// Serves Cap'n Proto to the peers of one port: hello first, then one two-party connection per peer, all within
// explicit limits of number, memory and time. Thread: a KJ loop.
#pragma once

#include <capnp/capability.h>
#include <kj/async-io.h>

#include <functional>
#include <memory>
#include <string>

#include "common/rpc/accept_loop.h"
#include "common/rpc/hello.h"

namespace mr::rpc {

struct ConnectionLimits {
  uint64_t traversal_words = 4ull << 20 >> 3;  // 4 MiB a message; data connections take 16 MiB
  int nesting = 32;
  size_t flow_words = 64ull << 20 >> 3;  // unanswered call words before reading stops
};
ConnectionLimits LimitsFor(Role role);

// What one port serves at most. The numbers of connections are separate for each kind of peer, so that no number of
// idle, silent or excess clients keeps a worker out.
struct ServerLimits {
  // Connections.
  size_t greeting = 256;   // without a hello; at the limit a new one replaces the oldest
  size_t clients = 2048;   // at the limit a new one replaces the one that was idle longest (at least kEvictIdle)...
  size_t data = 2048;      // ... and is refused (kOverloaded) where there is none
  size_t workers = 20480;  // control and heartbeats: 10,000 workers, two each
  // A client or data connection without a message for so long is closed, unless a service holds it (PeerInfo::hold).
  Duration idle = Seconds(3600);
  // A peer that must take n bytes is closed when it has not taken them after send_grace + n / send_rate. The rate is a
  // guess: far below any network on which jobs make sense.
  Duration send_grace = Seconds(30);
  uint64_t send_rate = 64 << 10;  // bytes per second
  // Memory. Reading of further calls stops at the first two; the last closes the connection.
  size_t calls = 128;                         // unanswered calls of one client or worker
  size_t data_calls = 32;                     // unanswered calls of one data connection, of about 1 MiB each
  uint64_t queued_bytes = 16ull << 20;        // replies that wait for one peer
  uint64_t most_queued_bytes = 256ull << 20;  // what waits for one peer, also what is pushed without a call
  uint64_t all_queued_bytes = 512ull << 20;   // over all connections; above it, one unanswered call per peer

  // The numbers of connections that fit into this many open files. Half of the files, at most 1,024, stay free for
  // the journal, the stores, children and outgoing connections; an eighth of the rest is for HTTP.
  static ServerLimits ForDescriptors(uint64_t descriptors);
  // The same budget's number of HTTP connections.
  static size_t HttpConnections(uint64_t descriptors);
};

struct PeerInfo {
  std::string address;
  // A service that keeps something for its peer without messages (a registration, a watch) locks this and keeps it:
  // the connection is not idle meanwhile.
  std::weak_ptr<void> hold;
};

// What the server does with an accepted peer: its bootstrap capability, or why it is refused.
// Destroying what the bootstrap holds is how the server learns that the connection ended (a capability server's
// destructor).
using BootstrapFactory = std::function<Result<capnp::Capability::Client>(const Hello& hello, const PeerInfo& peer)>;
// Told of a peer that speaks another protocol, on the loop, after each of them; it may log.
using OtherProtocol = std::function<void(const std::string& peer, const Status& why)>;

// Since the start, but for the first four.
struct ServerCounts {
  uint64_t greeting = 0, clients = 0, data = 0, workers = 0;  // open now
  uint64_t queued_bytes = 0;                                  // that wait to be sent now
  uint64_t accept_failures = 0;
  uint64_t silent = 0;   // closed: no hello in time, or replaced by newer ones
  uint64_t idle = 0;     // closed: no message for too long, or replaced by newer ones
  uint64_t slow = 0;     // closed: took too little of what was sent
  uint64_t refused = 0;  // refused: too many of their kind
};

class RpcServer {
 public:
  // A connection that was idle for less gives no place to a newer one.
  static constexpr Duration kEvictIdle = Seconds(10);

  // own: role, cluster id and incarnation that the reply says. log: lines for people.
  RpcServer(kj::AsyncIoContext& io, Hello own, BootstrapFactory factory, ServerLimits limits = {},
            OtherProtocol other_protocol = nullptr, LogLine log = nullptr);
  ~RpcServer();

  // Binds and starts to accept; port 0 = any. The port in use, or kUnavailable naming it.
  kj::Promise<Result<uint16_t>> Listen(const std::string& address, uint16_t port);

  size_t connections() const;
  ServerCounts counts() const;

 private:
  struct Impl;
  kj::Own<Impl> impl_;
};

}  // namespace mr::rpc
