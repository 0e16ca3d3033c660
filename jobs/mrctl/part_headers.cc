#include "jobs/mrctl/part_headers.h"

#include <zlib.h>
#include <zstd.h>

#include <memory>

#include "common/abi/csv_scan.h"
#include "common/base/file_format.h"

namespace mr::ctl {
namespace {

// Bytes read at first. Few headers are longer.
constexpr uint64_t kHeadBytes = 4u << 10;
// Longest header that is looked for: that of a record.
constexpr uint64_t kMostHeaderBytes = 64u << 20;

// Returns the bytes of the first record with its line end, or nothing if the text does not hold all of it.
std::optional<uint64_t> RecordBytes(std::string_view text, const CsvDialect& dialect) {
  std::optional<uint64_t> found;
  CsvScan scan;
  ForEachCsvEnd(text, dialect, &scan, [&](size_t end, bool) {
    found = end;
    return false;
  });
  return found;
}

// Decompresses the first frame of `bytes` to the end of *text. Returns its length, or nothing if it is not whole.
std::optional<uint64_t> ZstdFrame(std::string_view bytes, std::string* text) {
  const size_t size = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
  if (ZSTD_isError(size)) return std::nullopt;
  const unsigned long long raw = ZSTD_getFrameContentSize(bytes.data(), size);
  if (raw == ZSTD_CONTENTSIZE_UNKNOWN || raw == ZSTD_CONTENTSIZE_ERROR || raw > kMostHeaderBytes) return std::nullopt;
  const size_t had = text->size();
  text->resize(had + raw);
  if (ZSTD_isError(ZSTD_decompress(text->data() + had, raw, bytes.data(), size))) return std::nullopt;
  return size;
}

std::optional<uint64_t> GzipMember(std::string_view bytes, std::string* text) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return std::nullopt;
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  for (int code = Z_OK; code != Z_STREAM_END;) {
    const size_t had = text->size();
    text->resize(had + kHeadBytes);
    stream.next_out = reinterpret_cast<Bytef*>(text->data() + had);
    stream.avail_out = kHeadBytes;
    code = inflate(&stream, Z_NO_FLUSH);
    text->resize(had + kHeadBytes - stream.avail_out);
    if ((code != Z_OK && code != Z_STREAM_END) || text->size() > kMostHeaderBytes) return std::nullopt;
  }
  return stream.total_in;
}

// Returns the bytes of the header at the start of a part, or nothing if `head` does not hold all of it. A compressed
// part has it in frames of its own.
std::optional<uint64_t> HeaderBytes(std::string_view head, Compression compression, const CsvDialect& dialect) {
  if (compression == Compression::kNone) return RecordBytes(head, dialect);
  std::string text;
  for (uint64_t at = 0; at < head.size();) {
    const std::string_view rest = head.substr(at);
    const auto frame = compression == Compression::kZstd ? ZstdFrame(rest, &text) : GzipMember(rest, &text);
    if (!frame) return std::nullopt;
    at += *frame;
    if (RecordBytes(text, dialect) == text.size()) return at;
  }
  return std::nullopt;
}

}  // namespace

bool IsMainPart(std::string_view name) { return name.starts_with("part-"); }

Result<uint64_t> PartHeaders::BytesToSkip(const std::string& name, const Head& head) {
  if (!dialect_ || !IsMainPart(name)) return uint64_t{0};
  if (!kept_) {
    kept_ = true;
    return uint64_t{0};
  }
  for (uint64_t bytes = kHeadBytes; bytes <= kMostHeaderBytes; bytes *= 4) {
    MR_ASSIGN_OR_RETURN(const std::string text, head(bytes));
    if (const auto found = HeaderBytes(text, CompressionOfName(name), *dialect_)) return *found;
    if (text.size() < bytes) break;
  }
  return Corrupted(name + " does not begin with a header, although the _SUCCESS beside it says so");
}

}  // namespace mr::ctl
