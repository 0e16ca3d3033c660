// SHA-256 (FIPS 180-4): the name of an operator library is the digest of its bytes. For names and
// comparison with what users publish; bytes of the data plane use XXH3 (common/base/digest.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr {

// Running digest; the borders of Update calls do not matter.
class Sha256 {
 public:
  Sha256();
  void Update(std::string_view bytes);
  // 64 lower-case hexadecimal digits. Does not end the stream: more may be added afterwards.
  std::string HexDigest() const;

 private:
  void Block(const uint8_t* block);

  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> pending_;
  uint64_t bytes_ = 0;
};

// Of a whole file, read in pieces. Blocks: not for an event loop.
Result<std::string> Sha256File(const std::string& path);

}  // namespace mr
