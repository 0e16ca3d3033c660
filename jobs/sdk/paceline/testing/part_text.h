// The bytes of a part of a LocalJob's output.
#pragma once

#include <string>

#include "paceline/csv.h"
#include "paceline/error.h"
#include "paceline/testing/test_host.h"

namespace mr::sdk {

// Returns the records as a file of this format.
inline std::string PartText(const std::string& format, const TestRecords& records) {
  const bool lines = format == "text" || ParseCsvFormat(format).has_value();
  std::string text;
  for (const auto& r : records) {
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
