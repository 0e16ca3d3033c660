// Names of file formats: text | kv | csv | jsonl | fixed:N | record to read, text | fixed:N | raw |
// record to write.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace mr::task {

enum class FormatKind : uint8_t { kText, kKv, kCsv, kJsonl, kFixed, kRaw, kRecord };

struct Format {
  FormatKind kind = FormatKind::kText;
  uint32_t record_bytes = 0;  // kFixed
  bool lines() const {
    return kind == FormatKind::kText || kind == FormatKind::kCsv || kind == FormatKind::kJsonl;
  }
};

Result<Format> ParseInputFormat(const std::string& name);
Result<Format> ParseOutputFormat(const std::string& name);

}  // namespace mr::task
