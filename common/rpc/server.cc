#include "common/rpc/server.h"

#include <capnp/rpc-twoparty.h>
#include <kj/debug.h>
#include <sys/socket.h>

#include <algorithm>
#include <list>
#include <vector>

#include "common/base/check.h"
#include "common/rpc/batched_stream.h"
#include "common/rpc/handshake.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/listen_error.h"
#include "common/rpc/message_gate.h"

namespace mr::rpc {

ConnectionLimits LimitsFor(Role role) {
  ConnectionLimits limits;
  if (role == Role::kData || role == Role::kDataServer) limits.traversal_words = 16ull << 20 >> 3;
  return limits;
}

namespace {

// A worker connection without a registration or heartbeats is closed after so long. Longer than the 120 s for which a
// worker goes on without its master, so that no usable session is cut.
constexpr Duration kSilentWorker = Seconds(150);
constexpr Duration kSweep = Seconds(1);

struct Peer {
  kj::Own<kj::AsyncIoStream> stream;
  MessageGate gate;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> system;

  Peer(kj::Own<kj::AsyncIoStream> s, kj::Timer& timer, capnp::Capability::Client bootstrap,
       capnp::ReaderOptions options, size_t flow_words, MessageGate::Limits limits, SharedQueue& shared)
      : stream(kj::mv(s)),
        gate(*stream, timer, limits, shared, [this] { return network.getCurrentQueueSize(); }),
        network(gate, capnp::rpc::twoparty::Side::SERVER, options),
        system(capnp::makeRpcServer(network, kj::mv(bootstrap))) {
    system.setFlowLimit(flow_words);
  }
};

enum Kind { kGreeting, kClients, kData, kWorkers, kClosing, kKinds };

Kind KindOf(Role role) {
  switch (role) {
    case Role::kWorker:
    case Role::kHeartbeat:
    case Role::kJoin: return kWorkers;
    case Role::kData: return kData;
    default: return kClients;
  }
}

struct Connection {
  Kind kind = kGreeting;
  kj::Own<kj::PromiseFulfiller<void>> end;
  Peer* peer = nullptr;  // null without an identity
  Lease lease;           // of the credential
  std::shared_ptr<void> hold = std::make_shared<int>();
};
using Connections = std::list<Connection>;

// A peer on its way to a verdict.
struct Arrival {
  kj::Own<kj::AsyncIoStream> stream;
  SocketFacts facts;
  Hello hello;
  Identity identity;                               // with a subject once it is proved
  kj::Maybe<capnp::Capability::Client> bootstrap;  // with an identity only
};

}  // namespace

ServerLimits ServerLimits::ForDescriptors(uint64_t descriptors) {
  ServerLimits limits;
  const uint64_t connections = descriptors - std::min<uint64_t>(descriptors / 2, 1024);
  limits.greeting = std::clamp<uint64_t>(connections / 8, 1, limits.greeting);
  const uint64_t greeting = std::min<uint64_t>(limits.greeting, connections / 8);
  const uint64_t rest = std::max<uint64_t>(connections - connections / 8 - greeting, 3);
  // A port serves either data, or clients and workers.
  limits.data = std::min<uint64_t>(rest, limits.data);
  limits.clients = std::min<uint64_t>(rest / 3, limits.clients);
  limits.workers = std::min<uint64_t>(rest - limits.clients, limits.workers);
  return limits;
}

size_t ServerLimits::HttpConnections(uint64_t descriptors) {
  return std::clamp<uint64_t>((descriptors - std::min<uint64_t>(descriptors / 2, 1024)) / 8, 1,
                              2048);  // pages keep one open each
}

struct RpcServer::Impl final : kj::TaskSet::ErrorHandler {
  kj::AsyncIoContext& io;
  kj::Timer& timer;
  Hello own;
  BootstrapFactory factory;
  const std::shared_ptr<Authenticator> authenticator;
  const ServerLimits limits;
  OtherProtocol other_protocol;
  LogLine log;
  Connections open[kKinds];  // by kind, oldest first
  SharedQueue shared;
  ServerCounts counts;
  kj::Maybe<kj::TimePoint> logged_refusal;  // when the last refusal was logged
  uint64_t unlogged_refusals = 0;
  std::vector<UnixSocket> sockets;
  kj::Vector<kj::Own<AcceptLoop>> accepting;
  kj::TaskSet tasks;

  Impl(kj::AsyncIoContext& i, Hello o, BootstrapFactory f, std::shared_ptr<Authenticator> a, ServerLimits l,
       OtherProtocol other, LogLine lines)
      : io(i),
        timer(i.provider->getTimer()),
        own(o),
        factory(std::move(f)),
        authenticator(std::move(a)),
        limits(l),
        other_protocol(std::move(other)),
        log(std::move(lines)),
        tasks(*this) {
    shared.limit = limits.all_queued_bytes;
    if (authenticator->insecure()) {
      own.flags |= kHelloInsecure;
      tasks.add(WarnForEver());
    }
    tasks.add(SweepForEver());
  }

  void taskFailed(kj::Exception&&) override {}  // a peer's end is expected; the factory's objects are notified

  // Ends the connection's promise at the next turn of the loop, and with it all that the connection owns.
  void Close(Connections::iterator c) {
    if (c->kind == kClosing) return;
    Move(c, kClosing);
    c->end->fulfill();
  }

  void Move(Connections::iterator c, Kind to) {
    open[to].splice(open[to].end(), open[c->kind], c);
    c->kind = to;
  }

  void Take(kj::Own<kj::AsyncIoStream> stream) {
    if (open[kGreeting].size() >= limits.greeting) {
      ++counts.silent;
      Close(open[kGreeting].begin());
    }
    // A peer on a dead machine never sends anything again. The kernel's keep-alive finds that.
    const int on = 1;
    kj::runCatchingExceptions([&] { stream->setsockopt(SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on); });
    auto paf = kj::newPromiseAndFulfiller<void>();
    const auto c = open[kGreeting].emplace(open[kGreeting].end());
    c->end = kj::mv(paf.fulfiller);
    auto served = kj::evalNow([&] { return Serve(kj::mv(stream), c); });
    tasks.add(served.exclusiveJoin(kj::mv(paf.promise)).attach(kj::defer([this, c] { open[c->kind].erase(c); })));
  }

  kj::Promise<void> Reply(kj::AsyncIoStream& stream, Code refused, uint32_t flags = 0) {
    Hello reply = own;
    reply.flags |= flags;
    reply.refused = static_cast<uint32_t>(refused);
    return WriteHello(stream, reply);
  }

  bool Idle(const Connection& c, Duration least) const {
    if (c.peer == nullptr || c.hold.use_count() > 1) return false;
    const MessageGate& gate = c.peer->gate;
    return gate.calls() == 0 && gate.write_bytes() == 0 && timer.now() - gate.last_message() >= ToKj(least);
  }

  // Returns whether one more connection of this kind may be served. At the limit it closes the longest idle one.
  bool Room(Kind kind) {
    const size_t most = kind == kWorkers ? limits.workers : kind == kData ? limits.data : limits.clients;
    if (open[kind].size() < most) return true;
    auto longest = open[kind].end();
    for (auto c = open[kind].begin(); c != open[kind].end(); ++c) {
      if (!Idle(*c, kEvictIdle)) continue;
      if (longest == open[kind].end() || c->peer->gate.last_message() < longest->peer->gate.last_message()) longest = c;
    }
    if (longest == open[kind].end()) return false;
    ++counts.idle;
    Close(longest);
    return true;
  }

  kj::Promise<void> Serve(kj::Own<kj::AsyncIoStream> stream, Connections::iterator c) {
    auto owned = kj::heap<Arrival>();
    Arrival& arrival = *owned;
    arrival.facts = FactsOfPeer(*stream);
    arrival.stream = kj::mv(stream);
    return timer.timeoutAfter(ToKj(kHelloTimeout), Meet(arrival, c))
        .then([this, c, &arrival]() -> kj::Promise<void> {
          KJ_IF_MAYBE (bootstrap, arrival.bootstrap) {
            return Speak(arrival, kj::mv(*bootstrap), c);
          }
          return kj::READY_NOW;
        })
        .attach(kj::mv(owned))
        .catch_([this, c](kj::Exception&& e) {
          if (c->kind == kGreeting && e.getType() == kj::Exception::Type::OVERLOADED) ++counts.silent;
        });
  }

  // Reads the hello, and what it chooses.
  kj::Promise<void> Meet(Arrival& arrival, Connections::iterator c) {
    return ReadHello(*arrival.stream).then([this, &arrival, c](const Result<Hello>& hello) -> kj::Promise<void> {
      if (!hello.ok()) {
        // Another release gets a reply with our protocol version; other programs get nothing.
        if (hello.status().code() != Code::kUnavailable) return kj::READY_NOW;
        if (other_protocol != nullptr) other_protocol(arrival.facts.address, hello.status());
        return Reply(*arrival.stream, Code::kUnavailable);
      }
      arrival.hello = *hello;
      if (hello->cluster_id != 0 && own.cluster_id != 0 && hello->cluster_id != own.cluster_id) {
        return Reply(*arrival.stream, Code::kRejected);
      }
      if (const Status fits = authenticator->CheckHello(*hello, arrival.facts); !fits.ok()) {
        return Reply(*arrival.stream, fits.code());
      }
      const bool encrypts = authenticator->Encrypts(*hello, arrival.facts);
      return Reply(*arrival.stream, Code::kOk, encrypts ? uint32_t{kHelloTls} : 0)
          .then([this, &arrival, encrypts] { return encrypts ? Encrypt(arrival) : kj::Promise<bool>(true); })
          .then([&arrival](bool go_on) -> kj::Promise<Result<Credential>> {
            if (!go_on) return Result<Credential>(Status(Code::kNotAllowed, "no TLS"));
            return ReadCredential(*arrival.stream);
          })
          .then([this, &arrival, c](const Result<Credential>& credential) -> kj::Promise<void> {
            if (!credential.ok()) return kj::READY_NOW;  // no client of this protocol
            return WriteEntryVerdict(*arrival.stream, Decide(arrival, *credential, c));
          });
    });
  }

  // Returns whether the peer goes on: its TLS handshake has succeeded.
  kj::Promise<bool> Encrypt(Arrival& arrival) {
    return authenticator->Encrypt(kj::mv(arrival.stream), arrival.hello)
        .then([this, &arrival](Result<Encrypted> encrypted) {
          if (!encrypted.ok()) {
            ++counts.not_allowed;
            LogRefusal(arrival.facts, encrypted.status());
            return false;
          }
          arrival.stream = kj::mv(encrypted->stream);
          arrival.facts.certificate = std::move(encrypted->certificate);
          return true;
        });
  }

  // Decides on a peer. With kOk it has an identity and, unless it is a probe, a bootstrap capability.
  EntryVerdict Decide(Arrival& arrival, const Credential& credential, Connections::iterator c) {
    auto admitted = authenticator->Authenticate(arrival.hello, credential, arrival.facts);
    if (!admitted.ok()) {
      ++counts.not_allowed;
      LogRefusal(arrival.facts, admitted.status());
      return {admitted.status().code(), {}, admitted.status().message()};
    }
    MR_CHECK(!admitted->identity.subject.empty());
    if (arrival.hello.role == Role::kProbe) return {Code::kOk, std::move(admitted->proof), ""};
    // Not before: a peer without an identity must not close connections of others.
    const Kind kind = KindOf(arrival.hello.role);
    if (!Room(kind)) {
      ++counts.refused;
      return {Code::kOverloaded, {}, "it has as many connections as it serves"};
    }
    auto bootstrap =
        factory(arrival.hello, PeerInfo{arrival.facts.address, admitted->identity, admitted->lease, c->hold});
    if (!bootstrap.ok()) return {bootstrap.status().code(), {}, bootstrap.status().message()};
    ++counts.identities;
    arrival.identity = std::move(admitted->identity);
    c->lease = std::move(admitted->lease);
    arrival.bootstrap = *std::move(bootstrap);
    Move(c, kind);
    return {Code::kOk, std::move(admitted->proof), ""};
  }

  kj::Promise<void> Speak(Arrival& arrival, capnp::Capability::Client bootstrap, Connections::iterator c) {
    MR_CHECK(!arrival.identity.subject.empty());
    const Role role = arrival.hello.role;
    const auto message = LimitsFor(role);
    capnp::ReaderOptions options;
    options.traversalLimitInWords = message.traversal_words;
    options.nestingLimit = message.nesting;
    const MessageGate::Limits gate{role == Role::kData ? limits.data_calls : limits.calls, limits.queued_bytes};
    auto peer = kj::heap<Peer>(ForMessagesOf(role, kj::mv(arrival.stream)), timer, kj::mv(bootstrap), options,
                               message.flow_words, gate, shared);
    ++counts.systems;
    c->peer = peer;
    auto gone = peer->network.onDisconnect();
    return gone.attach(kj::mv(peer)).attach(kj::defer([c] { c->peer = nullptr; }));
  }

  void LogRefusal(const SocketFacts& peer, const Status& why) {
    if (!log) return;
    KJ_IF_MAYBE (last, logged_refusal) {
      if (timer.now() - *last < ToKj(kRefusalLog)) {
        ++unlogged_refusals;
        return;
      }
    }
    const std::string more = unlogged_refusals == 0
                                 ? ""
                                 : " (and " + std::to_string(unlogged_refusals) + " others since the last such line)";
    const std::string uid = peer.uid.has_value() ? " of " + UserName(*peer.uid) : "";
    log(peer.address + uid + " may not connect: " + why.message() + more);
    logged_refusal = timer.now();
    unlogged_refusals = 0;
  }

  bool Slow(Peer& peer) const {
    if (peer.network.getCurrentQueueSize() > limits.most_queued_bytes) return true;
    const uint64_t bytes = peer.gate.write_bytes();
    if (bytes == 0) return false;
    const double wanted = static_cast<double>(bytes) / static_cast<double>(limits.send_rate);
    const Duration most = limits.send_grace + FromSeconds(wanted);
    return timer.now() - peer.gate.write_began() > ToKj(most);
  }

  void Sweep() {
    for (const Kind kind : {kClients, kData, kWorkers}) {
      const Duration idle = kind == kWorkers ? kSilentWorker : limits.idle;
      for (auto c = open[kind].begin(); c != open[kind].end();) {
        const auto at = c++;
        if (at->peer == nullptr) continue;
        at->peer->gate.Count();
        if (!authenticator->StillGood(at->lease)) {
          ++counts.revoked;
          Close(at);
          continue;
        }
        if (Slow(*at->peer)) {
          ++counts.slow;
          if (log)
            log(FactsOfPeer(*at->peer->stream).address + " is disconnected: it does not read what is sent to it");
          Close(at);
        } else if (Idle(*at, idle)) {
          ++counts.idle;
          Close(at);
        }
      }
    }
  }

  uint16_t Accept(kj::Own<kj::ConnectionReceiver> receiver, const std::string& name) {
    const auto take = [this](kj::Own<kj::AsyncIoStream> stream) { Take(kj::mv(stream)); };
    accepting.add(kj::heap<AcceptLoop>(timer, kj::mv(receiver), name, take, log));
    return accepting.back()->port();
  }

  kj::Promise<void> WarnForEver() {
    if (log) log("started with --insecure: whoever reaches its ports can run commands and read and change all data");
    return timer.afterDelay(ToKj(kInsecureLog)).then([this] { return WarnForEver(); });
  }

  kj::Promise<void> SweepForEver() {
    return timer.afterDelay(ToKj(kSweep)).then([this] {
      Sweep();
      return SweepForEver();
    });
  }
};

RpcServer::RpcServer(kj::AsyncIoContext& io, Hello own, BootstrapFactory factory,
                     std::shared_ptr<Authenticator> authenticator, ServerLimits limits, OtherProtocol other_protocol,
                     LogLine log)
    : impl_(kj::heap<Impl>(io, own, std::move(factory), std::move(authenticator), limits, std::move(other_protocol),
                           std::move(log))) {}
RpcServer::~RpcServer() = default;

size_t RpcServer::connections() const {
  size_t all = 0;
  for (const auto& kind : impl_->open) all += kind.size();
  return all;
}

ServerCounts RpcServer::counts() const {
  ServerCounts counts = impl_->counts;
  counts.greeting = impl_->open[kGreeting].size();
  counts.clients = impl_->open[kClients].size();
  counts.data = impl_->open[kData].size();
  counts.workers = impl_->open[kWorkers].size();
  counts.queued_bytes = impl_->shared.bytes;
  for (const auto& loop : impl_->accepting) counts.accept_failures += loop->failures();
  return counts;
}

kj::Promise<Result<uint16_t>> RpcServer::Listen(const std::string& address, uint16_t port) {
  auto& impl = *impl_;
  const std::string where = address + ":" + std::to_string(port);
  return impl.io.provider->getNetwork()
      .parseAddress(address.c_str(), port)
      .then([&impl](kj::Own<kj::NetworkAddress> parsed) -> Result<uint16_t> {
        auto receiver = parsed->listen();
        sockaddr_storage bound{};
        uint size = sizeof bound;
        receiver->getsockname(reinterpret_cast<sockaddr*>(&bound), &size);
        // The port is this daemon's from here on, and nobody is accepted before its secret is written.
        MR_RETURN_IF_ERROR(impl.authenticator->Listening(AddressText(bound), IsLoopback(bound)));
        const std::string name = "RPC port " + std::to_string(receiver->getPort());
        return impl.Accept(kj::mv(receiver), name);
      })
      .catch_([where](kj::Exception&& e) -> Result<uint16_t> {
        return CannotListen("cannot listen on " + where, "--port", e);
      });
}

Status RpcServer::ListenOn(UnixSocket socket) {
  auto& impl = *impl_;
  MR_RETURN_IF_ERROR(impl.authenticator->Listening("unix", true));
  auto receiver = impl.io.lowLevelProvider->wrapListenSocketFd(socket.TakeDescriptor(),
                                                               kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP |
                                                                   kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC |
                                                                   kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK);
  (void)impl.Accept(kj::mv(receiver), "unix socket " + socket.path());
  impl.sockets.push_back(std::move(socket));
  return Status::Ok();
}

}  // namespace mr::rpc
