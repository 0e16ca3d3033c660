#include "master/host/http.h"

#include <glog/logging.h>

#include <utility>
#include <variant>

#include "common/rpc/http_entry.h"
#include "common/rpc/wait_for_loop.h"
#include "common/secure/names.h"

namespace mr::master {
namespace {

// Returns the host in links to the pages: loopback by its name, for which browsers have one cookie, else the address
// that people can reach.
std::string UrlHost(const HttpFront::Options& options) {
  const std::string& bind = options.bind;
  const bool all = bind == "0.0.0.0" || bind == "::" || bind == "*";
  const std::string& host = all ? options.advertise : bind;
  if (host == "127.0.0.1" || host == "::1") return "localhost";
  return host.find(':') != std::string::npos && host.front() != '[' ? "[" + host + "]" : host;
}

}  // namespace

HttpFront::HttpFront(Shell& shell, Loop& loop, Pool& pool) : shell_(shell), loop_(loop), pool_(pool) {}
HttpFront::~HttpFront() = default;

rpc::HttpReply HttpFront::Ready(bool known) const {
  const std::string why = ready_ ? shell_.WhyNotReady() : "starting";
  if (!why.empty()) return {503, (known ? why : "not ready") + "\n"};
  if (!known) return {200, "ready\n"};
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
    shell_.call_times().Write(&out);
    rpc::WriteProcessMetrics(&out);
    out.Gauge("mr_ready", "1 when /readyz says yes.", ready_ && shell_.WhyNotReady().empty());
    return rpc::HttpReply{200, out.Take(), rpc::MetricsWriter::kContentType};
  });
}

Result<uint16_t> HttpFront::Listen(const Options& options, MetricsText* metrics, web::Source* source) {
  metrics_ = metrics;
  const rpc::EntryOptions& entry_options = shell_.options().entry;
  MR_ASSIGN_OR_RETURN(auto entry, rpc::MakeHttpAuthenticator(entry_options, shell_.authenticator()));
  const bool secure = entry_options.node != nullptr;
  auto bound = rpc::WaitForLoop<Result<uint16_t>>(shell_.kj(), [&] {
    rpc::HttpLimits limits;
    limits.connections = rpc::ServerLimits::HttpConnections(shell_.options().descriptors);
    limits.send_grace = shell_.options().send_timeout;
    web::Gate::Options gate;
    gate.hosts = options.hosts;
    if (secure) gate.hosts.insert(secure::MasterName(shell_.options().cluster_id));
    // The prefix makes browsers refuse a cookie of this name that another server set.
    gate.cookie = (secure ? "__Host-paceline_" : "paceline_") + secure::ClusterText(shell_.options().cluster_id);
    gate.secure = secure;
    gate_ = kj::heap<web::Gate>(std::move(gate), entry);
    web::Site::Options site;
    site.release = shell_.options().version;
    site.streams = limits.connections / 2;  // the others are for documents
    site_ = kj::heap<web::Site>(site, shell_.kj(), pool_, *source);
    server_ = kj::heap<rpc::HttpServer>(
        shell_.kj().io(), entry, [this](const rpc::HttpRequest& request) { return Answer(request); }, limits,
        [](const std::string& line) { LOG(WARNING) << line; });
    return server_->Listen(options.bind, options.port);
  });
  if (!bound.ok()) return bound;
  const std::string where = (secure ? "https://" : "http://") + UrlHost(options) + ":" + std::to_string(*bound) + "/";
  shell_.kj().Run([&] {
    shell_.SetPageLinks([this, where](const rpc::PeerInfo& peer) -> Result<Secret<std::string>> {
      MR_ASSIGN_OR_RETURN(const Secret<std::string> link, gate_->MakeLink({peer.identity, peer.lease}));
      return Secret<std::string>(where + link.Reveal());
    });
  });
  return bound;
}

kj::Promise<rpc::HttpReply> HttpFront::Answer(const rpc::HttpRequest& sent) {
  const rpc::HttpRequest request = web::BehindProxy(sent);
  auto checked = gate_->Check(request);
  if (auto* refusal = std::get_if<rpc::HttpReply>(&checked)) return std::move(*refusal);
  const auto& reader = std::get<web::Gate::Passed>(checked);
  switch (reader.route->kind) {
    case web::RouteKind::kHealth: return rpc::HttpReply{200, "ok\n"};
    case web::RouteKind::kReady: return Ready(!reader.identity.subject.empty());
    case web::RouteKind::kMetrics: return Metrics();
    case web::RouteKind::kLogin: return gate_->LogIn(request);
    case web::RouteKind::kIndex:
    case web::RouteKind::kEvents:
    case web::RouteKind::kDocument:
    case web::RouteKind::kPage:
    case web::RouteKind::kMissing: break;
  }
  return site_->Answer(request, reader);
}

void HttpFront::Close() {
  shell_.kj().Run([this] {
    shell_.SetPageLinks(nullptr);
    server_ = nullptr;
    site_ = nullptr;
    gate_ = nullptr;
  });
}

}  // namespace mr::master
