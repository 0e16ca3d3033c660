#include "tests/support/wire.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "common/io/clock.h"

namespace mr::test {
namespace {

constexpr int kTurnMs = 10;

sockaddr_in At(const std::string& host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  MR_CHECK(::inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1, host);
  return address;
}

}  // namespace

Wire::Wire(const std::string& host, uint16_t port, double bytes_per_second)
    : host_(host), bytes_per_second_(bytes_per_second), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = At(host, port);
  MR_CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, host);
  MR_CHECK(::listen(listener_.get(), 64) == 0);
  socklen_t length = sizeof address;
  MR_CHECK(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Carry(); });
}

Wire::~Wire() {
  stop_ = true;
  thread_.join();
}

void Wire::Carry() {
  while (!stop_) {
    if (cut_) {
      for (Line& line : lines_) line.dumb = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(kTurnMs));
      continue;
    }
    std::vector<pollfd> ready = {{listener_.get(), POLLIN, 0}};
    for (const Line& line : lines_) {
      for (const UniqueFd& end : line.ends) ready.push_back({line.dumb ? -1 : end.get(), POLLIN, 0});
    }
    if (::poll(ready.data(), ready.size(), kTurnMs) <= 0) continue;
    size_t at = 1;
    for (Line& line : lines_) {
      for (int i = 0; i < 2; ++i, ++at) {
        if (ready[at].revents != 0) Pass(&line, i);
      }
    }
    if (ready[0].revents != 0) Accept();
  }
}

void Wire::Accept() {
  Line line;
  line.ends[0].reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  line.ends[1].reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = At("127.0.0.1", target_);
  if (::connect(line.ends[1].get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    lines_.push_back(std::move(line));
  }
}

// Passes bytes from one end to the other. When one end closes or fails, both are closed.
void Wire::Pass(Line* line, int from) {
  char buffer[64 << 10];
  const ssize_t n = line->dumb ? 0 : ::recv(line->ends[from].get(), buffer, sizeof buffer, MSG_DONTWAIT);
  const double limit = bytes_per_second_;
  if (n > 0 && limit > 0) {
    free_at_ = std::max(free_at_, Now()) + FromSeconds(static_cast<double>(n) / limit);
    std::this_thread::sleep_for(std::chrono::nanoseconds((free_at_ - Now()).ns));
  }
  if (n > 0 && ::send(line->ends[1 - from].get(), buffer, static_cast<size_t>(n), MSG_NOSIGNAL) == n) return;
  line->dumb = true;
  for (UniqueFd& end : line->ends) end.reset();
}

}  // namespace mr::test
