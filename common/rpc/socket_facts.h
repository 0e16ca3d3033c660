// Facts that a socket itself shows of its ends, without a word of the peer.
#pragma once

#include <kj/async-io.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace mr::rpc {

struct SocketFacts {
  std::string address;          // numeric: "127.0.0.1:7070", "[::1]:7070"; "unix" for a unix socket
  bool loopback = false;        // the other end is on this machine; a unix socket's always is
  std::optional<uint32_t> uid;  // of the process at the other end of a unix socket
  std::string certificate;      // common name that the peer's certificate proved; "": no TLS, or no certificate
};

// Returns facts of the other end of a connection. One that is closed already has the address "unknown".
SocketFacts FactsOfPeer(kj::AsyncIoStream& stream);
// Returns "127.0.0.1:7070" or "[::1]:7070" for an address. Other families: "unix".
std::string AddressText(const sockaddr_storage& address);
// Returns whether only this machine reaches the address: 127.0.0.0/8 (also mapped to IPv6), ::1, a unix socket.
bool IsLoopback(const sockaddr_storage& address);

}  // namespace mr::rpc
