#include "worker/task/byte_stream.h"

#include <errno.h>
#include <sys/uio.h>

#include <algorithm>

#include "common/io/crc32c.h"
#include "common/io/files.h"
#include "common/io/ledger.h"
#include "worker/task/closed_fd.h"
#include "worker/task/decompress.h"

namespace mr::task {
namespace {

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80  // Linux 6.14
#endif

constexpr uint64_t kAskBytes = 1u << 20;
// Most bytes per request after the split's end: only the rest of one record is needed, perhaps from another machine.
constexpr uint64_t kTailBytes = 64u << 10;
constexpr std::string_view kGzipMagic = "\x1f\x8b\x08", kZstdMagic = "\x28\xb5\x2f\xfd";
// 0x184D2A50 to 5F, little-endian: a skippable frame. Some zstd files begin with one.
constexpr std::string_view kSkippableTail = "\x2a\x4d\x18";

class PlainStream : public ByteStream {
 public:
  explicit PlainStream(const FileBytes& file) : file_(file), at_(file.split().offset) {}

  uint64_t begin() const override { return file_.split().offset; }
  uint64_t limit() const override { return file_.split().offset + file_.split().length; }
  uint64_t expected() const override { return file_.split().length; }
  Result<bool> Next(uint64_t want, ByteBuffer* out) override {
    if (at_ >= file_.split().file_bytes) return false;
    uint64_t size = at_ < limit() ? std::min(want, limit() - at_) : std::min(want, kTailBytes);
    const uint64_t aligned = (at_ + size) / kReadAlignment * kReadAlignment;
    if (aligned > at_ && at_ + size != limit()) size = aligned - at_;
    const size_t had = out->size();
    MR_RETURN_IF_ERROR(file_.Read(at_, size, out));
    at_ += out->size() - had;
    return out->size() > had;
  }

 private:
  const FileBytes& file_;
  uint64_t at_;
};

class EmptyStream : public ByteStream {
 public:
  uint64_t begin() const override { return 0; }
  uint64_t limit() const override { return 0; }
  uint64_t expected() const override { return 0; }
  Result<bool> Next(uint64_t, ByteBuffer*) override { return false; }
};

Compression CompressionOfBytes(std::string_view head) {
  if (head.starts_with(kGzipMagic)) return Compression::kGzip;
  if (head.starts_with(kZstdMagic)) return Compression::kZstd;
  if (head.size() == 4 && head.substr(1) == kSkippableTail && (head[0] & 0xf0) == 0x50) return Compression::kZstd;
  return Compression::kNone;
}

const char* NameOf(Compression c) { return c == Compression::kGzip ? "gzip" : "zstd"; }

}  // namespace

std::string FileBytes::Where(uint64_t offset) const { return split_.name + ", byte " + std::to_string(offset); }

Result<size_t> FileBytes::Pread(char* bytes, uint64_t size, uint64_t at) const {
  size_t got = 0;
  while (past_cache_ && got < size) {
    iovec rest{bytes + got, size - got};
    const ssize_t n = preadv2(fd_, &rest, 1, static_cast<off_t>(at + got), RWF_DONTCACHE);
    if (n == 0) return got;
    if (n > 0) got += static_cast<size_t>(n);
    // An older kernel, or a file system that cannot do it. If it is another error, it comes again.
    if (n < 0 && errno != EINTR) past_cache_ = false;
  }
  if (got == size) return got;
  const Result<size_t> rest = PreadUpTo(fd_, bytes + got, size - got, at + got);
  if (!rest.ok()) MR_RETURN_IF_ERROR(CheckOpen(fd_, split_.name));
  MR_RETURN_IF_ERROR(rest.status());
  return got + *rest;
}

bool FileBytes::IsChunk(uint64_t at, std::string_view bytes) const {
  const uint64_t chunk = at / split_.chunk_bytes;
  if (chunk >= split_.crcs.size()) return false;
  Ledger::Count(Ledger::verify_crc, bytes.size());
  return Crc32c(bytes) == split_.crcs[chunk];
}

uint64_t FileBytes::ReadChecked(uint64_t at, uint64_t size, ByteBuffer* out) const {
  const uint64_t chunk_bytes = split_.chunk_bytes, end = at + size;
  uint64_t done = at;
  while (done < end) {
    const uint64_t chunk = done / chunk_bytes * chunk_bytes;
    const uint64_t whole = end == split_.fd_length ? end : end / chunk_bytes * chunk_bytes;
    if (chunk == done && whole > done) {
      // Whole chunks, in their final place.
      const uint64_t wanted = whole - done;
      char* const bytes = out->Extend(wanted);
      const auto got = Pread(bytes, wanted, done);
      unreadable_ = !got.ok() || *got != wanted;
      uint64_t good = 0;
      while (!unreadable_ && good < wanted) {
        const uint64_t n = std::min(chunk_bytes, wanted - good);
        if (!IsChunk(done + good, {bytes + good, n})) break;
        good += n;
      }
      Ledger::Count(Ledger::task_read, wanted);
      done += good;
      if (good == wanted) continue;
      out->Shorten(wanted - good);
      break;
    }
    std::string bytes(std::min(chunk_bytes, split_.fd_length - chunk), '\0');
    const auto got = Pread(bytes.data(), bytes.size(), chunk);
    unreadable_ = !got.ok() || *got != bytes.size();
    if (unreadable_ || !IsChunk(chunk, bytes)) break;
    Ledger::Count(Ledger::task_read, bytes.size());
    const std::string_view part = std::string_view(bytes).substr(done - chunk, end - done);
    out->Append(part);
    done += part.size();
  }
  return done - at;
}

Status FileBytes::Read(uint64_t at, uint64_t size, ByteBuffer* out) const {
  if (at >= split_.file_bytes) return {};
  size = std::min(size, split_.file_bytes - at);
  const uint64_t fd_end = split_.fd_offset + split_.fd_length;
  const bool by_descriptor = fd_ >= 0 && at >= split_.fd_offset && at < fd_end && !unreadable_;
  if (by_descriptor && !split_.crcs.empty()) {
    const uint64_t read = ReadChecked(at - split_.fd_offset, std::min(size, fd_end - at), out);
    if (unreadable_) MR_RETURN_IF_ERROR(CheckOpen(fd_, split_.name));
    at += read;
    size -= read;
  } else if (by_descriptor) {
    const uint64_t here = std::min(size, fd_end - at);
    MR_ASSIGN_OR_RETURN(const size_t got, Pread(out->Extend(here), here, at - split_.fd_offset));
    Ledger::Count(Ledger::task_read, here);
    if (got != here) {
      return Unavailable(Where(at + got) + ": the file ends here; it had " + std::to_string(split_.file_bytes) +
                         " bytes when the job was planned. Do not change inputs of a running job");
    }
    at += here;
    size -= here;
  }
  while (size > 0) {
    const auto want = static_cast<uint32_t>(std::min(size, kAskBytes));
    const Result<std::string> more = more_(at, want);
    if (!more.ok()) return more.status().With("reading " + Where(at));
    const std::string& bytes = *more;
    if (bytes.size() != want) {
      return Unavailable(Where(at + bytes.size()) + ": the input ends here, before its " +
                         std::to_string(split_.file_bytes) + " bytes");
    }
    out->Append(bytes);
    at += want;
    size -= want;
  }
  return {};
}

Result<std::unique_ptr<ByteStream>> OpenStream(const FileBytes& file, bool any_bytes, const FileFormat& format) {
  const WireSplit& split = file.split();
  const Compression named = CompressionOfName(split.name);
  Compression found = named;
  // The first split checks the container for all of them, and its result is final.
  if (split.file_bytes > 0 && split.offset == 0 && format.kind != FileFormat::Kind::kRaw) {
    ByteBuffer head;
    MR_RETURN_IF_ERROR(file.Read(0, kContainerHeadBytes, &head));
    MR_RETURN_IF_ERROR(CheckContainer(head.unread(), split.name, format));
  }
  if (split.file_bytes > 0 && (named != Compression::kNone || !any_bytes)) {
    ByteBuffer head;
    MR_RETURN_IF_ERROR(file.Read(0, 4, &head));
    found = CompressionOfBytes(head.unread());
    if (named != Compression::kNone && found != named) {
      return InvalidArgument("COMPRESSED_INPUT: " + split.name + " is named as " + NameOf(named) +
                             " data, but does not begin as such: is it damaged, or is its name wrong?");
    }
  }
  if (found == Compression::kNone) return {std::make_unique<PlainStream>(file)};
  if (found == Compression::kZstd) {
    MR_ASSIGN_OR_RETURN(auto frames, ReadSeekTable(file));
    if (!frames.empty()) return {SeekableStream(file, std::move(frames))};
  }
  if (split.offset > 0) return {std::make_unique<EmptyStream>()};
  return {WholeStream(file, found)};
}

}  // namespace mr::task
