// CRC-32C (Castagnoli), by ISA-L.
#pragma once

#include <cstdint>
#include <string_view>

namespace mr {

// Returns the checksum of `bytes`. Crc32c(b, Crc32c(a)) is the checksum of a followed by b.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

}  // namespace mr
