// A small HTTP client for the pages of daemons on loopback, which can also keep its connection.
#pragma once

#include <cstdint>
#include <string>

#include "common/io/files.h"

namespace mr::test {

// A TCP connection to this port whose sends and receives end after 20 s. Not valid: it was not accepted.
UniqueFd Connect(uint16_t port);
// One answer with its head, over a connection that stays open. Empty: no answer.
std::string HttpGet(const UniqueFd& connection, const std::string& path);
std::string HttpGet(uint16_t port, const std::string& path);

}  // namespace mr::test
