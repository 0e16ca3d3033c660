#include "common/rpc/connection.h"

#include <capnp/rpc-twoparty.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string_view>

#include "common/rpc/batched_stream.h"
#include "common/rpc/handshake.h"
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

kj::Promise<kj::Own<kj::AsyncIoStream>> ConnectToPath(kj::Network& network, const std::string& path) {
  return network.parseAddress(("unix:" + path).c_str()).then([](kj::Own<kj::NetworkAddress> address) {
    auto connecting = address->connect();
    return connecting.attach(kj::mv(address));
  });
}

}  // namespace

RpcConnection::RpcConnection(kj::Own<kj::AsyncIoStream> stream, Hello peer, Role role)
    : impl_(kj::heap<Impl>(ForMessagesOf(role, kj::mv(stream)), OptionsFor(role), LimitsFor(role).flow_words)),
      peer_(peer) {}
RpcConnection::~RpcConnection() = default;

kj::Promise<void> RpcConnection::OnDisconnect() { return impl_->network.onDisconnect(); }

capnp::Capability::Client RpcConnection::BootstrapAny() {
  capnp::MallocMessageBuilder message(8);
  auto vat = message.initRoot<capnp::rpc::twoparty::VatId>();
  vat.setSide(capnp::rpc::twoparty::Side::SERVER);
  return impl_->system.bootstrap(vat);
}

kj::Promise<Result<kj::Own<RpcConnection>>> RpcConnection::Connect(kj::AsyncIoContext& io, const std::string& address,
                                                                   Hello own, Duration timeout,
                                                                   std::shared_ptr<const Credentials> credentials) {
  if (credentials == nullptr) credentials = ProcessCredentials();
  const auto path = ParseUnixPath(address);
  if (!path.ok()) return Result<kj::Own<RpcConnection>>(path.status());
  kj::Promise<kj::Own<kj::AsyncIoStream>> connecting = nullptr;
  auto& network = io.provider->getNetwork();
  if (!path->empty()) {
    // KJ's exception does not say which error it was.
    if (::access(path->c_str(), R_OK | W_OK) != 0 && errno == EACCES) {
      return Result<kj::Own<RpcConnection>>(Status(
          Code::kNotAllowed, *path + " is a socket for its daemon's user and root; run this command as one of them"));
    }
    connecting = ConnectToPath(network, *path);
  } else {
    const auto parsed = ParseHostPort(address);
    if (!parsed.ok()) return Result<kj::Own<RpcConnection>>(parsed.status());
    connecting = ConnectToHost(network, parsed->first, parsed->second);
  }
  auto attempt = connecting
                     .then([own, address, credentials = std::move(credentials)](kj::Own<kj::AsyncIoStream> stream) {
                       return Greet(kj::mv(stream), own, address, credentials);
                     })
                     .then([role = own.role](Result<Greeted> greeted) -> Result<kj::Own<RpcConnection>> {
                       if (!greeted.ok()) return greeted.status();
                       return kj::refcounted<RpcConnection>(kj::mv(greeted->stream), greeted->server, role);
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

Result<std::string> ParseUnixPath(const std::string& text) {
  constexpr std::string_view kScheme = "unix:";
  if (!text.starts_with(kScheme)) return std::string();
  std::string path = text.substr(kScheme.size());
  if (path.empty() || path.front() != '/') return InvalidArgument("'" + text + "' is not unix:/ABSOLUTE/PATH");
  if (path.size() >= sizeof sockaddr_un{}.sun_path) {
    return InvalidArgument("the socket's path has " + std::to_string(path.size()) +
                           " bytes, and a unix socket's address holds 107; choose a shorter one");
  }
  return path;
}

Status CheckAddress(const std::string& text) {
  MR_ASSIGN_OR_RETURN(const std::string path, ParseUnixPath(text));
  if (!path.empty()) return Status::Ok();
  if (!ParseHostPort(text).ok()) return InvalidArgument("'" + text + "' is not HOST:PORT or unix:PATH");
  return Status::Ok();
}

}  // namespace mr::rpc
