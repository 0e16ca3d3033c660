// Compression of chunks: zstd level 1, zstd level -5 or none, chosen by the ratio that the first chunk reaches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr {

// The numbers are on the wire and on disk.
enum class Codec : uint8_t { kStored = 0, kZstd = 1 };

// Compresses at this zstd level; level 0 stores. Returns kStored and the bytes themselves where compression does not
// make them smaller. Deterministic for one version of zstd. Thread: any.
Codec Compress(std::string_view raw, int level, std::string* out);

// Decompresses the result of Compress. Errors: kCorrupted where the bytes do not decompress to exactly raw_bytes, or
// where raw_bytes > limit (a bomb is refused before any allocation).
Status Decompress(Codec codec, std::string_view stored, uint64_t raw_bytes, uint64_t limit, std::string* out);

// Returns the level for the rest of a stream, from the ratio of its first chunk: 1, -5, or 0 to store.
int LevelForRatio(uint64_t raw_bytes, uint64_t stored_bytes);

}  // namespace mr
