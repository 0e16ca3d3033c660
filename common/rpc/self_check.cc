#include "common/rpc/self_check.h"

#include "common/rpc/connection.h"
#include "common/rpc/credentials.h"
#include "common/rpc/handshake.h"
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
      .catch_([](kj::Exception&& e) { return FromException(e); })
      .then([this](const Status& answered) {
        if (answered.ok()) {
          worked_ = timer_.now();
          ever_ = true;
        } else {
          why_ = answered.message();
        }
        return timer_.afterDelay(ToKj(kPeriod));
      })
      .then([this] { return Run(); });
}

kj::Promise<Status> SelfCheck::Once() {
  // Parsed once, so that a host name is not looked up each time.
  if (to_.get() == nullptr) {
    return io_.provider->getNetwork()
        .parseAddress(address_.c_str(), port_)
        .then([this](kj::Own<kj::NetworkAddress> to) {
          to_ = kj::mv(to);
          return Once();
        });
  }
  return to_->connect()
      .then([this](kj::Own<kj::AsyncIoStream> stream) {
        Hello hello;
        hello.role = Role::kProbe;
        return Greet(kj::mv(stream), hello, address_ + ":" + std::to_string(port_), ProcessCredentials());
      })
      .then([](Result<Greeted> greeted) { return greeted.status(); });
}

}  // namespace mr::rpc
