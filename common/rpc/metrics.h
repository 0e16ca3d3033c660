// Writes the text of /metrics (Prometheus text format 0.0.4). Both daemons use it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "common/base/latency_histogram.h"

namespace mr::rpc {

struct HttpCounts;
struct ServerCounts;

// A number as /metrics prints it: integers exactly, others with 17 digits.
struct MetricValue {
  template <class T>
  requires std::is_integral_v<T> MetricValue(T value) : text(std::to_string(value)) {}
  MetricValue(double value);
  std::string text;
};

// Appends metrics to a text. A metric has a name, a help sentence, a type and one or more samples. Names and helps are
// literals of the caller. Thread: one at a time.
class MetricsWriter {
 public:
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

  // A metric with one sample and no label. A gauge goes up and down; a counter only goes up until the process restarts.
  void Gauge(std::string_view name, std::string_view help, const MetricValue& value);
  void Counter(std::string_view name, std::string_view help, const MetricValue& value);

  // A metric with labels: the samples that follow belong to it.
  void GaugeFamily(std::string_view name, std::string_view help);
  void CounterFamily(std::string_view name, std::string_view help);
  void Sample(std::string_view label, std::string_view label_value, const MetricValue& value);
  void Sample(const MetricValue& value);

  // counts: of the values at most as large as each bound, and of all; sum: of the values. Bounds and sum in seconds.
  void Histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                 std::span<const uint64_t> counts, double sum);
  void Histogram(std::string_view name, std::string_view help, const LatencyHistogram& latencies);
  // A histogram with a label: the samples that follow belong to it.
  void HistogramFamily(std::string_view name, std::string_view help);
  void Sample(std::string_view label, std::string_view label_value, const LatencyHistogram& latencies);

  // Returns what was written. The writer is empty afterwards.
  std::string Take() { return std::exchange(out_, {}); }

 private:
  void Family(std::string_view name, std::string_view type, std::string_view help);
  // labels: none, or `NAME="VALUE"`.
  void Buckets(const std::string& labels, std::span<const double> bounds, std::span<const uint64_t> counts, double sum);

  std::string out_;
  std::string name_;  // of the current metric
};

// Writes what this process uses, by the names that Prometheus gives to any process: CPU time, memory, descriptors.
void WriteProcessMetrics(MetricsWriter* out);

// Writes a daemon's sockets: open connections, those that were closed, bytes that wait.
void WriteSocketMetrics(MetricsWriter* out, const ServerCounts& rpc, const HttpCounts& http);

}  // namespace mr::rpc
