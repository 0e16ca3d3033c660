#include "common/rpc/metrics.h"

#include <cmath>
#include <cstdio>

#include "common/rpc/http_server.h"
#include "common/rpc/server.h"

namespace mr::rpc {

MetricValue::MetricValue(double value) {
  if (std::isinf(value)) {
    text = value > 0 ? "+Inf" : "-Inf";
    return;
  }
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  text = digits;
}

void MetricsWriter::Family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  out_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  out_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void MetricsWriter::GaugeFamily(std::string_view name, std::string_view help) { Family(name, "gauge", help); }
void MetricsWriter::CounterFamily(std::string_view name, std::string_view help) { Family(name, "counter", help); }

void MetricsWriter::Gauge(std::string_view name, std::string_view help, const MetricValue& value) {
  GaugeFamily(name, help);
  Sample(value);
}

void MetricsWriter::Counter(std::string_view name, std::string_view help, const MetricValue& value) {
  CounterFamily(name, help);
  Sample(value);
}

void MetricsWriter::Sample(const MetricValue& value) { out_.append(name_).append(" ").append(value.text).append("\n"); }

void MetricsWriter::Sample(std::string_view label, std::string_view label_value, const MetricValue& value) {
  out_.append(name_).append("{").append(label).append("=\"");
  for (const char c : label_value) {
    if (c == '\n') {
      out_ += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out_ += '\\';
    out_ += c;
  }
  out_.append("\"} ").append(value.text).append("\n");
}

void MetricsWriter::Histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                              std::span<const uint64_t> counts, double sum) {
  Family(name, "histogram", help);
  const std::string base(name);
  name_ = base + "_bucket";
  for (size_t i = 0; i < bounds.size(); ++i) {
    char bound[32];
    std::snprintf(bound, sizeof bound, "%g", bounds[i]);
    Sample("le", bound, counts[i]);
  }
  Sample("le", "+Inf", counts[bounds.size()]);
  name_ = base + "_sum";
  Sample(sum);
  name_ = base + "_count";
  Sample(counts[bounds.size()]);
}

void WriteSocketMetrics(MetricsWriter* out, const ServerCounts& rpc, const HttpCounts& http) {
  out->GaugeFamily("mr_connections", "Open connections, by kind.");
  out->Sample("kind", "greeting", rpc.greeting);
  out->Sample("kind", "client", rpc.clients);
  out->Sample("kind", "data", rpc.data);
  out->Sample("kind", "worker", rpc.workers);
  out->Sample("kind", "http", http.connections);
  out->Counter("mr_identities_total", "Peers that have proved an identity.", rpc.identities);
  out->Counter("mr_message_streams_total", "Connections that messages were read from, of peers with an identity only.",
               rpc.systems);
  out->CounterFamily("mr_accept_failures_total", "Accepts that failed and were tried again.");
  out->Sample("port", "rpc", rpc.accept_failures);
  out->Sample("port", "http", http.accept_failures);
  out->CounterFamily("mr_connections_closed_total", "Connections that this side ended, by reason.");
  out->Sample("reason", "silent", rpc.silent);
  out->Sample("reason", "idle", rpc.idle);
  out->Sample("reason", "slow", rpc.slow);
  out->Sample("reason", "refused", rpc.refused);
  out->Sample("reason", "not_allowed", rpc.not_allowed);
  out->Sample("reason", "revoked", rpc.revoked);
  out->Sample("reason", "http_slow", http.slow);
  out->Sample("reason", "http_replaced", http.replaced);
  out->Sample("reason", "http_refused", http.refused);
  out->Sample("reason", "http_revoked", http.revoked);
  out->Gauge("mr_send_queue_bytes", "Bytes that wait to be sent on RPC connections.", rpc.queued_bytes);
}

}  // namespace mr::rpc
