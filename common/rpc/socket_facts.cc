#include "common/rpc/socket_facts.h"

#include <arpa/inet.h>
#include <kj/debug.h>
#include <netinet/in.h>

namespace mr::rpc {

std::string AddressText(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(in.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(in.sin6_port));
  }
  return "unix";
}

bool IsLoopback(const sockaddr_storage& address) {
  constexpr uint8_t kLoopbackNet = 127;
  if (address.ss_family == AF_UNIX) return true;
  if (address.ss_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == kLoopbackNet;
  }
  if (address.ss_family != AF_INET6) return false;
  const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == kLoopbackNet);
}

SocketFacts FactsOfPeer(kj::AsyncIoStream& stream) {
  SocketFacts facts;
  facts.address = "unknown";
  sockaddr_storage address{};
  uint length = sizeof address;
  const auto failed = kj::runCatchingExceptions([&] {
    stream.getpeername(reinterpret_cast<sockaddr*>(&address), &length);
    facts.address = AddressText(address);
    facts.loopback = IsLoopback(address);
    if (address.ss_family != AF_UNIX) return;
    ucred peer{};
    length = sizeof peer;
    stream.getsockopt(SOL_SOCKET, SO_PEERCRED, &peer, &length);
    facts.uid = peer.uid;
  });
  (void)failed;  // the facts stay those of an unknown peer
  return facts;
}

}  // namespace mr::rpc
