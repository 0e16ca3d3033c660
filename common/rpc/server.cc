#include "common/rpc/server.h"

#include <arpa/inet.h>
#include <capnp/rpc-twoparty.h>
#include <kj/debug.h>

#include <list>

#include "common/rpc/kj_status.h"

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
  if (kj::runCatchingExceptions([&] {
        stream.getpeername(reinterpret_cast<sockaddr*>(&address), &length);
      }) != nullptr) {
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

struct Peer {
  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> system;

  Peer(kj::Own<kj::AsyncIoStream> s, capnp::Capability::Client bootstrap, capnp::ReaderOptions options,
       size_t flow_words)
      : stream(kj::mv(s)),
        network(*stream, capnp::rpc::twoparty::Side::SERVER, options),
        system(capnp::makeRpcServer(network, kj::mv(bootstrap))) {
    system.setFlowLimit(flow_words);
  }
};

}  // namespace

struct RpcServer::Impl : kj::TaskSet::ErrorHandler {
  kj::AsyncIoContext& io;
  Hello own;
  BootstrapFactory factory;
  size_t max_connections;
  OtherProtocol other_protocol;
  size_t connections = 0;
  kj::Vector<kj::Own<kj::ConnectionReceiver>> receivers;
  kj::TaskSet tasks;

  Impl(kj::AsyncIoContext& i, Hello o, BootstrapFactory f, size_t max, OtherProtocol other)
      : io(i), own(o), factory(std::move(f)), max_connections(max), other_protocol(std::move(other)), tasks(*this) {}

  void taskFailed(kj::Exception&&) override {}  // one peer's end is no news; the factory's objects know

  kj::Promise<void> Accept(kj::ConnectionReceiver& receiver) {
    return receiver.accept().then(
        [this, &receiver](kj::Own<kj::AsyncIoStream> stream) {
          if (connections < max_connections) tasks.add(Serve(kj::mv(stream)));
          return Accept(receiver);
        },
        [this, &receiver](kj::Exception&&) {
          // EMFILE, ECONNABORTED and the like must not end the loop; a pause keeps it from spinning.
          return io.provider->getTimer().afterDelay(50 * kj::MILLISECONDS).then([this, &receiver] {
            return Accept(receiver);
          });
        });
  }

  kj::Promise<void> Reply(kj::AsyncIoStream& stream, Code refused) {
    Hello reply = own;
    reply.refused = static_cast<uint32_t>(refused);
    auto bytes = kj::heap(EncodeHello(reply));
    auto promise = stream.write(bytes->data(), bytes->size());
    return promise.attach(kj::mv(bytes));
  }

  kj::Promise<void> Serve(kj::Own<kj::AsyncIoStream> stream) {
    ++connections;
    auto count = kj::defer([this] { --connections; });
    auto buffer = kj::heap<std::array<uint8_t, kHelloBytes>>();
    auto& stream_ref = *stream;
    auto read = stream_ref.read(buffer->data(), buffer->size());
    return io.provider->getTimer()
        .timeoutAfter(kHelloTimeout.ns * kj::NANOSECONDS, kj::mv(read))
        .then([this, stream = kj::mv(stream), buffer = kj::mv(buffer)]() mutable -> kj::Promise<void> {
          const auto hello = DecodeHello(*buffer);
          if (!hello.ok()) {
            // Another release gets a reply that names our protocol; strangers get nothing.
            if (hello.status().code() != Code::kUnavailable) return kj::READY_NOW;
            if (other_protocol != nullptr) other_protocol(PeerName(*stream), hello.status());
            return Reply(*stream, Code::kUnavailable).attach(kj::mv(stream));
          }
          if (hello->cluster_id != 0 && own.cluster_id != 0 && hello->cluster_id != own.cluster_id) {
            return Reply(*stream, Code::kRejected).attach(kj::mv(stream));
          }
          auto bootstrap = factory(*hello, PeerName(*stream));
          if (!bootstrap.ok()) {
            return Reply(*stream, bootstrap.status().code()).attach(kj::mv(stream));
          }
          const auto limits = LimitsFor(hello->role);
          capnp::ReaderOptions options;
          options.traversalLimitInWords = limits.traversal_words;
          options.nestingLimit = limits.nesting;
          auto sent = Reply(*stream, Code::kOk);
          return sent.then([stream = kj::mv(stream), bootstrap = *std::move(bootstrap), options,
                            flow = limits.flow_words]() mutable {
            auto peer = kj::heap<Peer>(kj::mv(stream), kj::mv(bootstrap), options, flow);
            auto gone = peer->network.onDisconnect();
            return gone.attach(kj::mv(peer));
          });
        })
        .attach(kj::mv(count));
  }
};

RpcServer::RpcServer(kj::AsyncIoContext& io, Hello own, BootstrapFactory factory, size_t max_connections,
                     OtherProtocol other_protocol)
    : impl_(kj::heap<Impl>(io, own, std::move(factory), max_connections, std::move(other_protocol))) {}
RpcServer::~RpcServer() = default;
size_t RpcServer::connections() const { return impl_->connections; }

kj::Promise<Result<uint16_t>> RpcServer::Listen(const std::string& address, uint16_t port) {
  auto& impl = *impl_;
  const std::string where = address + ":" + std::to_string(port);
  return impl.io.provider->getNetwork()
      .parseAddress(address.c_str(), port)
      .then([&impl](kj::Own<kj::NetworkAddress> parsed) -> Result<uint16_t> {
        auto receiver = parsed->listen();
        const uint16_t bound = static_cast<uint16_t>(receiver->getPort());
        impl.tasks.add(impl.Accept(*receiver));
        impl.receivers.add(kj::mv(receiver));
        return bound;
      })
      .catch_([where](kj::Exception&& e) -> Result<uint16_t> {
        return Unavailable("cannot listen on " + where + ": " + e.getDescription().cStr());
      });
}

}  // namespace mr::rpc
