#include "worker/task/formats.h"

#include <charconv>
#include <string_view>

#include "common/abi/batch.h"

namespace mr::task {
namespace {

// A record length, or 0.
uint32_t FixedLength(std::string_view name) {
  constexpr std::string_view kFixed = "fixed:";
  if (!name.starts_with(kFixed)) return 0;
  name.remove_prefix(kFixed.size());
  uint32_t n = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), n);
  if (error != std::errc() || end != name.data() + name.size() || n > kMaxRecordBytes) return 0;
  return n;
}

}  // namespace

Result<Format> ParseInputFormat(const std::string& name) {
  if (name == "text") return Format{FormatKind::kText};
  if (name == "kv") return Format{FormatKind::kKv};
  if (name == "csv") return Format{FormatKind::kCsv};
  if (name == "jsonl") return Format{FormatKind::kJsonl};
  if (name == "record") return Format{FormatKind::kRecord};
  if (const uint32_t n = FixedLength(name)) return Format{FormatKind::kFixed, n};
  return InvalidArgument("unknown input format '" + name + "'; one of text, kv, csv, jsonl, fixed:N, record");
}

Result<Format> ParseOutputFormat(const std::string& name) {
  if (name == "text") return Format{FormatKind::kText};
  if (name == "raw") return Format{FormatKind::kRaw};
  if (name == "record") return Format{FormatKind::kRecord};
  if (const uint32_t n = FixedLength(name)) return Format{FormatKind::kFixed, n};
  return InvalidArgument("unknown output format '" + name + "'; one of text, fixed:N, raw, record");
}

}  // namespace mr::task
