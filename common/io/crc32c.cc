#include "common/io/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace mr {

uint32_t Crc32c(std::string_view bytes, uint32_t crc) {
  constexpr size_t kMost = 1 << 30;  // ISA-L takes the length as an int
  crc = ~crc;
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), kMost);
    // It does not write to the bytes; its prototype lacks the const.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(n), crc);
    bytes.remove_prefix(n);
  }
  return ~crc;
}

}  // namespace mr
