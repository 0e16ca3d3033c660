// Raw bytes to a port of a daemon on loopback, for tests of what peers may send.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "common/io/secret_file.h"
#include "common/rpc/credential.h"
#include "common/rpc/hello.h"
#include "tests/support/http_get.h"

namespace mr::test {

inline std::string BytesOf(const rpc::Hello& hello) {
  const auto bytes = rpc::EncodeHello(hello);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns the frame that presents this secret.
inline std::string SecretFrame(const std::string& secret) {
  return rpc::EncodeCredential({rpc::CredentialKind::kSecret, Secret<std::string>(secret)}).Reveal();
}

// Returns the frame with the secret of the daemon at this port; "" where it has none, as an HTTP port.
inline std::string OwnersFrame(uint16_t port) {
  const auto secret =
      ReadSecretFile(SecretDirectory().value() + "/" + SecretFileName("127.0.0.1:" + std::to_string(port)));
  if (!secret.ok()) return "";
  const SecretBytes& bytes = secret->client.Reveal();
  return SecretFrame({bytes.begin(), bytes.end()});
}

// Sends the bytes and reads until the daemon closes. Returns false where it does not within the limit of Connect.
inline bool SendUntilClosed(uint16_t port, const std::string& bytes, std::string* reply = nullptr) {
  const UniqueFd fd = Connect(port);
  if (!fd.valid()) return false;
  (void)::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ::shutdown(fd.get(), SHUT_WR);
  char buffer[4096];
  ssize_t n = 0;
  while ((n = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0) {
    if (reply != nullptr) reply->append(buffer, static_cast<size_t>(n));
  }
  return n == 0 || errno == ECONNRESET;
}

}  // namespace mr::test
