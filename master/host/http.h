// The master's HTTP port: /healthz, /readyz, /metrics (Prometheus text), links that log in, and the site (master/web)
// for all others, behind its gate. No route changes anything but the sessions of browsers. Thread: the KJ loop.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>

#include "common/rpc/http_server.h"
#include "common/rpc/metrics.h"
#include "common/rpc/self_check.h"
#include "master/host/metrics_text.h"
#include "master/host/shell.h"
#include "master/web/gate.h"
#include "master/web/site.h"

namespace mr::master {

class HttpFront {
 public:
  struct Options {
    std::string bind = "127.0.0.1";
    uint16_t port = 0;            // 0: any
    std::set<std::string> hosts;  // names under which people reach it beside localhost and numbers
    std::string advertise;        // host at which people reach it, if it listens on all addresses
  };
  // pool: makes documents; stopped before Close().
  HttpFront(Shell& shell, Loop& loop, Pool& pool);
  ~HttpFront();
  // Returns the port in use. Waits; not from the loop. metrics, source: outlive Close(). Requires: Shell::Listen.
  Result<uint16_t> Listen(const Options& options, MetricsText* metrics, web::Source* source);
  void Close();
  // The journal is replayed and the ports are open: from here on readiness depends on the self-check alone.
  void SetReady() { ready_ = true; }

 private:
  kj::Promise<rpc::HttpReply> Answer(const rpc::HttpRequest& request);
  // known: the peer has an identity, and reads why it is not ready.
  rpc::HttpReply Ready(bool known) const;
  kj::Promise<rpc::HttpReply> Metrics();

  Shell& shell_;
  Loop& loop_;
  Pool& pool_;
  MetricsText* metrics_ = nullptr;
  std::atomic<bool> ready_{false};
  // They belong to the KJ loop; each ends before the one above it.
  kj::Own<web::Gate> gate_;
  kj::Own<web::Site> site_;
  kj::Own<rpc::HttpServer> server_;
};

}  // namespace mr::master
