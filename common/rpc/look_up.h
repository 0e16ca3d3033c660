// Connects to a host by its name. KJ looks names up on a thread that writes to a pipe of the promise: if the promise is
// dropped first, that thread prints an error. The thread here ends in silence.
#pragma once

#include <kj/async-io.h>

#include <cstdint>
#include <string>

namespace mr::rpc {

// Connects to the first address of the host that answers. host: a name, or a number as KJ parses it. The promise may be
// dropped at any time. Errors: a kj::Exception. Thread: a KJ loop.
kj::Promise<kj::Own<kj::AsyncIoStream>> ConnectToHost(kj::Network& network, const std::string& host, uint16_t port);

}  // namespace mr::rpc
