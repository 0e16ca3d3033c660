#include "worker/task/split_reader.h"

#include <string.h>

#include <algorithm>

#include "common/io/crc32c.h"
#include "worker/task/output.h"

namespace mr::task {
namespace {
constexpr uint64_t kReadBytes = 1u << 20;
// Behind the split's end, where only the rest of one line is wanted, perhaps from another machine.
constexpr uint64_t kTailBytes = 64u << 10;

// What begins like one of these is no text, whatever its name says.
struct Magic {
  std::string_view bytes;
  const char* what;
};
constexpr Magic kCompressed[] = {{"\x1f\x8b\x08", "gzip"}, {"\x28\xb5\x2f\xfd", "zstd"}};
}  // namespace

SplitReader::SplitReader(const WireSplit& split, Format format, bool raw_blocks, int fd, ReadMoreFn more)
    : split_(split), format_(format), raw_blocks_(raw_blocks), fd_(fd), more_(std::move(more)) {
  piece_ = split.sample_bytes == 0 ? kReadBytes : std::clamp<uint64_t>(split.sample_bytes, 4096, kReadBytes);
  buffer_offset_ = split.offset;
}

std::string SplitReader::Where(uint64_t offset) const {
  return split_.name + ", byte " + std::to_string(offset);
}

Status SplitReader::Read(uint64_t at, uint64_t size) {
  if (at >= split_.file_bytes) return {};
  size = std::min(size, split_.file_bytes - at);
  const uint64_t fd_end = split_.fd_offset + split_.fd_length;
  if (fd_ >= 0 && at >= split_.fd_offset && at < fd_end) {
    const uint64_t here = std::min(size, fd_end - at);
    const size_t had = buffer_.size();
    buffer_.resize(had + here);
    MR_ASSIGN_OR_RETURN(const size_t got, PreadUpTo(fd_, buffer_.data() + had, here, at - split_.fd_offset));
    if (got != here) {
      return Unavailable(Where(at + got) + ": the file ends here; it had " + std::to_string(split_.file_bytes) +
                         " bytes when the job was planned. Do not change inputs of a running job");
    }
    at += here;
    size -= here;
  }
  while (size > 0) {
    const auto want = static_cast<uint32_t>(std::min(size, kReadBytes));
    MR_ASSIGN_OR_RETURN(const std::string bytes, more_(at, want));
    if (bytes.size() != want) {
      return Unavailable(Where(at + bytes.size()) + ": the input ends here, before its " +
                         std::to_string(split_.file_bytes) + " bytes");
    }
    buffer_ += bytes;
    at += want;
    size -= want;
  }
  return {};
}

Result<bool> SplitReader::Fill() {
  if (start_ > 0) {
    buffer_.erase(0, start_);
    buffer_offset_ += start_;
    start_ = 0;
  }
  const uint64_t at = buffer_end();
  if (at >= split_.file_bytes) return false;
  const uint64_t size = at < limit() ? std::min(piece_, limit() - at) : std::min(piece_, kTailBytes);
  MR_RETURN_IF_ERROR(Read(at, size));
  if (at == 0) MR_RETURN_IF_ERROR(CheckNotCompressed());
  return true;
}

Status SplitReader::CheckNotCompressed() const {
  for (const Magic& magic : kCompressed) {
    if (std::string_view(buffer_).substr(0, magic.bytes.size()) != magic.bytes) continue;
    return InvalidArgument("COMPRESSED_INPUT: " + split_.name + " holds " + magic.what +
                           " data, which cannot be read as lines yet; decompress it first");
  }
  return {};
}

void SplitReader::Consume(size_t bytes) {
  start_ += bytes;
  delivered_ += bytes;
}

Status SplitReader::SkipFirstLine() {
  for (;;) {
    const char* found = static_cast<const char*>(memchr(buffer_.data(), '\n', buffer_.size()));
    if (found != nullptr) {
      start_ = found - buffer_.data() + 1;
      // A first newline at or behind the limit: the line is another split's, and so is what follows.
      ended_ = buffer_offset_ + start_ > limit();
      return {};
    }
    buffer_offset_ += buffer_.size();
    buffer_.clear();
    // Nothing that starts in this split can follow once the limit is behind.
    ended_ = buffer_offset_ >= limit();
    if (ended_) return {};
    MR_ASSIGN_OR_RETURN(const bool filled, Fill());
    ended_ = !filled;
    if (ended_) return {};
  }
}

Result<bool> SplitReader::NextLines(std::string* batch, uint64_t* offset) {
  if (!started_) {
    started_ = true;
    if (split_.length == 0) ended_ = true;
    if (split_.offset > 0 && !ended_) MR_RETURN_IF_ERROR(SkipFirstLine());
  }
  if (split_.sample_bytes != 0 && delivered_ >= split_.sample_bytes) ended_ = true;
  size_t scanned = 0;  // unconsumed bytes known to hold no newline
  while (!ended_) {
    const std::string_view rest = std::string_view(buffer_).substr(start_);
    const uint64_t at = buffer_offset_ + start_;
    size_t take = 0;
    if (at + rest.size() > limit()) {
      // The last owned line ends at the first newline at or behind the limit.
      const size_t from = std::max<uint64_t>(scanned, limit() > at ? limit() - at : 0);
      const size_t nl = rest.find('\n', from);
      if (nl != rest.npos) {
        take = nl + 1;
        ended_ = true;
      }
    }
    if (take == 0 && !rest.empty() && at + rest.size() <= limit()) {
      if (const void* nl = memrchr(rest.data() + scanned, '\n', rest.size() - scanned)) {
        take = static_cast<const char*>(nl) - rest.data() + 1;
      }
    }
    if (take == 0) {
      // Earlier whole lines may stand before a long last one: the check looks at the last.
      const size_t nl = rest.rfind('\n');
      const size_t line = nl == rest.npos ? 0 : nl + 1;
      if (rest.size() - line > kMaxLineBytes) return LineTooLong(at + line);
      scanned = rest.size();
      MR_ASSIGN_OR_RETURN(const bool filled, Fill());
      if (filled) continue;
      ended_ = true;
      take = buffer_.size() - start_;
      if (take == 0) return false;
    }
    *offset = buffer_offset_ + start_;
    MR_RETURN_IF_ERROR(AddLines(*offset, std::string_view(buffer_).substr(start_, take)));
    Consume(take);
    batch->clear();
    builder_.Finish(0, batch);
    return true;
  }
  return false;
}

Status SplitReader::LineTooLong(uint64_t offset) const {
  return InvalidArgument("LINE_TOO_LONG: " + Where(offset) + ": a line above 16 MiB; is this a text file?");
}

Status SplitReader::AddLines(uint64_t offset, std::string_view block) {
  const size_t size = block.size();
  if (raw_blocks_ && format_.lines()) {
    while (!block.empty()) {
      size_t take = block.size();
      if (take > kMaxLineBytes) take = block.rfind('\n', kMaxLineBytes - 1) + 1;
      if (take == 0) return LineTooLong(offset + size - block.size());
      builder_.Add({}, block.substr(0, take));
      block.remove_prefix(take);
    }
    return {};
  }
  while (!block.empty()) {
    const size_t nl = block.find('\n');
    const std::string_view line = block.substr(0, nl);
    if (line.size() > kMaxLineBytes) return LineTooLong(offset + size - block.size());
    block.remove_prefix(nl == block.npos ? block.size() : nl + 1);
    const size_t tab = format_.kind == FormatKind::kKv ? line.find('\t') : line.npos;
    if (format_.kind != FormatKind::kKv) {
      builder_.Add({}, line);
    } else if (tab == line.npos) {
      builder_.Add(line, {});
    } else {
      builder_.Add(line.substr(0, tab), line.substr(tab + 1));
    }
  }
  return {};
}

Result<bool> SplitReader::NextFixed(std::string* batch, uint64_t* offset) {
  const uint64_t n = format_.record_bytes;
  if (!started_) {
    started_ = true;
    if (split_.file_bytes % n != 0) {
      return InvalidArgument(split_.name + ": its length " + std::to_string(split_.file_bytes) +
                             " is no multiple of " + std::to_string(n) + ", as format fixed:" +
                             std::to_string(n) + " asks");
    }
    buffer_offset_ = (split_.offset + n - 1) / n * n;
  }
  if (buffer_offset_ >= limit() || (split_.sample_bytes != 0 && delivered_ >= split_.sample_bytes)) return false;
  const uint64_t records = std::min(std::max<uint64_t>(1, piece_ / n), (limit() - buffer_offset_ + n - 1) / n);
  buffer_.clear();
  MR_RETURN_IF_ERROR(Read(buffer_offset_, records * n));
  if (buffer_.size() != records * n) return Unavailable(Where(buffer_offset_) + ": the input ends too early");
  for (uint64_t i = 0; i < records; ++i) builder_.Add({}, std::string_view(buffer_).substr(i * n, n));
  *offset = buffer_offset_;
  buffer_offset_ += records * n;
  delivered_ += records * n;
  batch->clear();
  builder_.Finish(0, batch);
  return true;
}

Result<bool> SplitReader::NextFrame(std::string* batch, uint64_t* offset) {
  if (split_.offset > 0 || buffer_offset_ >= split_.file_bytes ||
      (split_.sample_bytes != 0 && delivered_ >= split_.sample_bytes)) {
    return false;
  }
  const auto damaged = [&](const std::string& what) {
    return InvalidArgument(Where(buffer_offset_) + ": not a record container, or a damaged one: " + what);
  };
  buffer_.clear();
  MR_RETURN_IF_ERROR(Read(buffer_offset_, sizeof(RecordFrame)));
  RecordFrame frame;
  if (buffer_.size() < sizeof frame) return damaged("it ends within a frame");
  memcpy(&frame, buffer_.data(), sizeof frame);
  if (frame.magic != kRecordFrameMagic) return damaged("wrong magic number");
  if (frame.size > 2 * kMaxRecordBytes) return damaged("a frame above 32 MiB");
  const uint64_t padded = (uint64_t{frame.size} + 3) / 4 * 4;
  buffer_.clear();
  MR_RETURN_IF_ERROR(Read(buffer_offset_ + sizeof frame, padded));
  if (buffer_.size() != padded) return damaged("it ends within a frame");
  batch->assign(buffer_, 0, frame.size);
  if (Crc32c(*batch) != frame.crc) return damaged("checksum differs");
  BatchView view;
  if (const char* wrong = BatchView::Parse(batch->data(), batch->size(), &view)) return damaged(wrong);
  *offset = buffer_offset_;
  buffer_offset_ += sizeof frame + padded;
  delivered_ += padded;
  return true;
}

Result<bool> SplitReader::Next(std::string* batch, uint64_t* offset) {
  if (format_.kind == FormatKind::kFixed) return NextFixed(batch, offset);
  if (format_.kind == FormatKind::kRecord) return NextFrame(batch, offset);
  return NextLines(batch, offset);
}

}  // namespace mr::task
