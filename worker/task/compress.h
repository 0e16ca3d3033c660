// Compresses the bytes of an output file as they come. What comes out depends on the bytes alone, not on how they
// were cut into calls.
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
  // Appends to *out what is ready.
  virtual Status Add(std::string_view raw, std::string* out) = 0;
  // The rest; an output without bytes is a valid empty file, too. Called once, last.
  virtual Status Finish(std::string* out) = 0;
};

// Raw bytes of one zstd frame: what a split of such a file can be cut at (guess: some hundredths of a second of work,
// and little is lost to what repeats across frames).
inline constexpr uint64_t kZstdFrameBytes = 4u << 20;

// gzip: one member. zstd: frames of kZstdFrameBytes with checksums and a seek table behind them, so that it can be
// read in several splits (decompress.h). Null for kNone.
std::unique_ptr<Compressor> MakeCompressor(Compression compression);

}  // namespace mr::task
