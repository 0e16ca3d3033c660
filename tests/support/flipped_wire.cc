#include "tests/support/flipped_wire.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/http_get.h"

namespace mr::test {
namespace {

constexpr int kStopCheckMs = 50;  // how soon the thread sees that it has to stop

}  // namespace

FlippedWire::FlippedWire(uint16_t server_port, Direction direction, uint64_t at)
    : server_port_(server_port),
      direction_(direction),
      at_(at),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(listener_.get(), 8) == 0 &&
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    port_ = ntohs(address.sin_port);
  }
  thread_ = std::thread([this] { Carry(); });
}

FlippedWire::~FlippedWire() {
  stop_ = true;
  thread_.join();
}

void FlippedWire::Carry() {
  while (!stop_) {
    pollfd waits{listener_.get(), POLLIN, 0};
    if (::poll(&waits, 1, kStopCheckMs) <= 0) continue;
    const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const UniqueFd server = Connect(server_port_);
    if (client.valid() && server.valid()) Forward(client, server);
  }
}

void FlippedWire::Forward(const UniqueFd& client, const UniqueFd& server) {
  pollfd ends[2] = {{client.get(), POLLIN, 0}, {server.get(), POLLIN, 0}};
  uint64_t carried[2] = {0, 0};
  char buffer[4096];
  while (!stop_) {
    if (::poll(ends, 2, kStopCheckMs) <= 0) continue;
    for (const int from : {0, 1}) {
      if (ends[from].revents == 0) continue;
      const ssize_t got = ::recv(ends[from].fd, buffer, sizeof buffer, 0);
      if (got <= 0) return;
      if (from == direction_ && at_ >= carried[from] && at_ < carried[from] + static_cast<uint64_t>(got)) {
        buffer[at_ - carried[from]] ^= 1;
        flipped_ = true;
      }
      carried[from] += static_cast<uint64_t>(got);
      if (!SendAll(from == 0 ? server : client, {buffer, static_cast<size_t>(got)})) return;
    }
  }
}

}  // namespace mr::test
