// What people and monitors read over HTTP: /healthz, /readyz, /metrics (Prometheus text) and a
// status page. Reads only; no route changes anything. On the KJ loop.
#pragma once

#include <kj/compat/http.h>

#include <memory>

#include "master/server/shell.h"

namespace mr::master {

class HttpFront {
 public:
  HttpFront(Shell& shell, Loop& loop);
  ~HttpFront();
  // The port in use. Waits; not from the loop.
  Result<uint16_t> Listen(const std::string& address, uint16_t port);
  void Close();
  // From here on /readyz says yes.
  void SetReady() { ready_ = true; }

 private:
  struct Server;
  Shell& shell_;
  Loop& loop_;
  std::atomic<bool> ready_{false};
  kj::Own<Server> server_;  // of the KJ loop
};

// On the master's thread.
std::string MetricsText(Brain& brain, Duration loop_lag);
std::string StatusPage(Brain& brain);

}  // namespace mr::master
