// Chunk compression: zstd 1, zstd -5 or stored, chosen by the ratio that the first chunk reaches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr {

// On the wire and on disk.
enum class Codec : uint8_t { kStored = 0, kZstd = 1 };

// Compresses at this zstd level; gives kStored and the bytes themselves where that is not smaller.
// Deterministic for one version of the library. Thread-safe.
Codec Compress(std::string_view raw, int level, std::string* out);

// Undoes Compress. kCorrupted where the bytes do not give exactly raw_bytes, which must be at most
// limit (a bomb is refused before any allocation).
Status Decompress(Codec codec, std::string_view stored, uint64_t raw_bytes, uint64_t limit, std::string* out);

// The level for the rest of a stream, from how its first chunk did: 1, -5, or 0 for "store".
int LevelForRatio(uint64_t raw_bytes, uint64_t stored_bytes);

}  // namespace mr
