// Decompresses gzip and zstd data piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/file_format.h"

namespace mr {

// Turns compressed bytes into raw ones, across frames (members). Thread: one at a time.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Takes from *in and appends at most `room` to *out. Returns null, or what is wrong with the data. Stops at the end
  // of a frame, with *in_frame false. Without input it may still have output that had no room.
  virtual const char* Decode(std::string_view* in, uint64_t room, std::string* out, bool* in_frame) = 0;
};

// Requires: compression is kGzip or kZstd.
std::unique_ptr<Decoder> MakeDecoder(Compression compression);

}  // namespace mr
