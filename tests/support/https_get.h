// A small HTTPS client for the pages of daemons with certificates, on loopback.
#pragma once

#include <cstdint>
#include <string>

namespace mr::test {

// Sends a GET with these header lines and returns the whole answer; a text that begins with "error: " where TLS fails.
// authority_pem: the cluster's. name: that the daemon must prove.
std::string HttpsGet(uint16_t port, const std::string& authority_pem, const std::string& name, const std::string& path,
                     const std::string& headers = "");

}  // namespace mr::test
