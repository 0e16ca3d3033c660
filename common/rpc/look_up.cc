#include "common/rpc/look_up.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace mr::rpc {
namespace {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

struct LookedUp {
  std::vector<SocketAddress> addresses;
  std::string error;
};

bool IsNumber(const std::string& host) {
  in_addr parsed{};
  return host.front() == '[' || inet_pton(AF_INET, host.c_str(), &parsed) == 1;
}

// Blocks.
LookedUp LookUpNow(const std::string& host, uint16_t port) {
  LookedUp out;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) {
    out.error = "the name '" + host + "' cannot be resolved: " + gai_strerror(error);
    return out;
  }
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    if (at->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress& address = out.addresses.emplace_back();
    std::memcpy(&address.bytes, at->ai_addr, at->ai_addrlen);
    address.size = at->ai_addrlen;
  }
  freeaddrinfo(list);
  return out;
}

// The fulfiller may outlive the promise and its loop. Fulfilling it then does nothing.
kj::Promise<LookedUp> LookUp(const std::string& host, uint16_t port) {
  auto paf = kj::newPromiseAndCrossThreadFulfiller<LookedUp>();
  // Shared, since std::thread takes no object with a destructor that may throw.
  auto fulfiller = std::make_shared<kj::Own<kj::CrossThreadPromiseFulfiller<LookedUp>>>(kj::mv(paf.fulfiller));
  std::thread([host, port, fulfiller] { (*fulfiller)->fulfill(LookUpNow(host, port)); }).detach();
  return kj::mv(paf.promise);
}

kj::Promise<kj::Own<kj::AsyncIoStream>> ConnectToOne(kj::Network& network, std::vector<SocketAddress> addresses,
                                                     size_t i) {
  auto address = network.getSockaddr(&addresses[i].bytes, addresses[i].size);
  auto connecting = address->connect().attach(kj::mv(address));
  if (i + 1 == addresses.size()) return connecting;
  return connecting.catch_([&network, addresses = std::move(addresses), i](kj::Exception&&) mutable {
    return ConnectToOne(network, std::move(addresses), i + 1);
  });
}

}  // namespace

kj::Promise<kj::Own<kj::AsyncIoStream>> ConnectToHost(kj::Network& network, const std::string& host, uint16_t port) {
  if (IsNumber(host)) {
    return network.parseAddress(host.c_str(), port).then([](kj::Own<kj::NetworkAddress> address) {
      auto connecting = address->connect();
      return connecting.attach(kj::mv(address));
    });
  }
  return LookUp(host, port).then([&network](LookedUp found) -> kj::Promise<kj::Own<kj::AsyncIoStream>> {
    if (found.addresses.empty())
      return kj::Exception(kj::Exception::Type::FAILED, __FILE__, __LINE__, kj::heapString(found.error.c_str()));
    return ConnectToOne(network, std::move(found.addresses), 0);
  });
}

}  // namespace mr::rpc
