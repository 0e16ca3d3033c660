// The master's HTTP routes: /healthz, /readyz, /metrics (Prometheus text) and a status page. No route
// changes anything. Thread: the KJ loop.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "common/rpc/http_server.h"
#include "common/rpc/metrics.h"
#include "common/rpc/self_check.h"
#include "master/host/pages.h"
#include "master/host/shell.h"

namespace mr::master {

class HttpFront {
 public:
  HttpFront(Shell& shell, Loop& loop);
  ~HttpFront();
  // The port in use. Waits; not from the loop.
  Result<uint16_t> Listen(const std::string& address, uint16_t port);
  void Close();
  // The texts of the pages. Called once, before Listen; must outlive Close().
  void SetPages(Pages* pages) { pages_ = pages; }
  // The journal is replayed and the ports are open: from here on readiness depends on the self-check alone.
  void SetReady() { ready_ = true; }

 private:
  void AddPages();
  rpc::HttpReply Ready() const;
  kj::Promise<rpc::HttpReply> Metrics();

  Shell& shell_;
  Loop& loop_;
  Pages* pages_ = nullptr;
  std::atomic<bool> ready_{false};
  kj::Own<rpc::HttpServer> server_;  // of the KJ loop
};

}  // namespace mr::master
