#include "common/rpc/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <vector>

#include "common/io/files.h"
#include "common/rpc/http_server.h"
#include "common/rpc/server.h"

namespace mr::rpc {
namespace {

// Returns NAME="VALUE", escaped as the text format wants.
std::string Label(std::string_view name, std::string_view value) {
  std::string out(name);
  out += "=\"";
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::vector<double> BoundsOf(const LatencyHistogram& latencies) {
  std::vector<double> seconds;
  for (const Duration bound : latencies.bounds()) seconds.push_back(bound.seconds());
  return seconds;
}

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

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
  out_.append(name_).append("{").append(Label(label, label_value)).append("} ").append(value.text).append("\n");
}

void MetricsWriter::Buckets(const std::string& labels, std::span<const double> bounds, std::span<const uint64_t> counts,
                            double sum) {
  const std::string before = labels.empty() ? "" : labels + ",", alone = labels.empty() ? "" : "{" + labels + "}";
  const auto bucket = [&](const std::string& bound, uint64_t count) {
    out_.append(name_).append("_bucket{").append(before).append(Label("le", bound)).append("} ");
    out_.append(std::to_string(count)).append("\n");
  };
  for (size_t i = 0; i < bounds.size(); ++i) {
    char bound[32];
    std::snprintf(bound, sizeof bound, "%g", bounds[i]);
    bucket(bound, counts[i]);
  }
  bucket("+Inf", counts[bounds.size()]);
  out_.append(name_).append("_sum").append(alone).append(" ").append(MetricValue(sum).text).append("\n");
  out_.append(name_).append("_count").append(alone).append(" ");
  out_.append(std::to_string(counts[bounds.size()])).append("\n");
}

void MetricsWriter::Histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                              std::span<const uint64_t> counts, double sum) {
  HistogramFamily(name, help);
  Buckets("", bounds, counts, sum);
}

void MetricsWriter::Histogram(std::string_view name, std::string_view help, const LatencyHistogram& latencies) {
  const auto totals = latencies.Read();
  Histogram(name, help, BoundsOf(latencies), totals.counts, totals.sum.seconds());
}

void MetricsWriter::HistogramFamily(std::string_view name, std::string_view help) { Family(name, "histogram", help); }

void MetricsWriter::Sample(std::string_view label, std::string_view label_value, const LatencyHistogram& latencies) {
  const auto totals = latencies.Read();
  Buckets(Label(label, label_value), BoundsOf(latencies), totals.counts, totals.sum.seconds());
}

void WriteProcessMetrics(MetricsWriter* out) {
  rusage own{};
  ::getrusage(RUSAGE_SELF, &own);
  out->Counter("process_cpu_seconds_total", "CPU time of this process, without its children.",
               SecondsOf(own.ru_utime) + SecondsOf(own.ru_stime));
  // statm: total and resident size in pages.
  const auto statm = ReadFile("/proc/self/statm");
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  uint64_t total = 0, resident = 0;
  if (statm.ok() && std::sscanf(statm->c_str(), "%" SCNu64 " %" SCNu64, &total, &resident) == 2) {
    out->Gauge("process_virtual_memory_bytes", "Virtual memory of this process.", total * page);
    out->Gauge("process_resident_memory_bytes", "Resident memory of this process.", resident * page);
  }
  if (const auto open = ListDirectory("/proc/self/fd"); open.ok()) {
    out->Gauge("process_open_fds", "Open descriptors.", open->size() - 1);  // without that of the directory
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    out->Gauge("process_max_fds", "Descriptors that may be open.", uint64_t{limit.rlim_cur});
  }
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
