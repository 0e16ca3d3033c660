#include "worker/task/decompress.h"

#include <string.h>

#include <algorithm>

#include "common/io/decoder.h"

namespace mr::task {
namespace {

constexpr uint64_t kFeedBytes = 256u << 10;
// Most bytes that one call returns (guess).
constexpr uint64_t kMostBytes = 1u << 20;

// The file's bytes from `at` to its end, decoded.
class DecodedBytes {
 public:
  DecodedBytes(const FileBytes& file, Compression compression, uint64_t at)
      : file_(file), compression_(compression), decoder_(MakeDecoder(compression)), at_(at) {}

  // Appends at least one byte. Returns false at the end of the file. *frame_ended: the bytes end with a frame. An empty
  // frame returns true without any bytes.
  Result<bool> Next(uint64_t room, ByteBuffer* out, bool* frame_ended) {
    decoded_.clear();
    *frame_ended = false;
    while (decoded_.empty() && !*frame_ended) {
      if (left_.empty()) {
        buffer_.Consume(buffer_.size());
        buffer_.Compact();
        MR_RETURN_IF_ERROR(file_.Read(at_, kFeedBytes - at_ % kReadAlignment, &buffer_));
        at_ += buffer_.size();
        left_ = buffer_.unread();
        if (left_.empty() && !in_frame_) return false;
        // gzip files may be padded with zeros.
        if (!in_frame_ && compression_ == Compression::kGzip) SkipZeros();
        if (left_.empty() && !in_frame_) continue;
      }
      // Without input the decoder may still have output that had no room.
      const bool before = in_frame_, at_end = left_.empty();
      in_frame_ = true;
      const size_t size = left_.size();
      const char* wrong = decoder_->Decode(&left_, room, &decoded_, &in_frame_);
      if (wrong == nullptr && at_end && in_frame_ && decoded_.empty())
        wrong = "it ends too early: is the file complete?";
      if (wrong != nullptr) return Damaged(wrong);
      *frame_ended = !in_frame_ && (before || size != left_.size());
      if (*frame_ended && compression_ == Compression::kGzip) SkipZeros();
    }
    out->Append(decoded_);
    return true;
  }
  // Returns how many bytes of the file were taken.
  uint64_t taken() const { return at_ - left_.size(); }
  Status Damaged(const std::string& what) const {
    return InvalidArgument("COMPRESSED_INPUT_DAMAGED: " + file_.Where(taken()) + ": cannot decompress the " +
                           (compression_ == Compression::kGzip ? "gzip" : "zstd") + " data: " + what);
  }

 private:
  void SkipZeros() { left_.remove_prefix(std::min(left_.find_first_not_of('\0'), left_.size())); }

  const FileBytes& file_;
  const Compression compression_;
  std::unique_ptr<Decoder> decoder_;
  uint64_t at_;
  ByteBuffer buffer_;
  std::string decoded_;
  std::string_view left_;
  bool in_frame_ = false;
};

class WholeFile : public ByteStream {
 public:
  WholeFile(const FileBytes& file, Compression compression) : file_(file), bytes_(file, compression, 0) {}
  uint64_t begin() const override { return 0; }
  uint64_t limit() const override { return kUnknown; }
  bool compressed() const override { return true; }
  Result<bool> Next(uint64_t want, ByteBuffer* out) override {
    const size_t had = out->size();
    bool frame_ended = false;
    while (out->size() == had) {
      MR_ASSIGN_OR_RETURN(const bool more, bytes_.Next(std::min(want, kMostBytes), out, &frame_ended));
      if (!more) return false;
    }
    given_ += out->size() - had;
    return true;
  }
  uint64_t expected() const override {
    if (bytes_.taken() == 0) return file_.split().file_bytes;
    return static_cast<uint64_t>(static_cast<double>(given_) / static_cast<double>(bytes_.taken()) *
                                 static_cast<double>(file_.split().file_bytes));
  }

 private:
  const FileBytes& file_;
  DecodedBytes bytes_;
  uint64_t given_ = 0;
};

class SeekableFile : public ByteStream {
 public:
  SeekableFile(const FileBytes& file, std::vector<SeekFrame> frames)
      : frames_(std::move(frames)), bytes_(file, Compression::kZstd, Begin(file, &frames_, &frame_, &limit_)) {
    begin_ = frame_ < frames_.size() ? frames_[frame_].raw_offset : limit_;
  }
  uint64_t begin() const override { return begin_; }
  uint64_t limit() const override { return limit_; }
  bool compressed() const override { return true; }
  uint64_t expected() const override { return limit_ - begin_; }
  Result<bool> Next(uint64_t want, ByteBuffer* out) override {
    const size_t had = out->size();
    while (out->size() == had) {
      if (frame_ == frames_.size()) return false;
      bool frame_ended = false;
      MR_ASSIGN_OR_RETURN(const bool more, bytes_.Next(std::min(want, kMostBytes), out, &frame_ended));
      if (!more) return bytes_.Damaged("it ends before the frames that its seek table names");
      in_frame_ += out->size() - had;
      if (!frame_ended) continue;
      if (in_frame_ != frames_[frame_].raw_bytes) {
        return bytes_.Damaged("a frame has " + std::to_string(in_frame_) + " bytes, the seek table says " +
                              std::to_string(frames_[frame_].raw_bytes));
      }
      in_frame_ = 0;
      ++frame_;
    }
    return true;
  }

 private:
  // Finds the split's first frame, and where the first frame after the split begins. Returns the first frame's offset.
  static uint64_t Begin(const FileBytes& file, const std::vector<SeekFrame>* frames, size_t* first, uint64_t* limit) {
    const uint64_t from = file.split().offset, to = from + file.split().length;
    const auto at = [&](uint64_t offset) {
      return static_cast<size_t>(std::lower_bound(frames->begin(), frames->end(), offset,
                                                  [](const SeekFrame& f, uint64_t o) { return f.offset < o; }) -
                                 frames->begin());
    };
    const size_t end = at(to);
    *first = at(from);
    *limit = end == frames->size() ? frames->back().raw_offset + frames->back().raw_bytes : (*frames)[end].raw_offset;
    return *first == frames->size() ? file.split().file_bytes : (*frames)[*first].offset;
  }

  std::vector<SeekFrame> frames_;
  size_t frame_ = 0;
  uint64_t limit_ = 0, begin_ = 0, in_frame_ = 0;
  DecodedBytes bytes_;
};

uint32_t Load32(const char* at) {
  uint32_t v;
  memcpy(&v, at, sizeof v);
  return v;
}

}  // namespace

Result<std::vector<SeekFrame>> ReadSeekTable(const FileBytes& file) {
  constexpr uint64_t kFooter = 9, kHeader = 8;
  constexpr uint32_t kFooterMagic = 0x8f92eab1, kSkippable = 0x184d2a5e;
  const uint64_t size = file.split().file_bytes;
  std::vector<SeekFrame> frames;
  if (size < kFooter + kHeader) return frames;
  ByteBuffer end, list;
  MR_RETURN_IF_ERROR(file.Read(size - kFooter, kFooter, &end));
  const std::string_view footer = end.unread();
  if (footer.size() != kFooter || Load32(footer.data() + 5) != kFooterMagic || (footer[4] & 0x7c) != 0) return frames;
  const uint64_t n = Load32(footer.data()), entry = (footer[4] & 0x80) != 0 ? 12 : 8;
  const uint64_t bytes = kHeader + n * entry + kFooter;
  if (n == 0 || bytes > size) return frames;
  MR_RETURN_IF_ERROR(file.Read(size - bytes, kHeader + n * entry, &list));
  const std::string_view table = list.unread();
  if (table.size() != kHeader + n * entry || Load32(table.data()) != kSkippable ||
      Load32(table.data() + 4) != bytes - kHeader) {
    return frames;
  }
  uint64_t offset = 0, raw = 0;
  for (uint64_t i = 0; i < n; ++i) {
    const char* at = table.data() + kHeader + i * entry;
    frames.push_back({offset, Load32(at), raw, Load32(at + 4)});
    offset += frames.back().bytes;
    raw += frames.back().raw_bytes;
  }
  if (offset != size - bytes) frames.clear();
  return frames;
}

std::unique_ptr<ByteStream> SeekableStream(const FileBytes& file, std::vector<SeekFrame> frames) {
  return std::make_unique<SeekableFile>(file, std::move(frames));
}

std::unique_ptr<ByteStream> WholeStream(const FileBytes& file, Compression compression) {
  return std::make_unique<WholeFile>(file, compression);
}

}  // namespace mr::task
