// Names of file formats in plans, options and messages: one list for the command line, the master and mrtask.
//   to read:  text | kv | csv | jsonl | fixed:N | record | raw  (a file's name and first bytes show its compression);
//             csv with another separator or quote is csv(SEPARATOR,QUOTE|none), csv_dialect.h
//   to write: text | raw | fixed:N | record, optionally with the suffix .gz or .zst, as in text.zst; of operators that
//             write a header: csv, which is text whose first record in each part is the header
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
  // Returns whether records are text, so that a file cannot begin like a compressed one by chance.
  bool text() const { return lines() || kind == Kind::kKv; }
  // Returns whether records end with newlines, so that blocks of whole records are possible. A csv record may have
  // several lines.
  bool lines() const { return kind == Kind::kText || kind == Kind::kCsv || kind == Kind::kJsonl; }
};

// Parses the name of a format. Errors: kInvalidArgument, with the formats that exist and the nearest name.
Result<FileFormat> ParseInputFormat(std::string_view name);
Result<FileFormat> ParseOutputFormat(std::string_view name);

// Returns the compression that the suffix of a file's name indicates: x.gz, x.zst.
Compression CompressionOfName(std::string_view file);
// The number of first bytes of a file that CheckContainer needs.
inline constexpr size_t kContainerHeadBytes = 16;
// Refuses a file that begins like a container that nothing here reads (bzip2, xz, lz4, zip, Parquet), where the format
// is text or the file's name has that container's suffix. Errors: kInvalidArgument, with what to do.
Status CheckContainer(std::string_view head, std::string_view file, const FileFormat& format);

// Returns ".gz", ".zst" or "".
std::string_view Suffix(Compression compression);

}  // namespace mr
