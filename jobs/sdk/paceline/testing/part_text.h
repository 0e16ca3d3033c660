// The bytes of a part of a LocalJob's output.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paceline/codec.h"
#include "paceline/csv.h"
#include "paceline/error.h"
#include "paceline/testing/test_host.h"

namespace mr::sdk {

// Appends a record to a file of format record. LocalJob has no checksums: the containers of a cluster are others.
inline void AppendContained(std::string_view key, std::string_view value, std::string* file) {
  for (const std::string_view part : {key, value}) {
    AppendVarint(part.size(), file);
    file->append(part);
  }
}

// Returns the records of such a file in batches of up to four, each with its offset. sample_bytes: ends after as many,
// if it is not 0. Errors: JobError for other bytes.
inline std::vector<std::pair<uint64_t, TestRecords>> ContainedBatches(std::string_view file, uint64_t sample_bytes) {
  constexpr size_t kMostRecords = 4;
  std::vector<std::pair<uint64_t, TestRecords>> batches;
  const size_t whole = file.size();
  while (!file.empty() && (sample_bytes == 0 || whole - file.size() < sample_bytes)) {
    auto& batch = batches.emplace_back(whole - file.size(), TestRecords());
    while (!file.empty() && batch.second.size() < kMostRecords) {
      std::string parts[2];
      for (std::string& part : parts) part = Take(&file, TakeVarint(&file), "a record of a container");
      batch.second.push_back({std::move(parts[0]), std::move(parts[1])});
    }
  }
  return batches;
}

// Returns the records as a file of this format.
inline std::string PartText(const std::string& format, const TestRecords& records) {
  const bool lines = format == "text" || ParseCsvFormat(format).has_value();
  std::string text;
  for (const auto& r : records) {
    if (format == "record") {
      AppendContained(r.key, r.value, &text);
      continue;
    }
    text += r.key;
    if (lines && !r.key.empty()) text += '\t';
    text += r.value;
    if (lines) text += '\n';
  }
  return text;
}

// Returns the header of a part of format csv, which is its first record. known: that of the parts before, or "".
// Errors: JobError if there is none, or another one.
inline std::string HeaderText(const std::string& op, const TestRecords& records, const std::string& known) {
  if (records.empty()) {
    throw JobError("operator '" + op + "' emitted no header, with which each part of an output of format csv begins");
  }
  std::string header = PartText("text", {records.front()});
  if (known.empty() || header == known) return header;
  throw JobError("operator '" + op + "' began a part with the header " + header + "and another one with " + known);
}

}  // namespace mr::sdk
