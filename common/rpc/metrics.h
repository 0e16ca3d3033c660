// The lines of /metrics (Prometheus text) about a daemon's sockets, and how one line is written.
#pragma once

#include <string>

#include "common/rpc/http_port.h"
#include "common/rpc/server.h"

namespace mr::rpc {

// One metric without labels. type: "gauge" or "counter"; help: a sentence.
void Metric(std::string* out, const char* name, const char* type, const char* help, double value);

std::string ServerMetrics(const ServerCounts& rpc, const HttpCounts& http);

}  // namespace mr::rpc
