// Writes the lines of /metrics (Prometheus text): those about a daemon's sockets, and single metrics.
#pragma once

#include <string>

#include "common/rpc/http_port.h"
#include "common/rpc/server.h"

namespace mr::rpc {

// Appends one metric without labels. type: "gauge" or "counter". help: a sentence.
void Metric(std::string* out, const char* name, const char* type, const char* help, double value);

std::string ServerMetrics(const ServerCounts& rpc, const HttpCounts& http);

}  // namespace mr::rpc
