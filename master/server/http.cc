#include "master/server/http.h"

#include <glog/logging.h>

#include "common/rpc/kj_status.h"
#include "common/rpc/wait_for_loop.h"

namespace mr::master {

struct HttpFront::Server final : kj::HttpService, kj::TaskSet::ErrorHandler {
  Shell& shell;
  Loop& loop;
  std::atomic<bool>& ready;
  kj::HttpHeaderTable table;
  kj::HttpServer server;
  kj::Own<kj::ConnectionReceiver> receiver;
  kj::TaskSet tasks;

  static kj::HttpServerSettings Settings() {
    kj::HttpServerSettings settings;
    settings.headerTimeout = 10 * kj::SECONDS;
    settings.pipelineTimeout = 10 * kj::SECONDS;
    return settings;
  }
  Server(Shell& s, Loop& l, std::atomic<bool>& r)
      : shell(s), loop(l), ready(r), server(s.kj().timer(), table, *this, Settings()), tasks(*this) {}

  void taskFailed(kj::Exception&& e) override { LOG(WARNING) << "http: " << e.getDescription().cStr(); }

  // One connection at a time: a peer that sends rubbish ends its own, never the loop that accepts.
  kj::Promise<void> Accept() {
    return receiver->accept().then(
        [this](kj::Own<kj::AsyncIoStream> stream) {
          tasks.add(server.listenHttp(kj::mv(stream)).catch_([](kj::Exception&&) {}));
          return Accept();
        },
        [this](kj::Exception&&) {
          return shell.kj().timer().afterDelay(50 * kj::MILLISECONDS).then([this] { return Accept(); });
        });
  }

  kj::Promise<void> Send(Response& response, uint code, kj::StringPtr word, kj::StringPtr type, std::string text) {
    kj::HttpHeaders headers(table);
    headers.set(kj::HttpHeaderId::CONTENT_TYPE, type);
    auto body = kj::heap<std::string>(std::move(text));
    auto stream = response.send(code, word, headers, body->size());
    auto written = stream->write(body->data(), body->size());
    return written.attach(kj::mv(stream), kj::mv(body));
  }

  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url, const kj::HttpHeaders&, kj::AsyncInputStream&,
                            Response& response) override {
    constexpr const char* kText = "text/plain; charset=utf-8";
    if (method != kj::HttpMethod::GET && method != kj::HttpMethod::HEAD) {
      return Send(response, 405, "Method Not Allowed", kText, "only GET\n");
    }
    if (url == "/healthz") return Send(response, 200, "OK", kText, "ok\n");
    if (url == "/readyz") {
      return ready ? Send(response, 200, "OK", kText, "ready\n")
                   : Send(response, 503, "Service Unavailable", kText, "starting\n");
    }
    if (url == "/metrics") {
      const Duration lag = loop.TakeMaxLag();
      return shell.Ask([lag](Brain& brain) { return MetricsText(brain, lag); })
          .then([this, &response](std::string text) {
            return Send(response, 200, "OK", "text/plain; version=0.0.4", std::move(text));
          });
    }
    if (url == "/") {
      return shell.Ask([](Brain& brain) { return StatusPage(brain); }).then([this, &response](std::string text) {
        return Send(response, 200, "OK", "text/html; charset=utf-8", std::move(text));
      });
    }
    return Send(response, 404, "Not Found", kText, "there are /, /metrics, /healthz and /readyz\n");
  }
};

HttpFront::HttpFront(Shell& shell, Loop& loop) : shell_(shell), loop_(loop) {}
HttpFront::~HttpFront() = default;

Result<uint16_t> HttpFront::Listen(const std::string& address, uint16_t port) {
  const auto bound = rpc::WaitForLoop<Result<uint16_t>>(shell_.kj(), [this, address, port] {
    server_ = kj::heap<Server>(shell_, loop_, ready_);
    return shell_.kj().io().provider->getNetwork().parseAddress(address.c_str(), port).then(
        [this](kj::Own<kj::NetworkAddress> parsed) -> Result<uint16_t> {
          server_->receiver = parsed->listen();
          server_->tasks.add(server_->Accept());
          return static_cast<uint16_t>(server_->receiver->getPort());
        });
  });
  if (!bound.ok()) return bound.status().With("cannot listen on " + address + ":" + std::to_string(port));
  return bound;
}

void HttpFront::Close() {
  shell_.kj().Run([this] { server_ = nullptr; });
}

}  // namespace mr::master
