// Serves Cap'n Proto to the peers of one port: first hello, credential and verdict (common/adr/0016), then one
// two-party connection per peer, all within explicit limits of number, memory and time. No byte of a peer without an
// identity is decoded as a message. Thread: a KJ loop.
#pragma once

#include <capnp/capability.h>
#include <kj/async-io.h>

#include <functional>
#include <memory>
#include <string>

#include "common/model/identity.h"
#include "common/rpc/accept_loop.h"
#include "common/rpc/authenticator.h"
#include "common/rpc/hello.h"
#include "common/rpc/unix_socket.h"

namespace mr::rpc {

struct ConnectionLimits {
  uint64_t traversal_words = 4ull << 20 >> 3;  // 4 MiB per message; data connections take 16 MiB
  int nesting = 32;
  size_t flow_words = 64ull << 20 >> 3;  // words of unanswered calls before reading stops
};
ConnectionLimits LimitsFor(Role role);

// The limits of one port. Each kind of peer has its own number of connections, so that idle, silent or excess clients
// never keep a worker out.
struct ServerLimits {
  // Connections.
  size_t greeting = 256;   // without an identity; at the limit a new one replaces the oldest
  size_t clients = 2048;   // at the limit a new one replaces the one that was idle longest (at least kEvictIdle)...
  size_t data = 2048;      // ... and is refused (kOverloaded) where there is none
  size_t workers = 30720;  // control, heartbeats, certificates: 10,000 workers, three each
  // A client or data connection without a message for so long is closed, unless a service holds it (PeerInfo::hold).
  Duration idle = Seconds(3600);
  // A peer is closed when it has not taken n bytes after send_grace + n / send_rate. The rate is a guess: far below any
  // network on which jobs make sense.
  Duration send_grace = Seconds(30);
  uint64_t send_rate = 64 << 10;  // bytes per second
  // Memory. Reading of further calls stops at the first two; the last closes the connection.
  size_t calls = 128;                         // unanswered calls of one client or worker
  size_t data_calls = 32;                     // unanswered calls of one data connection, of about 1 MiB each
  uint64_t queued_bytes = 16ull << 20;        // replies that wait for one peer
  uint64_t most_queued_bytes = 256ull << 20;  // all that waits for one peer, also messages pushed without a call
  uint64_t all_queued_bytes = 512ull << 20;   // over all connections; above it, one unanswered call per peer

  // Returns the limits that fit into this many open files. Half of the files, at most 1,024, stay free for the journal,
  // the stores, children and outgoing connections; an eighth of the rest is for HTTP.
  static ServerLimits ForDescriptors(uint64_t descriptors);
  // Returns the number of HTTP connections in the same budget.
  static size_t HttpConnections(uint64_t descriptors);
};

struct PeerInfo {
  std::string address;  // numeric, with the port; "unix" for a unix socket
  Identity identity;    // as the connection proved it (common/adr/0016)
  Lease lease;          // of its credential
  // A service that serves its peer without messages (a registration, a watch) locks this and keeps it: the connection
  // is not idle meanwhile.
  std::weak_ptr<void> hold;
};

// Returns the bootstrap capability of an accepted peer, or the reason to refuse it. The capability is destroyed when
// the connection ends, so its server is notified by its destructor.
using BootstrapFactory = std::function<Result<capnp::Capability::Client>(const Hello& hello, const PeerInfo& peer)>;
// Called on the loop for each peer that speaks another protocol; it may log.
using OtherProtocol = std::function<void(const std::string& peer, const Status& why)>;

// Numbers of connections and bytes; since the start where not otherwise noted.
struct ServerCounts {
  uint64_t greeting = 0, clients = 0, data = 0, workers = 0;  // open now
  uint64_t queued_bytes = 0;                                  // wait to be sent now
  uint64_t accept_failures = 0;
  uint64_t silent = 0;       // closed: no hello or no credential in time, or replaced by newer ones
  uint64_t idle = 0;         // closed: no message for too long, or replaced by newer ones
  uint64_t slow = 0;         // closed: the peer took the bytes too slowly
  uint64_t refused = 0;      // refused: too many of their kind
  uint64_t revoked = 0;      // closed: their credential was revoked or has expired
  uint64_t not_allowed = 0;  // refused: their credential proves no identity
  uint64_t identities = 0;   // peers that proved one, without probes
  uint64_t systems = 0;      // RpcSystems made: never more than identities
};

class RpcServer {
 public:
  // A connection that was idle for less is not replaced by a newer one.
  static constexpr Duration kEvictIdle = Seconds(10);

  // A refused credential is logged at most once per so long; the next line counts the others.
  static constexpr Duration kRefusalLog = Seconds(1);
  // A server that lets in anybody logs so at its start, and then once per so long.
  static constexpr Duration kInsecureLog = Seconds(3600);

  // own: role, cluster id and incarnation for the reply. authenticator: decides who may connect, and where this server
  // may listen. log: receives lines for people.
  RpcServer(kj::AsyncIoContext& io, Hello own, BootstrapFactory factory, std::shared_ptr<Authenticator> authenticator,
            ServerLimits limits = {}, OtherProtocol other_protocol = nullptr, LogLine log = nullptr);
  ~RpcServer();

  // Binds and starts to accept; port 0 = any. Returns the port in use. Errors: kRejected (the address is taken or not
  // this machine's), those of Authenticator::Listening.
  kj::Promise<Result<uint16_t>> Listen(const std::string& address, uint16_t port);
  // Accepts on a unix socket, too, from now on. Errors: those of Authenticator::Listening.
  Status ListenOn(UnixSocket socket);

  size_t connections() const;
  ServerCounts counts() const;

 private:
  struct Impl;
  kj::Own<Impl> impl_;
};

}  // namespace mr::rpc
