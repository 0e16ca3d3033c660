#include "tests/support/http_get.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>

#include "common/rpc/http_entry.h"

namespace mr::test {

UniqueFd Connect(uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{20, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

bool SendAll(const UniqueFd& connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string BearerOf(uint16_t port) {
  const auto bearer = rpc::BearerFor("127.0.0.1:" + std::to_string(port));
  return bearer.ok() ? "Authorization: " + bearer->Reveal() + "\r\n" : "";
}

std::string HttpGet(const UniqueFd& connection, const std::string& path) {
  sockaddr_in to{};
  socklen_t size = sizeof to;
  ::getpeername(connection.get(), reinterpret_cast<sockaddr*>(&to), &size);
  const std::string request =
      "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + BearerOf(ntohs(to.sin_port)) + "\r\n";
  if (!SendAll(connection, request)) return "";
  std::string text;
  char buffer[65536];
  while (true) {
    const size_t head = text.find("\r\n\r\n");
    const size_t at = text.find("Content-Length: ");
    if (head != std::string::npos && at != std::string::npos && at < head &&
        text.size() >= head + 4 + std::stoul(text.substr(at + 16))) {
      return text;
    }
    const ssize_t n = ::recv(connection.get(), buffer, sizeof buffer, 0);
    if (n <= 0) return "";
    text.append(buffer, static_cast<size_t>(n));
  }
}

std::string HttpGet(uint16_t port, const std::string& path) { return HttpGet(Connect(port), path); }

std::string RawHttp(uint16_t port, const std::string& request) {
  const UniqueFd fd = Connect(port);
  if (!fd.valid() || !SendAll(fd, request)) return "";
  shutdown(fd.get(), SHUT_WR);
  std::string response;
  char buffer[4096];
  for (ssize_t n; (n = read(fd.get(), buffer, sizeof buffer)) > 0;) response.append(buffer, static_cast<size_t>(n));
  return response;
}

}  // namespace mr::test
