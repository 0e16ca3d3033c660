// SHA-256 (FIPS 180-4). The name of an operator library is the digest of its bytes. For such names and
// for digests that users publish; the data plane uses XXH3 (common/base/digest.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr {

// A running digest. It does not depend on how the bytes are split into Update calls.
class Sha256 {
 public:
  Sha256();
  void Update(std::string_view bytes);
  // Returns 64 lower-case hexadecimal digits. Does not end the stream: more bytes may be added afterwards.
  std::string HexDigest() const;

 private:
  void Block(const uint8_t* block);

  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> pending_;
  uint64_t bytes_ = 0;
};

// Returns the digest of a whole file, which it reads in pieces. Blocks: not for an event loop.
Result<std::string> Sha256File(const std::string& path);

}  // namespace mr
