// Facts about a daemon beside its answers: its log and its metrics, where this machine reaches them.
// Blocks for at most some seconds per call. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace mr::ctl {

// Returns whether the process with this id on this machine is that program ("mrmaster").
bool RunsHere(uint32_t pid, const std::string& program);

// Returns the last `most` bytes of the log of such a process: of the file that is its standard error.
// Errors: kNotFound: it is no file, with the way to see it; kNotAllowed.
Result<std::string> LogOfProcess(uint32_t pid, uint64_t most);

// Returns the HTTP port of such a process: the port that it listens at besides `rpc_port`; 0 if there is no one such.
uint16_t HttpPortOf(uint32_t pid, uint16_t rpc_port);

// Returns the body of http://host:port/path, at most `most` bytes of it, with the secret of that port if this user has
// it. Errors: kUnavailable, also for a daemon that speaks TLS; kNotAllowed.
// See DaemonPages for those that do.
Result<std::string> GetHttp(const std::string& host, uint16_t port, const std::string& path, uint64_t most);
// Returns the body of a daemon's reply. where: "host:port", for messages. Errors: kUnavailable: no reply of a daemon,
// or none with a page; kNotAllowed.
Result<std::string> BodyOf(const std::string& where, const std::string& reply);

}  // namespace mr::ctl
