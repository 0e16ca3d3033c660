// Compression of chunks: zstd level 1, zstd level -5 or none, chosen by a setting and by the ratio that the first bytes
// reach. Never by measured time: attempts of one task choose alike.
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

// When the chunks of the shuffle are compressed.
enum class CodecChoice : uint8_t {
  kAuto,  // where it takes less time than the link needs for the bytes that it saves
  kNone,
  kZstd  // where the first bytes become smaller
};

struct CodecPolicy {
  CodecChoice choice = CodecChoice::kAuto;
  // Bytes per second of this machine's link that an attempt can count on: its speed by the number of slots. 0: unknown;
  // auto is then like zstd.
  double link_bytes_per_second = 0;

  // Returns whether a sample can lead to compression at all.
  bool MayCompress() const;
  // Returns the level for a stream whose first raw_bytes became stored_bytes at level 1: 1, -5, or 0 to store.
  int Level(uint64_t raw_bytes, uint64_t stored_bytes) const;
};

// Bytes of a stream that are compressed to find its ratio.
inline constexpr size_t kRatioSampleBytes = 64u << 10;

// Returns the choice of this name (auto, none, zstd), or kInvalidArgument.
Result<CodecChoice> ParseCodecChoice(std::string_view name);

}  // namespace mr
