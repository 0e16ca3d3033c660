#include "worker/daemon/http.h"

#include <kj/compat/http.h>

#include "common/rpc/kj_status.h"

namespace mr::worker {

struct HttpPort::Impl : kj::HttpService, kj::TaskSet::ErrorHandler {
  kj::AsyncIoContext& io;
  std::function<HttpReply(const std::string&)> handler;
  kj::HttpHeaderTable table;
  kj::HttpServer server;
  kj::Vector<kj::Own<kj::ConnectionReceiver>> receivers;
  kj::TaskSet tasks;

  Impl(kj::AsyncIoContext& i, std::function<HttpReply(const std::string&)> h)
      : io(i), handler(std::move(h)), server(io.provider->getTimer(), table, *this), tasks(*this) {}

  void taskFailed(kj::Exception&&) override {}  // a broken peer is no news

  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url, const kj::HttpHeaders&, kj::AsyncInputStream&,
                            Response& response) override {
    HttpReply reply{405, "only GET here\n"};
    if (method == kj::HttpMethod::GET || method == kj::HttpMethod::HEAD) {
      std::string path(url.begin(), url.size());
      path.resize(std::min(path.size(), path.find('?')));
      reply = handler(path);
    }
    kj::HttpHeaders headers(table);
    headers.set(kj::HttpHeaderId::CONTENT_TYPE, kj::str(reply.content_type.c_str()));
    auto stream = response.send(reply.status, reply.status == 200 ? "OK" : "Error", headers, reply.body.size());
    if (method == kj::HttpMethod::HEAD) return kj::READY_NOW;
    auto body = kj::heap<std::string>(std::move(reply.body));
    auto write = stream->write(body->data(), body->size());
    return write.attach(kj::mv(stream), kj::mv(body));
  }
};

HttpPort::HttpPort(kj::AsyncIoContext& io, std::function<HttpReply(const std::string&)> handler)
    : impl_(kj::heap<Impl>(io, std::move(handler))) {}
HttpPort::~HttpPort() = default;

kj::Promise<Result<uint16_t>> HttpPort::Listen(const std::string& address, uint16_t port) {
  const std::string where = address + ":" + std::to_string(port);
  return impl_->io.provider->getNetwork()
      .parseAddress(address.c_str(), port)
      .then([this](kj::Own<kj::NetworkAddress> parsed) -> Result<uint16_t> {
        auto receiver = parsed->listen();
        const auto bound = static_cast<uint16_t>(receiver->getPort());
        impl_->tasks.add(impl_->server.listenHttp(*receiver));
        impl_->receivers.add(kj::mv(receiver));
        return bound;
      })
      .catch_([where](kj::Exception&& e) -> Result<uint16_t> {
        return rpc::FromException(e).With("cannot listen for HTTP on " + where);
      });
}

}  // namespace mr::worker
