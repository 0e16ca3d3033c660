// The hello: 64 bytes that both ends send before any Cap'n Proto byte, with role, protocol and cluster.
// A peer with a wrong hello, or without one for kHelloTimeout, is closed. No byte of it is decoded as a
// message.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr::rpc {

inline constexpr size_t kHelloBytes = 64;
// Since version 4, kinds of failures and verdicts are enums. Peers of another version are refused with both versions.
inline constexpr uint32_t kProtocolVersion = 4;
inline constexpr Duration kHelloTimeout = Seconds(5);

// The numbers are on the wire.
enum class Role : uint32_t {
  kClient = 1,      // mrctl to master
  kWorker = 2,      // worker to master: control
  kHeartbeat = 3,   // worker to master: beats only
  kData = 4,        // anybody to a worker's data server: bulk
  kMaster = 5,      // in a reply
  kDataServer = 6,  // in a reply
  kProbe = 7,       // a daemon to itself, or doctor to a daemon: answered with a reply and closed
};

struct Hello {
  uint32_t protocol = kProtocolVersion;
  Role role = Role::kClient;
  uint64_t cluster_id = 0;   // 0 = any (a client that does not know it yet)
  uint64_t incarnation = 0;  // of the sending daemon; 0 for clients
  uint32_t refused = 0;      // in a reply: 0, or a Code, after which the server closes
};

std::array<uint8_t, kHelloBytes> EncodeHello(const Hello& hello);
// Decodes a hello. Errors: kInvalidArgument for bytes that are no hello; kUnavailable for another protocol version.
Result<Hello> DecodeHello(const std::array<uint8_t, kHelloBytes>& bytes);

}  // namespace mr::rpc
