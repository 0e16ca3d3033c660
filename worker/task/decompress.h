// Compressed files as streams of bytes: gzip (of one or more members), zstd, and zstd with a seek table.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/task/byte_stream.h"

namespace mr::task {

struct SeekFrame {
  uint64_t offset = 0, bytes = 0;  // in the file
  uint64_t raw_offset = 0, raw_bytes = 0;
};

// Returns the frames of a zstd file in the seekable format (zstd's contrib/seekable_format: a skippable frame at the
// end, with (compressed, raw[, checksum]) lengths, and a footer). Returns none if the file has no such table, or one
// that does not account for each byte of the file.
Result<std::vector<SeekFrame>> ReadSeekTable(const FileBytes& file);

// Streams the frames that begin in the split, and the frames after them. A frame that holds more or less than its table
// entry is damaged.
std::unique_ptr<ByteStream> SeekableStream(const FileBytes& file, std::vector<SeekFrame> frames);

// Streams the file from its start to its end.
std::unique_ptr<ByteStream> WholeStream(const FileBytes& file, Compression compression);

}  // namespace mr::task
