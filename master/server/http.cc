#include "master/server/http.h"

#include <glog/logging.h>

#include "common/rpc/metrics.h"
#include "common/rpc/wait_for_loop.h"

namespace mr::master {

HttpFront::HttpFront(Shell& shell, Loop& loop) : shell_(shell), loop_(loop) {}
HttpFront::~HttpFront() = default;

std::string HttpFront::SocketMetrics() const {
  std::string out = rpc::ServerMetrics(shell_.server_counts(), port_->counts());
  rpc::Metric(&out, "mr_ready", "gauge", "1 when /readyz says yes.", ready_ && shell_.WhyNotReady().empty());
  return out;
}

kj::Promise<rpc::HttpReply> HttpFront::Page(const std::string& path) {
  using rpc::HttpReply;
  if (path == "/healthz") return HttpReply{200, "ok\n"};
  if (path == "/readyz") {
    if (!ready_) return HttpReply{503, "starting\n"};
    const std::string why = shell_.WhyNotReady();
    if (!why.empty()) return HttpReply{503, why + "\n"};
    // Reads are served, and the operator's word is awaited here.
    if (shell_.brain().InLossMode()) {
      return HttpReply{200, "ready, in safe mode: records of the journal are lost (mrctl store safemode)\n"};
    }
    return HttpReply{200, "ready\n"};
  }
  if (path == "/metrics") {
    const Duration lag = loop_.TakeMaxLag();
    return shell_.Ask([lag](Brain& brain) { return MetricsText(brain, lag); }).then([this](std::string text) {
      return HttpReply{200, text + SocketMetrics(), "text/plain; version=0.0.4"};
    });
  }
  if (path == "/") {
    return shell_.Ask([](Brain& brain) { return StatusPage(brain); }).then([](std::string text) {
      return HttpReply{200, std::move(text), "text/html; charset=utf-8"};
    });
  }
  return HttpReply{404, "there are /, /metrics, /healthz and /readyz\n"};
}

Result<uint16_t> HttpFront::Listen(const std::string& address, uint16_t port) {
  return rpc::WaitForLoop<Result<uint16_t>>(shell_.kj(), [this, address, port] {
    rpc::HttpLimits limits;
    limits.connections = rpc::ServerLimits::HttpConnections(shell_.options().descriptors);
    limits.send_grace = shell_.options().send_timeout;
    port_ = kj::heap<rpc::HttpPort>(
        shell_.kj().io(), [this](const std::string& path) { return Page(path); }, limits,
        [](const std::string& line) { LOG(WARNING) << line; });
    return port_->Listen(address, port);
  });
}

void HttpFront::Close() {
  shell_.kj().Run([this] { port_ = nullptr; });
}

}  // namespace mr::master
