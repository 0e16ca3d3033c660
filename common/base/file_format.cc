#include "common/base/file_format.h"

#include <charconv>
#include <span>
#include <vector>

#include "common/base/text.h"

namespace mr {
namespace {

using Kind = FileFormat::Kind;

struct Known {
  std::string_view name;
  Kind kind;
};
constexpr Known kRead[] = {{"text", Kind::kText},   {"kv", Kind::kKv},         {"csv", Kind::kCsv},
                           {"jsonl", Kind::kJsonl}, {"fixed:N", Kind::kFixed}, {"record", Kind::kRecord},
                           {"raw", Kind::kRaw}};
constexpr Known kWrite[] = {
    {"text", Kind::kText}, {"raw", Kind::kRaw}, {"fixed:N", Kind::kFixed}, {"record", Kind::kRecord}};

Result<FileFormat> Fixed(std::string_view name) {
  uint32_t n = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + name.find(':') + 1, end, n);
  if (error == std::errc() && at == end && n > 0 && n <= kMostFixedBytes) return FileFormat{Kind::kFixed, n, {}};
  return InvalidArgument("unknown format '" + std::string(name) +
                         "': fixed needs the length of a record in bytes, such as fixed:100 (at most 16 MiB)");
}

Result<FileFormat> Parse(std::string_view name, std::span<const Known> known) {
  if (name.starts_with("fixed:") && name != "fixed:N") return Fixed(name);
  if (name.starts_with("csv(") && known.size() == std::size(kRead)) {
    if (const auto dialect = ParseCsvFormat(name)) return FileFormat{Kind::kCsv, 0, *dialect};
    return InvalidArgument(
        "unknown format '" + std::string(name) +
        "': csv takes a separator and a quote, two different bytes, such as csv(;,\") or csv(0x09,none)");
  }
  std::string list;
  std::vector<std::string_view> names;
  for (const Known& k : known) {
    if (name == k.name && k.kind != Kind::kFixed) return FileFormat{k.kind};
    list += (list.empty() ? "" : ", ") + std::string(k.name);
    names.push_back(k.name);
  }
  return InvalidArgument("unknown format '" + std::string(name) + "'" + DidYouMean(name, names) + "; there are " +
                         list);
}

}  // namespace

Result<FileFormat> ParseInputFormat(std::string_view name) {
  // Other tools name the compression in the format. Here the files show it.
  const Compression c = CompressionOfName(name);
  const std::string_view plain = name.substr(0, name.size() - Suffix(c).size());
  if (c != Compression::kNone && Parse(plain, kRead).ok()) {
    return InvalidArgument("unknown format '" + std::string(name) + "': write " + std::string(plain) +
                           "; compression is detected from the names and first bytes of files");
  }
  return Parse(name, kRead);
}

Result<FileFormat> ParseOutputFormat(std::string_view name) {
  const Compression c = CompressionOfName(name);
  const std::string_view plain = name.substr(0, name.size() - Suffix(c).size());
  if (const auto dialect = ParseCsvFormat(plain)) return FileFormat{Kind::kCsv, 0, *dialect, c};
  auto format = Parse(plain, kWrite);
  if (!format.ok()) return InvalidArgument(format.status().message() + ", each optionally with the suffix .gz or .zst");
  format->compression = c;
  return format;
}

Compression CompressionOfName(std::string_view file) {
  if (file.ends_with(".gz")) return Compression::kGzip;
  return file.ends_with(".zst") ? Compression::kZstd : Compression::kNone;
}

Status CheckContainer(std::string_view head, std::string_view file, const FileFormat& format) {
  struct Container {
    std::string_view magic, suffix, name, advice;
  };
  constexpr std::string_view kPack = "; decompress it, or recompress it as .gz or .zst, which can be read directly";
  static const Container kContainers[] = {
      {"BZh", ".bz2", "a bzip2 file", kPack},
      {std::string_view("\xfd"
                        "7zXZ\0",
                        6),
       ".xz", "an xz file", kPack},
      {std::string_view("\x04\x22\x4d\x18", 4), ".lz4", "an lz4 file", kPack},
      {std::string_view("PK\x03\x04", 4), ".zip", "a zip archive", "; unpack it (unzip), and submit the files in it"},
      {std::string_view("PK\x05\x06", 4), ".zip", "an empty zip archive", "; submit text files"},
      {std::string_view("PAR1\x15", 5), ".parquet", "a Parquet file",
       "; write it as csv, as DuckDB does: COPY 'FILE' TO 'FILE.csv'"},
  };
  for (const Container& c : kContainers) {
    if (!head.starts_with(c.magic)) continue;
    // Text may begin with "BZh" and a level, too. In bzip2 the magic of a block or of the end follows.
    if (c.suffix == ".bz2" && (head.size() < 10 || head[3] < '1' || head[3] > '9' ||
                               (head.substr(4, 6) != "1AY&SY" && head.substr(4, 6) != "\x17rE8P\x90"))) {
      continue;
    }
    if (!format.text() && !file.ends_with(c.suffix)) continue;
    return InvalidArgument("INPUT_CONTAINER: " + std::string(file) + " is " + std::string(c.name) +
                           ", which no input format can read" + std::string(c.advice));
  }
  return {};
}

std::string_view Suffix(Compression compression) {
  switch (compression) {
    case Compression::kGzip: return ".gz";
    case Compression::kZstd: return ".zst";
    case Compression::kNone: break;
  }
  return "";
}

}  // namespace mr
