// CRC-32C (Castagnoli), with the SSE4.2 instruction where the machine has it.
#pragma once

#include <cstdint>
#include <string_view>

namespace mr {

// Returns the checksum of `bytes`. Crc32c(b, Crc32c(a)) is the checksum of a followed by b.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

}  // namespace mr
