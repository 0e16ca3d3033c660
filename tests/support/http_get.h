// A small HTTP client for the pages of daemons on loopback. It can keep a connection open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/io/files.h"

namespace mr::test {

// Opens a TCP connection to this port, with a timeout of 20 s for sends and receives. Returns an invalid descriptor if
// it is not accepted.
UniqueFd Connect(uint16_t port);
// Sends all these bytes. Returns false where the peer has closed the connection, or the send fails or times out. Unlike
// WriteAll it raises no SIGPIPE, by which the whole test would end.
bool SendAll(const UniqueFd& connection, std::string_view bytes);
// Returns the header line with which this user reads the pages of a daemon without certificates, from the secret that
// it wrote for this HTTP port; "" if there is none.
std::string BearerOf(uint16_t port);
// Gets a page over a connection that stays open, or over a new one, with the header of BearerOf. Returns the answer
// with its head; "" if there is none.
std::string HttpGet(const UniqueFd& connection, const std::string& path);
std::string HttpGet(uint16_t port, const std::string& path);
// Sends these bytes and no more, and returns all that is answered.
std::string RawHttp(uint16_t port, const std::string& request);

}  // namespace mr::test
