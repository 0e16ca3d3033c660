#include "common/rpc/metrics.h"

#include <cstdio>
#include <utility>

namespace mr::rpc {
namespace {

using Labelled = std::pair<const char*, uint64_t>;

void Metrics(std::string* out, const char* name, const char* type, const char* help, const char* label,
             std::initializer_list<Labelled> values) {
  *out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  for (const auto& [what, value] : values) {
    *out += std::string(name) + "{" + label + "=\"" + what + "\"} " + std::to_string(value) + "\n";
  }
}

}  // namespace

void Metric(std::string* out, const char* name, const char* type, const char* help, double value) {
  char line[64];
  std::snprintf(line, sizeof line, " %.17g\n", value);
  *out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n" + name + line;
}

std::string ServerMetrics(const ServerCounts& rpc, const HttpCounts& http) {
  std::string out;
  Metrics(&out, "mr_connections", "gauge", "Open connections, by kind.", "kind",
          {{"greeting", rpc.greeting},
           {"client", rpc.clients},
           {"data", rpc.data},
           {"worker", rpc.workers},
           {"http", http.connections}});
  Metrics(&out, "mr_accept_failures_total", "counter", "Accepts that failed and were tried again.", "port",
          {{"rpc", rpc.accept_failures}, {"http", http.accept_failures}});
  Metrics(&out, "mr_connections_closed_total", "counter", "Connections that this side ended, by reason.", "reason",
          {{"silent", rpc.silent},
           {"idle", rpc.idle},
           {"slow", rpc.slow},
           {"refused", rpc.refused},
           {"http_slow", http.slow},
           {"http_replaced", http.replaced}});
  Metric(&out, "mr_send_queue_bytes", "gauge", "Bytes that wait to be sent on RPC connections.",
         static_cast<double>(rpc.queued_bytes));
  return out;
}

}  // namespace mr::rpc
