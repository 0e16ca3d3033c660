#include "common/rpc/metrics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "common/rpc/call_times.h"
#include "common/rpc/http_server.h"
#include "common/rpc/server.h"

namespace mr::rpc {
namespace {

TEST(MetricsTest, WritesHelpTypeAndSamples) {
  MetricsWriter out;
  out.Gauge("mr_slots", "Slots.", 8u);
  out.Counter("mr_done_total", "Attempts that ended.", uint64_t{3});
  out.CounterFamily("mr_reads_total", "Reads, by kind.");
  out.Sample("how", "exclusive", 1);
  out.Sample("how", "contended", 0);
  EXPECT_EQ(out.Take(),
            "# HELP mr_slots Slots.\n# TYPE mr_slots gauge\nmr_slots 8\n"
            "# HELP mr_done_total Attempts that ended.\n# TYPE mr_done_total counter\nmr_done_total 3\n"
            "# HELP mr_reads_total Reads, by kind.\n# TYPE mr_reads_total counter\n"
            "mr_reads_total{how=\"exclusive\"} 1\nmr_reads_total{how=\"contended\"} 0\n");
  EXPECT_EQ(out.Take(), "");
}

TEST(MetricsTest, NumbersAreExact) {
  EXPECT_EQ(MetricValue(true).text, "1");
  EXPECT_EQ(MetricValue(std::numeric_limits<uint64_t>::max()).text, "18446744073709551615");
  EXPECT_EQ(MetricValue(-5).text, "-5");
  EXPECT_EQ(MetricValue(3.0).text, "3");
  EXPECT_EQ(MetricValue(.1).text, "0.10000000000000001");
  EXPECT_EQ(MetricValue(HUGE_VAL).text, "+Inf");
  EXPECT_EQ(MetricValue(-HUGE_VAL).text, "-Inf");
}

TEST(MetricsTest, LabelValuesAreEscaped) {
  MetricsWriter out;
  out.GaugeFamily("m", "H.");
  out.Sample("name", "a\\b\"c\nd", 1);
  EXPECT_EQ(out.Take(), "# HELP m H.\n# TYPE m gauge\nm{name=\"a\\\\b\\\"c\\nd\"} 1\n");
}

TEST(MetricsTest, HistogramsHaveCumulativeBucketsAndASum) {
  constexpr std::array<Duration, 2> kBounds = {Millis(1), Millis(250)};
  LatencyHistogram latencies(kBounds);
  for (const Duration latency : {Micros(500), Millis(1), Millis(200), Seconds(2)}) latencies.Add(latency);
  MetricsWriter out;
  out.Histogram("mr_sync_seconds", "Syncs.", latencies);
  out.HistogramFamily("mr_calls_seconds", "Calls.");
  out.Sample("method", "Master.submit", latencies);
  EXPECT_EQ(out.Take(), R"(# HELP mr_sync_seconds Syncs.
# TYPE mr_sync_seconds histogram
mr_sync_seconds_bucket{le="0.001"} 2
mr_sync_seconds_bucket{le="0.25"} 3
mr_sync_seconds_bucket{le="+Inf"} 4
mr_sync_seconds_sum 2.2015000000000002
mr_sync_seconds_count 4
# HELP mr_calls_seconds Calls.
# TYPE mr_calls_seconds histogram
mr_calls_seconds_bucket{method="Master.submit",le="0.001"} 2
mr_calls_seconds_bucket{method="Master.submit",le="0.25"} 3
mr_calls_seconds_bucket{method="Master.submit",le="+Inf"} 4
mr_calls_seconds_sum{method="Master.submit"} 2.2015000000000002
mr_calls_seconds_count{method="Master.submit"} 4
)");
}

TEST(MetricsTest, HistogramsWithoutValuesAreZero) {
  constexpr std::array<Duration, 1> kBounds = {Millis(1)};
  MetricsWriter out;
  out.Histogram("m_seconds", "H.", LatencyHistogram(kBounds));
  EXPECT_EQ(out.Take(), R"(# HELP m_seconds H.
# TYPE m_seconds histogram
m_seconds_bucket{le="0.001"} 0
m_seconds_bucket{le="+Inf"} 0
m_seconds_sum 0
m_seconds_count 0
)");
}

TEST(CallTimesTest, EachMethodThatWasCalledHasItsOwnHistogram) {
  MethodAccess submit, kill, drain;
  submit.name = "submit";
  kill.name = "kill";
  drain.name = "drain";
  CallTimes times;
  MetricsWriter out;
  times.Write(&out);
  EXPECT_EQ(out.Take(),
            "# HELP mr_rpc_handling_seconds From the arrival of a call to its answer, by method.\n"
            "# TYPE mr_rpc_handling_seconds histogram\n");
  times.Add("MasterForClient", submit, Micros(50));
  times.Add("MasterForClient", submit, Millis(3));
  times.Add("MasterForClient", kill, Seconds(11));
  times.Write(&out);
  const std::string page = out.Take();
  const auto has = [&](const std::string& line) { return page.find("\n" + line + "\n") != std::string::npos; };
  EXPECT_TRUE(has("mr_rpc_handling_seconds_bucket{method=\"MasterForClient.submit\",le=\"5e-05\"} 1")) << page;
  EXPECT_TRUE(has("mr_rpc_handling_seconds_bucket{method=\"MasterForClient.submit\",le=\"0.005\"} 2")) << page;
  EXPECT_TRUE(has("mr_rpc_handling_seconds_count{method=\"MasterForClient.submit\"} 2")) << page;
  EXPECT_TRUE(has("mr_rpc_handling_seconds_bucket{method=\"MasterForClient.kill\",le=\"10\"} 0")) << page;
  EXPECT_TRUE(has("mr_rpc_handling_seconds_count{method=\"MasterForClient.kill\"} 1")) << page;
  EXPECT_TRUE(has("mr_rpc_handling_seconds_sum{method=\"MasterForClient.kill\"} 11")) << page;
  EXPECT_EQ(page.find("drain"), std::string::npos) << "nobody called it";
}

TEST(LatencyHistogramTest, ABoundBelongsToItsBucketAndTheRestToTheLast) {
  LatencyHistogram latencies(kAttemptBounds);
  for (const Duration bound : kAttemptBounds) {
    latencies.Add(bound);
    latencies.Add(bound + Nanos(1));
  }
  const auto totals = latencies.Read();
  ASSERT_EQ(totals.counts.size(), kAttemptBounds.size() + 1);
  // Each bucket adds its own bound and the value just above the bound before.
  for (size_t i = 0; i < kAttemptBounds.size(); ++i) EXPECT_EQ(totals.counts[i], 2 * i + 1) << i;
  EXPECT_EQ(totals.counts.back(), 2 * kAttemptBounds.size());
}

TEST(LatencyHistogramTest, ThreadsAddWithoutLosingAnything) {
  LatencyHistogram latencies(kCallBounds);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) latencies.Add(Micros(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto totals = latencies.Read();
  ASSERT_EQ(totals.counts.size(), kCallBounds.size() + 1);
  EXPECT_EQ(totals.counts[0], 4 * 51u);  // 0 to 50 us
  EXPECT_EQ(totals.counts.back(), 4000u);
  EXPECT_EQ(totals.sum, Micros(4 * 999 * 500));
}

TEST(LatencyHistogramTest, NegativeLatenciesCountAsZero) {
  LatencyHistogram latencies(kCallBounds);
  latencies.Add(Millis(-3));
  EXPECT_EQ(latencies.Read().counts[0], 1u);
  EXPECT_EQ(latencies.Read().sum, Duration{});
}

TEST(MetricsTest, ProcessesUseMemoryTimeAndDescriptors) {
  MetricsWriter out;
  WriteProcessMetrics(&out);
  const std::string page = out.Take();
  for (const char* name : {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_virtual_memory_bytes",
                           "process_open_fds", "process_max_fds"}) {
    EXPECT_NE(page.find(std::string("\n") + name + " "), std::string::npos) << name;
  }
}

// Dashboards read these names.
TEST(MetricsTest, SocketMetricsKeepTheirNames) {
  ServerCounts rpc;
  rpc.greeting = 1;
  rpc.clients = 2;
  rpc.data = 3;
  rpc.workers = 4;
  rpc.accept_failures = 6;
  rpc.silent = 8;
  rpc.idle = 9;
  rpc.slow = 10;
  rpc.refused = 11;
  rpc.queued_bytes = 14;
  rpc.not_allowed = 15;
  rpc.revoked = 16;
  rpc.identities = 17;
  rpc.systems = 16;
  HttpCounts http;
  http.connections = 5;
  http.accept_failures = 7;
  http.slow = 12;
  http.replaced = 13;
  http.refused = 18;
  http.revoked = 19;
  MetricsWriter out;
  WriteSocketMetrics(&out, rpc, http);
  EXPECT_EQ(out.Take(), R"(# HELP mr_connections Open connections, by kind.
# TYPE mr_connections gauge
mr_connections{kind="greeting"} 1
mr_connections{kind="client"} 2
mr_connections{kind="data"} 3
mr_connections{kind="worker"} 4
mr_connections{kind="http"} 5
# HELP mr_identities_total Peers that have proved an identity.
# TYPE mr_identities_total counter
mr_identities_total 17
# HELP mr_message_streams_total Connections that messages were read from, of peers with an identity only.
# TYPE mr_message_streams_total counter
mr_message_streams_total 16
# HELP mr_accept_failures_total Accepts that failed and were tried again.
# TYPE mr_accept_failures_total counter
mr_accept_failures_total{port="rpc"} 6
mr_accept_failures_total{port="http"} 7
# HELP mr_connections_closed_total Connections that this side ended, by reason.
# TYPE mr_connections_closed_total counter
mr_connections_closed_total{reason="silent"} 8
mr_connections_closed_total{reason="idle"} 9
mr_connections_closed_total{reason="slow"} 10
mr_connections_closed_total{reason="refused"} 11
mr_connections_closed_total{reason="not_allowed"} 15
mr_connections_closed_total{reason="revoked"} 16
mr_connections_closed_total{reason="http_slow"} 12
mr_connections_closed_total{reason="http_replaced"} 13
mr_connections_closed_total{reason="http_refused"} 18
mr_connections_closed_total{reason="http_revoked"} 19
# HELP mr_send_queue_bytes Bytes that wait to be sent on RPC connections.
# TYPE mr_send_queue_bytes gauge
mr_send_queue_bytes 14
)");
}

}  // namespace
}  // namespace mr::rpc
