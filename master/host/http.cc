#include "master/host/http.h"

#include <glog/logging.h>

#include "common/rpc/wait_for_loop.h"

namespace mr::master {

HttpFront::HttpFront(Shell& shell, Loop& loop) : shell_(shell), loop_(loop) {}
HttpFront::~HttpFront() = default;

void HttpFront::AddPages() {
  using rpc::HttpReply;
  server_->Route("/", [this] {
    return shell_.Ask([this] { return pages_->StatusPage(); }).then([](std::string text) {
      return HttpReply{200, std::move(text), "text/html; charset=utf-8"};
    });
  });
  server_->Route("/metrics", [this] { return Metrics(); });
  server_->Route("/healthz", [] { return HttpReply{200, "ok\n"}; });
  server_->Route("/readyz", [this] { return Ready(); });
}

rpc::HttpReply HttpFront::Ready() const {
  if (!ready_) return {503, "starting\n"};
  const std::string why = shell_.WhyNotReady();
  if (!why.empty()) return {503, why + "\n"};
  // Reads are served, and the operator's decision is awaited.
  if (shell_.client_parts().driver.InLossMode()) {
    return {200, "ready, in safe mode: records of the journal are lost (mrctl store safemode)\n"};
  }
  return {200, "ready\n"};
}

kj::Promise<rpc::HttpReply> HttpFront::Metrics() {
  const auto host_metrics = [this, lag = loop_.TakeMaxLag()] {
    rpc::MetricsWriter out;
    pages_->WriteMetrics(&out, lag);
    return out;
  };
  return shell_.Ask(host_metrics).then([this](rpc::MetricsWriter out) {
    rpc::WriteSocketMetrics(&out, shell_.server_counts(), server_->counts());
    out.Gauge("mr_ready", "1 when /readyz says yes.", ready_ && shell_.WhyNotReady().empty());
    return rpc::HttpReply{200, out.Take(), rpc::MetricsWriter::kContentType};
  });
}

Result<uint16_t> HttpFront::Listen(const std::string& address, uint16_t port) {
  return rpc::WaitForLoop<Result<uint16_t>>(shell_.kj(), [this, address, port] {
    rpc::HttpLimits limits;
    limits.connections = rpc::ServerLimits::HttpConnections(shell_.options().descriptors);
    limits.send_grace = shell_.options().send_timeout;
    server_ =
        kj::heap<rpc::HttpServer>(shell_.kj().io(), limits, [](const std::string& line) { LOG(WARNING) << line; });
    AddPages();
    return server_->Listen(address, port);
  });
}

void HttpFront::Close() {
  shell_.kj().Run([this] { server_ = nullptr; });
}

}  // namespace mr::master
