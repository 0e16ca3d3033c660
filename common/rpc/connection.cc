#include "common/rpc/connection.h"

#include <capnp/rpc-twoparty.h>

#include <charconv>

#include "common/rpc/kj_status.h"
#include "common/rpc/look_up.h"
#include "common/rpc/server.h"

namespace mr::rpc {

struct RpcConnection::Impl {
  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> system;

  Impl(kj::Own<kj::AsyncIoStream> s, capnp::ReaderOptions options, size_t flow_words)
      : stream(kj::mv(s)),
        network(*stream, capnp::rpc::twoparty::Side::CLIENT, options),
        system(capnp::makeRpcClient(network)) {
    system.setFlowLimit(flow_words);
  }
};

namespace {

capnp::ReaderOptions OptionsFor(Role role) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = LimitsFor(role).traversal_words;
  // A client reads lists as long as its own master's jobs (10,000 attempts are some 2 MiB). The
  // master's limit for messages from clients stays.
  if (role == Role::kClient) options.traversalLimitInWords = 64ull << 20 >> 3;
  options.nestingLimit = LimitsFor(role).nesting;
  return options;
}

kj::Promise<Result<kj::Own<RpcConnection>>> ExchangeHello(kj::Own<kj::AsyncIoStream> stream, Hello own,
                                                          const std::string& address) {
  auto bytes = kj::heap<std::array<uint8_t, kHelloBytes>>(EncodeHello(own));
  auto& raw = *bytes;
  auto& stream_ref = *stream;
  return stream_ref.write(raw.data(), raw.size())
      .then([&stream_ref, &raw] { return stream_ref.tryRead(raw.data(), raw.size(), raw.size()); })
      .then([stream = kj::mv(stream), bytes = kj::mv(bytes), own,
             address](size_t n) mutable -> Result<kj::Own<RpcConnection>> {
        if (n < kHelloBytes) {
          return Unavailable(address + " closed the connection at once: is it a Paceline daemon?");
        }
        auto peer = DecodeHello(*bytes);
        if (!peer.ok()) return Unavailable(address + ": " + peer.status().message());
        if (peer->refused == static_cast<uint32_t>(Code::kRejected)) {
          return Rejected(address + " belongs to another cluster");
        }
        if (peer->refused == static_cast<uint32_t>(Code::kOverloaded)) {
          return Unavailable(address + " has as many connections as it serves; retry later, or close some of them");
        }
        if (peer->refused != 0) return Unavailable(address + " refused the connection");
        return kj::refcounted<RpcConnection>(kj::mv(stream), *peer, own.role);
      });
}

}  // namespace

RpcConnection::RpcConnection(kj::Own<kj::AsyncIoStream> stream, Hello peer, Role role)
    : impl_(kj::heap<Impl>(kj::mv(stream), OptionsFor(role), LimitsFor(role).flow_words)), peer_(peer) {}
RpcConnection::~RpcConnection() = default;

kj::Promise<void> RpcConnection::OnDisconnect() { return impl_->network.onDisconnect(); }

capnp::Capability::Client RpcConnection::BootstrapAny() {
  capnp::MallocMessageBuilder message(8);
  auto vat = message.initRoot<capnp::rpc::twoparty::VatId>();
  vat.setSide(capnp::rpc::twoparty::Side::SERVER);
  return impl_->system.bootstrap(vat);
}

kj::Promise<Result<kj::Own<RpcConnection>>> RpcConnection::Connect(kj::AsyncIoContext& io, const std::string& address,
                                                                   Hello own, Duration timeout) {
  const auto parsed = ParseHostPort(address);
  if (!parsed.ok()) return Result<kj::Own<RpcConnection>>(parsed.status());
  auto attempt = ConnectToHost(io.provider->getNetwork(), parsed->first, parsed->second)
                     .then([own, address](kj::Own<kj::AsyncIoStream> stream) {
                       return ExchangeHello(kj::mv(stream), own, address);
                     });
  return io.provider->getTimer()
      .timeoutAfter(timeout.ns * kj::NANOSECONDS, kj::mv(attempt))
      .catch_([address](kj::Exception&& e) -> Result<kj::Own<RpcConnection>> {
        if (e.getType() == kj::Exception::Type::OVERLOADED) {
          return Unavailable("connecting to " + address + " timed out");
        }
        return Unavailable("cannot reach " + address + ": " + e.getDescription().cStr());
      });
}

Result<std::pair<std::string, uint16_t>> ParseHostPort(const std::string& text) {
  const size_t colon = text.rfind(':');
  uint16_t port = 0;
  if (colon != std::string::npos && colon > 0) {
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data() + colon + 1, end, port);
    if (error == std::errc() && at == end && port != 0) {
      std::string host = text.substr(0, colon);
      if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        return std::make_pair(host, port);  // KJ needs IPv6 in brackets
      }
      if (host.find(':') == std::string::npos) return std::make_pair(host, port);
    }
  }
  return InvalidArgument("'" + text + "' is not HOST:PORT");
}

}  // namespace mr::rpc
