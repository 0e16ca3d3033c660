#include "master/host/http.h"

#include <glog/logging.h>

#include "common/rpc/wait_for_loop.h"

namespace mr::master {

HttpFront::HttpFront(Shell& shell, Loop& loop, Pool& pool) : shell_(shell), loop_(loop), pool_(pool) {}
HttpFront::~HttpFront() = default;

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
  const auto host_metrics = [this] {
    rpc::MetricsWriter out;
    metrics_->WriteMetrics(&out, &loop_);
    return out;
  };
  return shell_.Ask(host_metrics).then([this](rpc::MetricsWriter out) {
    rpc::WriteSocketMetrics(&out, shell_.server_counts(), server_->counts());
    out.Gauge("mr_ready", "1 when /readyz says yes.", ready_ && shell_.WhyNotReady().empty());
    return rpc::HttpReply{200, out.Take(), rpc::MetricsWriter::kContentType};
  });
}

Result<uint16_t> HttpFront::Listen(const Options& options, MetricsText* metrics, web::Source* source) {
  metrics_ = metrics;
  return rpc::WaitForLoop<Result<uint16_t>>(shell_.kj(), [this, &options, source] {
    rpc::HttpLimits limits;
    limits.connections = rpc::ServerLimits::HttpConnections(shell_.options().descriptors);
    limits.send_grace = shell_.options().send_timeout;
    web::Site::Options site;
    site.hosts = options.hosts;
    site.release = shell_.options().version;
    site.streams = limits.connections / 2;  // the others are for documents
    site_ = kj::heap<web::Site>(site, shell_.kj(), pool_, *source);
    server_ =
        kj::heap<rpc::HttpServer>(shell_.kj().io(), limits, [](const std::string& line) { LOG(WARNING) << line; });
    server_->SetSite([this](const rpc::HttpRequest& request) { return Answer(request); });
    return server_->Listen(options.bind, options.port);
  });
}

kj::Promise<rpc::HttpReply> HttpFront::Answer(const rpc::HttpRequest& request) {
  const bool metrics = request.path == "/metrics", ready = request.path == "/readyz";
  if (!metrics && !ready && request.path != "/healthz") return site_->Answer(request);
  if (const Status allowed = site_->MayRead(request); !allowed.ok()) {
    return rpc::HttpReply{403, allowed.message() + "\n"};
  }
  if (metrics) return Metrics();
  return ready ? Ready() : rpc::HttpReply{200, "ok\n"};
}

void HttpFront::Close() {
  shell_.kj().Run([this] {
    server_ = nullptr;
    site_ = nullptr;
  });
}

}  // namespace mr::master
