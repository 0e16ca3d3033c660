#include "common/rpc/server.h"

#include <arpa/inet.h>
#include <capnp/rpc-twoparty.h>
#include <kj/debug.h>
#include <sys/socket.h>

#include <algorithm>
#include <list>

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

std::string PeerName(kj::AsyncIoStream& stream) {
  sockaddr_storage address{};
  uint length = sizeof address;
  if (kj::runCatchingExceptions([&] { stream.getpeername(reinterpret_cast<sockaddr*>(&address), &length); }) !=
      nullptr) {
    return "unknown";
  }
  char text[INET6_ADDRSTRLEN] = "";
  uint16_t port = 0;
  if (address.ss_family == AF_INET) {
    auto* in = reinterpret_cast<sockaddr_in*>(&address);
    inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
    port = ntohs(in->sin_port);
  } else if (address.ss_family == AF_INET6) {
    auto* in = reinterpret_cast<sockaddr_in6*>(&address);
    inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof text);
    port = ntohs(in->sin6_port);
  }
  return std::string(text) + ":" + std::to_string(port);
}

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
    case Role::kHeartbeat: return kWorkers;
    case Role::kData: return kData;
    default: return kClients;
  }
}

struct Connection {
  Kind kind = kGreeting;
  kj::Own<kj::PromiseFulfiller<void>> end;
  Peer* peer = nullptr;  // null without a hello
  std::shared_ptr<void> hold = std::make_shared<int>();
};
using Connections = std::list<Connection>;

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
  const ServerLimits limits;
  OtherProtocol other_protocol;
  LogLine log;
  Connections open[kKinds];  // by kind, oldest first
  SharedQueue shared;
  ServerCounts counts;
  kj::Vector<kj::Own<AcceptLoop>> accepting;
  kj::TaskSet tasks;

  Impl(kj::AsyncIoContext& i, Hello o, BootstrapFactory f, ServerLimits l, OtherProtocol other, LogLine lines)
      : io(i),
        timer(i.provider->getTimer()),
        own(o),
        factory(std::move(f)),
        limits(l),
        other_protocol(std::move(other)),
        log(std::move(lines)),
        tasks(*this) {
    shared.limit = limits.all_queued_bytes;
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

  kj::Promise<void> Reply(kj::AsyncIoStream& stream, Code refused) {
    Hello reply = own;
    reply.refused = static_cast<uint32_t>(refused);
    auto bytes = kj::heap(EncodeHello(reply));
    auto promise = stream.write(bytes->data(), bytes->size());
    return promise.attach(kj::mv(bytes));
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
    auto buffer = kj::heap<std::array<uint8_t, kHelloBytes>>();
    auto& stream_ref = *stream;
    auto read = stream_ref.read(buffer->data(), buffer->size());
    return timer.timeoutAfter(ToKj(kHelloTimeout), kj::mv(read))
        .then([this, c, stream = kj::mv(stream), buffer = kj::mv(buffer)]() mutable -> kj::Promise<void> {
          const auto hello = DecodeHello(*buffer);
          if (!hello.ok()) {
            // Another release gets a reply with our protocol version; other programs get nothing.
            if (hello.status().code() != Code::kUnavailable) return kj::READY_NOW;
            if (other_protocol != nullptr) other_protocol(PeerName(*stream), hello.status());
            return Reply(*stream, Code::kUnavailable).attach(kj::mv(stream));
          }
          if (hello->cluster_id != 0 && own.cluster_id != 0 && hello->cluster_id != own.cluster_id) {
            return Reply(*stream, Code::kRejected).attach(kj::mv(stream));
          }
          if (hello->role == Role::kProbe) return Reply(*stream, Code::kOk).attach(kj::mv(stream));
          const Kind kind = KindOf(hello->role);
          if (!Room(kind)) {
            ++counts.refused;
            return Reply(*stream, Code::kOverloaded).attach(kj::mv(stream));
          }
          const Identity anybody{"anonymous", kAllPeople | kWorker, Proof::kNone};
          auto bootstrap = factory(*hello, PeerInfo{PeerName(*stream), anybody, c->hold});
          if (!bootstrap.ok()) {
            return Reply(*stream, bootstrap.status().code()).attach(kj::mv(stream));
          }
          Move(c, kind);
          return Reply(*stream, Code::kOk)
              .then([this, c, role = hello->role, stream = kj::mv(stream),
                     bootstrap = *std::move(bootstrap)]() mutable {
                const auto message = LimitsFor(role);
                capnp::ReaderOptions options;
                options.traversalLimitInWords = message.traversal_words;
                options.nestingLimit = message.nesting;
                const MessageGate::Limits gate{role == Role::kData ? limits.data_calls : limits.calls,
                                               limits.queued_bytes};
                auto peer =
                    kj::heap<Peer>(kj::mv(stream), timer, kj::mv(bootstrap), options, message.flow_words, gate, shared);
                c->peer = peer;
                auto gone = peer->network.onDisconnect();
                return gone.attach(kj::mv(peer)).attach(kj::defer([c] { c->peer = nullptr; }));
              });
        })
        .catch_([this, c](kj::Exception&& e) {
          if (c->kind == kGreeting && e.getType() == kj::Exception::Type::OVERLOADED) ++counts.silent;
        });
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
        if (Slow(*at->peer)) {
          ++counts.slow;
          if (log) log(PeerName(*at->peer->stream) + " is disconnected: it does not read what is sent to it");
          Close(at);
        } else if (Idle(*at, idle)) {
          ++counts.idle;
          Close(at);
        }
      }
    }
  }

  kj::Promise<void> SweepForEver() {
    return timer.afterDelay(ToKj(kSweep)).then([this] {
      Sweep();
      return SweepForEver();
    });
  }
};

RpcServer::RpcServer(kj::AsyncIoContext& io, Hello own, BootstrapFactory factory, ServerLimits limits,
                     OtherProtocol other_protocol, LogLine log)
    : impl_(kj::heap<Impl>(io, own, std::move(factory), limits, std::move(other_protocol), std::move(log))) {}
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
        const std::string name = "RPC port " + std::to_string(receiver->getPort());
        impl.accepting.add(kj::heap<AcceptLoop>(
            impl.timer, kj::mv(receiver), name,
            [&impl](kj::Own<kj::AsyncIoStream> stream) { impl.Take(kj::mv(stream)); }, impl.log));
        return impl.accepting.back()->port();
      })
      .catch_([where](kj::Exception&& e) -> Result<uint16_t> {
        return CannotListen("cannot listen on " + where, "--port", e);
      });
}

}  // namespace mr::rpc
