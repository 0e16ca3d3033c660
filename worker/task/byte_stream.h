// The bytes that a split's records are cut from: those of its file, or what they decompress to.
//
// A split [o, o + len) of a file that is not compressed is that range. Of a zstd file with a seek table (the
// "seekable format": its last frame lists the others) it is what the frames that begin in [o, o + len) decompress to.
// Any other compressed file is read whole by the split at 0, and the others are empty. Whether a file is compressed
// is told by its first bytes; records of a fixed length may begin with any, so there the name must say it, too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/file_format.h"
#include "common/base/status.h"
#include "worker/task/protocol.h"

namespace mr::task {

// Bytes [offset, offset + length) of the input, fewer only at its end.
using ReadMoreFn = std::function<Result<std::string>(uint64_t offset, uint32_t length)>;

// The file itself: what the split's descriptor holds by pread, the rest by asking the daemon.
class FileBytes {
 public:
  // fd is borrowed.
  FileBytes(const WireSplit& split, int fd, ReadMoreFn more) : split_(split), fd_(fd), more_(std::move(more)) {}

  // Appends [at, at + size), fewer only at the end of the file. kUnavailable where it ends before the length
  // that it was planned with.
  Status Read(uint64_t at, uint64_t size, std::string* out) const;
  const WireSplit& split() const { return split_; }
  // "name, byte N": for messages.
  std::string Where(uint64_t offset) const;

 private:
  const WireSplit split_;
  const int fd_;
  const ReadMoreFn more_;
};

class ByteStream {
 public:
  static constexpr uint64_t kUnknown = ~uint64_t{0};

  virtual ~ByteStream() = default;
  // Records that begin in [begin, limit) are the split's; the stream goes on behind it, for the rest of the last
  // one. Offsets are of the uncompressed bytes. limit may be kUnknown: all that comes.
  virtual uint64_t begin() const = 0;
  virtual uint64_t limit() const = 0;
  // Appends what follows, at least one byte and about `want`; false at the end. The first call begins at begin().
  // kInvalidArgument for damaged data, with its place.
  virtual Result<bool> Next(uint64_t want, std::string* out) = 0;
  // About how many bytes the split has: exact where it is not compressed, else better with each call.
  virtual uint64_t expected() const = 0;
};

// any_bytes: records may begin with any bytes, so that only a name that says so makes a file a compressed one.
// format: what the records are. kInvalidArgument for a file whose name promises what its bytes are not, and for
// containers that nothing here reads.
Result<std::unique_ptr<ByteStream>> OpenStream(const FileBytes& file, bool any_bytes, const FileFormat& format);

}  // namespace mr::task
