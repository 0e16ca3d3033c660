// The hello: the first 64 bytes of both ends, with role, protocol and cluster. It is not authenticated: it chooses what
// follows and grants nothing. After it come TLS (where both sides have it), one credential and a verdict
// (credential.h), and only then Cap'n Proto. A peer that has not finished all of it within kHelloTimeout is closed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr::rpc {

inline constexpr size_t kHelloBytes = 64;
// The first bytes of a hello. Other programs' bytes (HTTP, TLS) differ in the first one.
inline constexpr std::string_view kHelloMagic = "PACELINE";
// Since version 5, a credential follows the hello. Peers of another version are refused with both versions.
inline constexpr uint32_t kProtocolVersion = 5;
inline constexpr Duration kHelloTimeout = Seconds(5);

// The numbers are on the wire.
enum class Role : uint32_t {
  kClient = 1,      // mrctl to master
  kWorker = 2,      // worker to master: control
  kHeartbeat = 3,   // worker to master: beats only
  kData = 4,        // anybody to a worker's data server: bulk
  kMaster = 5,      // in a reply
  kDataServer = 6,  // in a reply
  kProbe = 7,       // a daemon to itself, or doctor to a daemon: answered with a verdict and closed
  kJoin = 8,        // worker to master: asks for a certificate
};

// Bits of Hello::flags. The numbers are on the wire; a peer with another bit is refused.
enum HelloFlag : uint32_t {
  kHelloTls = 1,       // of a client: it can speak TLS after the reply; in a reply: TLS follows
  kHelloInsecure = 2,  // in a reply: the daemon asks nobody who they are (--insecure)
  kHelloNode = 4,      // of a client: it presents the certificate of a node in the TLS handshake
};
inline constexpr uint32_t kHelloFlags = kHelloTls | kHelloInsecure | kHelloNode;

struct Hello {
  uint32_t protocol = kProtocolVersion;
  Role role = Role::kClient;
  uint64_t cluster_id = 0;   // 0 = any (a client that does not know it yet)
  uint64_t incarnation = 0;  // of the sending daemon; 0 for clients
  uint32_t refused = 0;      // in a reply: 0, or a Code, after which the server closes
  uint32_t flags = 0;        // HelloFlag
};

std::array<uint8_t, kHelloBytes> EncodeHello(const Hello& hello);
// Decodes a hello. Errors: kInvalidArgument for bytes that are no hello; kUnavailable for another protocol version.
Result<Hello> DecodeHello(const std::array<uint8_t, kHelloBytes>& bytes);

}  // namespace mr::rpc
