#include "common/rpc/hello.h"

#include <cstring>

namespace mr::rpc {
namespace {

// Offsets: 0 magic, 8 protocol, 12 role, 16 cluster id, 24 incarnation, 32 refused, 36 flags, 40.. zero.
template <class T>
void Store(std::array<uint8_t, kHelloBytes>* bytes, size_t at, T value) {
  std::memcpy(bytes->data() + at, &value, sizeof value);
}
template <class T>
T Load(const std::array<uint8_t, kHelloBytes>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

std::array<uint8_t, kHelloBytes> EncodeHello(const Hello& hello) {
  std::array<uint8_t, kHelloBytes> bytes{};
  std::memcpy(bytes.data(), kHelloMagic.data(), kHelloMagic.size());
  Store(&bytes, 8, hello.protocol);
  Store(&bytes, 12, static_cast<uint32_t>(hello.role));
  Store(&bytes, 16, hello.cluster_id);
  Store(&bytes, 24, hello.incarnation);
  Store(&bytes, 32, hello.refused);
  Store(&bytes, 36, hello.flags);
  return bytes;
}

Result<Hello> DecodeHello(const std::array<uint8_t, kHelloBytes>& bytes) {
  if (std::memcmp(bytes.data(), kHelloMagic.data(), kHelloMagic.size()) != 0) {
    return InvalidArgument("the peer does not speak Paceline's protocol");
  }
  Hello hello;
  hello.protocol = Load<uint32_t>(bytes, 8);
  if (hello.protocol != kProtocolVersion) {
    return Unavailable("the peer speaks protocol " + std::to_string(hello.protocol) + ", this program " +
                       std::to_string(kProtocolVersion) + "; use the same release on both sides");
  }
  const uint32_t role = Load<uint32_t>(bytes, 12);
  if (role < 1 || role > static_cast<uint32_t>(Role::kJoin)) {
    return InvalidArgument("the peer claims an unknown role");
  }
  hello.role = static_cast<Role>(role);
  hello.cluster_id = Load<uint64_t>(bytes, 16);
  hello.incarnation = Load<uint64_t>(bytes, 24);
  hello.refused = Load<uint32_t>(bytes, 32);
  hello.flags = Load<uint32_t>(bytes, 36);
  if ((hello.flags & ~kHelloFlags) != 0) return InvalidArgument("the peer's hello has unknown flags");
  for (size_t i = 40; i < kHelloBytes; ++i) {
    if (bytes[i] != 0) return InvalidArgument("the peer's hello has unknown content");
  }
  return hello;
}

}  // namespace mr::rpc
