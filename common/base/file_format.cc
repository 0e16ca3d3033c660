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
constexpr Known kRead[] = {{"text", Kind::kText},   {"kv", Kind::kKv},           {"csv", Kind::kCsv},
                           {"jsonl", Kind::kJsonl}, {"fixed:N", Kind::kFixed}, {"record", Kind::kRecord},
                           {"raw", Kind::kRaw}};
constexpr Known kWrite[] = {
    {"text", Kind::kText}, {"raw", Kind::kRaw}, {"fixed:N", Kind::kFixed}, {"record", Kind::kRecord}};

Result<FileFormat> Fixed(std::string_view name) {
  uint32_t n = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + name.find(':') + 1, end, n);
  if (error == std::errc() && at == end && n > 0 && n <= kMostFixedBytes) return FileFormat{Kind::kFixed, n};
  return InvalidArgument("unknown format '" + std::string(name) +
                         "': fixed wants the length of a record in bytes, as fixed:100, at most 16 MiB");
}

Result<FileFormat> Parse(std::string_view name, std::span<const Known> known) {
  if (name.starts_with("fixed:") && name != "fixed:N") return Fixed(name);
  std::string list;
  std::vector<std::string_view> names;
  for (const Known& k : known) {
    if (name == k.name && k.kind != Kind::kFixed) return FileFormat{k.kind};
    list += (list.empty() ? "" : ", ") + std::string(k.name);
    names.push_back(k.name);
  }
  return InvalidArgument("unknown format '" + std::string(name) + "'" + DidYouMean(name, names) + "; there are " + list);
}

}  // namespace

Result<FileFormat> ParseInputFormat(std::string_view name) {
  // A habit of other tools; here the files say it themselves.
  const Compression c = CompressionOfName(name);
  const std::string_view plain = name.substr(0, name.size() - Suffix(c).size());
  if (c != Compression::kNone && Parse(plain, kRead).ok()) {
    return InvalidArgument("unknown format '" + std::string(name) + "': say " + std::string(plain) +
                           "; compressed files are known by their names and first bytes");
  }
  return Parse(name, kRead);
}

Result<FileFormat> ParseOutputFormat(std::string_view name) {
  const Compression c = CompressionOfName(name);
  auto format = Parse(name.substr(0, name.size() - Suffix(c).size()), kWrite);
  if (!format.ok()) return InvalidArgument(format.status().message() + ", and each with .gz or .zst behind it");
  format->compression = c;
  return format;
}

Compression CompressionOfName(std::string_view file) {
  if (file.ends_with(".gz")) return Compression::kGzip;
  return file.ends_with(".zst") ? Compression::kZstd : Compression::kNone;
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
