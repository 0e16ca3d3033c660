// Names of file formats, as in plans, options and messages: one list for the command line, the master and mrtask.
//   to read:  text | kv | csv | jsonl | fixed:N | record | raw  (compression is told by a file's name and first bytes);
//             csv with another separator or quote is csv(SEPARATOR,QUOTE|none), csv_dialect.h
//   to write: text | raw | fixed:N | record, and .gz or .zst behind it, as text.zst
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/csv_dialect.h"
#include "common/base/status.h"

namespace mr {

inline constexpr uint32_t kMostFixedBytes = 16u << 20;  // a record's limit (common/abi/batch.h)

enum class Compression : uint8_t { kNone, kGzip, kZstd };

struct FileFormat {
  enum class Kind : uint8_t { kText, kKv, kCsv, kJsonl, kFixed, kRaw, kRecord };
  Kind kind = Kind::kText;
  uint32_t record_bytes = 0;                     // kFixed
  CsvDialect csv = {};                           // kCsv
  Compression compression = Compression::kNone;  // to write
  // Records end with newlines, and whole ones can be had as blocks. Those of csv are not always lines.
  // Records of text: their first bytes are no bytes of a compressed file by chance.
  bool text() const { return lines() || kind == Kind::kKv; }
  bool lines() const { return kind == Kind::kText || kind == Kind::kCsv || kind == Kind::kJsonl; }
};

// kInvalidArgument with what there is, and the nearest name.
Result<FileFormat> ParseInputFormat(std::string_view name);
Result<FileFormat> ParseOutputFormat(std::string_view name);

// What the name of a file promises: x.gz, x.zst.
Compression CompressionOfName(std::string_view file);
// How many first bytes of a file CheckContainer wants.
inline constexpr size_t kContainerHeadBytes = 16;
// Refuses a file that begins as a container that nothing here reads (bzip2, xz, lz4, zip, Parquet), where it is to be
// read as text, or its name says the same. Says what to do. kInvalidArgument.
Status CheckContainer(std::string_view head, std::string_view file, const FileFormat& format);

// ".gz", ".zst" or "".
std::string_view Suffix(Compression compression);

}  // namespace mr
