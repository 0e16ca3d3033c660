// Streams the bytes from which a split's records are cut: those of its file, decompressed if necessary.
//
// A split [o, o + len) of an uncompressed file is that range. In a zstd file with a seek table (the "seekable format":
// its last frame lists the others), it is the content of the frames that begin in [o, o + len). Any other compressed
// file is read whole by the split at 0, and the other splits are empty. The first bytes of a file show whether it is
// compressed. Records of a fixed length may begin with any bytes, so there the name must show it, too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/file_format.h"
#include "common/base/status.h"
#include "worker/task/byte_buffer.h"
#include "worker/task/protocol.h"

namespace mr::task {

// Reads end at multiples of this in the file, wherever the bytes come from, so that the borders of batches are the same
// in each attempt. Chunks with a checksum usually end there, too; only whole ones are read without a copy.
inline constexpr uint64_t kReadAlignment = 64u << 10;

// Returns bytes [offset, offset + length) of the input, fewer only at its end.
using ReadMoreFn = std::function<Result<std::string>(uint64_t offset, uint32_t length)>;

// Reads the file itself: the split's descriptor with pread, and the rest by requests to the daemon. Where the split has
// checksums, bytes of the descriptor that differ, or cannot be read, are requested, too: the daemon then reports the
// replica, and reads another one.
class FileBytes {
 public:
  // fd is borrowed.
  FileBytes(const WireSplit& split, int fd, ReadMoreFn more)
      : split_(split), fd_(fd), more_(std::move(more)), past_cache_(!split.cached) {}

  // Appends bytes [at, at + size), fewer only at the end of the file. Errors: kUnavailable if the file is shorter than
  // planned; kInvalidArgument if the operator has closed the descriptor.
  Status Read(uint64_t at, uint64_t size, ByteBuffer* out) const;
  const WireSplit& split() const { return split_; }
  // Returns "name, byte N" of the file itself, for messages.
  std::string Where(uint64_t offset) const;

 private:
  // Appends bytes [at, at + size) of the descriptor, as far as they are what was written. Returns how many.
  uint64_t ReadChecked(uint64_t at, uint64_t size, ByteBuffer* out) const;
  // Reads bytes of the descriptor, fewer only at its end.
  Result<size_t> Pread(char* bytes, uint64_t size, uint64_t at) const;
  // Whether this is the chunk that begins at byte `at` of the descriptor.
  bool IsChunk(uint64_t at, std::string_view bytes) const;

  const WireSplit split_;
  const int fd_;
  const ReadMoreFn more_;
  mutable bool past_cache_;          // pages that a read brings into the page cache leave it
  mutable bool unreadable_ = false;  // the checked descriptor gave an error: a failing disk may take long for each
};

class ByteStream {
 public:
  static constexpr uint64_t kUnknown = ~uint64_t{0};

  virtual ~ByteStream() = default;
  // Records that begin in [begin, limit) belong to the split. The stream continues after the limit, for the rest of the
  // last record. Offsets count uncompressed bytes. limit may be kUnknown: up to the end of the stream.
  virtual uint64_t begin() const = 0;
  virtual uint64_t limit() const = 0;
  // Whether the file is compressed, so that offsets are none of its bytes.
  virtual bool compressed() const { return false; }
  // Appends the next bytes, at least one and about `want`. Returns false at the end. The first call begins at begin().
  // Errors: kInvalidArgument for damaged data, with its place.
  virtual Result<bool> Next(uint64_t want, ByteBuffer* out) = 0;
  // Returns approximately how many bytes the split has: exact if it is not compressed, else better with each call.
  virtual uint64_t expected() const = 0;
};

// Opens the stream of a split. any_bytes: records may begin with any bytes, so a file is compressed only if its name
// says so. format: of the records. Errors: kInvalidArgument if the bytes are not what the name promises, and for
// containers that cannot be read (CheckContainer).
Result<std::unique_ptr<ByteStream>> OpenStream(const FileBytes& file, bool any_bytes, const FileFormat& format);

}  // namespace mr::task
