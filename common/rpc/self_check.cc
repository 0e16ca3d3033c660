#include "common/rpc/self_check.h"

#include "common/rpc/connection.h"
#include "common/rpc/hello.h"
#include "common/rpc/kj_status.h"

namespace mr::rpc {
namespace {

std::string Reachable(const std::string& bound) {
  if (bound == "0.0.0.0" || bound == "*") return "127.0.0.1";
  if (bound == "::" || bound == "[::]") return "[::1]";
  return bound;
}

}  // namespace

kj::Promise<Status> ProbePort(kj::AsyncIoContext& io, const std::string& address, Duration timeout) {
  Hello hello;
  hello.role = Role::kProbe;
  return RpcConnection::Connect(io, address, hello, timeout).then([](Result<kj::Own<RpcConnection>> connection) {
    return connection.status();
  });
}

SelfCheck::SelfCheck(kj::AsyncIoContext& io, const std::string& address, uint16_t port)
    : io_(io),
      timer_(io.provider->getTimer()),
      address_(Reachable(address)),
      port_(port),
      worked_(timer_.now()),
      running_(Run().eagerlyEvaluate(nullptr)) {}

std::string SelfCheck::WhyNot() const {
  if (ever_ && timer_.now() - worked_ <= ToKj(kStale)) return "";
  return "its own connection to " + address_ + ":" + std::to_string(port_) + " is not answered: " + why_;
}

kj::Promise<void> SelfCheck::Run() {
  return timer_.timeoutAfter(ToKj(kTimeout), kj::evalNow([this] { return Once(); }))
      .then(
          [this] {
            worked_ = timer_.now();
            ever_ = true;
          },
          [this](kj::Exception&& e) { why_ = FromException(e).message(); })
      .then([this] { return timer_.afterDelay(ToKj(kPeriod)); })
      .then([this] { return Run(); });
}

kj::Promise<void> SelfCheck::Once() {
  // Parsed once, so that a host name is not looked up each time.
  if (to_.get() == nullptr) {
    return io_.provider->getNetwork()
        .parseAddress(address_.c_str(), port_)
        .then([this](kj::Own<kj::NetworkAddress> to) {
          to_ = kj::mv(to);
          return Once();
        });
  }
  return to_->connect().then([](kj::Own<kj::AsyncIoStream> stream) {
    Hello hello;
    hello.role = Role::kProbe;
    auto bytes = kj::heap(EncodeHello(hello));
    auto& raw = *bytes;
    auto& to = *stream;
    return to.write(raw.data(), raw.size())
        .then([&to, &raw] { return to.read(raw.data(), raw.size()); })
        .attach(kj::mv(stream), kj::mv(bytes));
  });
}

}  // namespace mr::rpc
