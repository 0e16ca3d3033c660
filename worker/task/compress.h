// Compresses the bytes of an output file as they come. The result depends on the bytes alone, not on how they are
// divided into calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/file_format.h"
#include "common/base/status.h"

namespace mr::task {

class Compressor {
 public:
  virtual ~Compressor() = default;
  // Appends what is ready to *out.
  virtual Status Add(std::string_view raw, std::string* out) = 0;
  // Ends the current frame (gzip: member), so that the bytes until here can be cut off. Requires: some bytes in it.
  virtual Status EndFrame(std::string* out) = 0;
  // Appends the rest. An output without bytes becomes a valid empty file. Called once, last.
  virtual Status Finish(std::string* out) = 0;
};

// Raw bytes of one zstd frame, the unit of splits of such a file (guess: some hundredths of a second of work, and
// little compression is lost at the borders).
inline constexpr uint64_t kZstdFrameBytes = 4u << 20;

// Makes a compressor; null for kNone. gzip: one member, and one more for each EndFrame. zstd: frames of at most
// kZstdFrameBytes with checksums, followed by a seek table, so that several splits can read the file (decompress.h).
std::unique_ptr<Compressor> MakeCompressor(Compression compression);

}  // namespace mr::task
