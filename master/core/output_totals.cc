#include "master/core/output_totals.h"

#include "common/base/file_format.h"
#include "common/base/text.h"

namespace mr::master {

OutputTotals TotalsOf(const std::vector<FileOutput>& parts) {
  OutputTotals totals;
  Hasher128 hasher;
  for (const FileOutput& part : parts) {
    totals.bytes += part.bytes;
    totals.records += part.records;
    ++totals.parts;
    hasher.Update(part.name.data(), part.name.size() + 1);  // with its NUL, as a separator
    hasher.Update(&part.content, sizeof part.content);
  }
  totals.digest = hasher.Finish();
  return totals;
}

std::string HeaderOf(const JobSpec& spec) {
  std::string header;
  for (const StageSpec& stage : spec.stages) {
    if (!stage.is_final()) continue;
    const auto format = ParseOutputFormat(stage.ports[0].format);
    if (!format.ok() || format->kind != FileFormat::Kind::kCsv) return "";
    header = CsvFormatName(format->csv);
  }
  return header;
}

std::string SuccessDocument(const std::string& job, const std::string& header, const std::vector<FileOutput>& parts,
                            size_t max_bytes) {
  const OutputTotals totals = TotalsOf(parts);
  std::string text = "{\n  \"version\": 1,\n  \"job\": \"" + job + "\",\n  \"bytes\": " + std::to_string(totals.bytes) +
                     ",\n  \"records\": " + std::to_string(totals.records) + ",\n  \"digest\": \"" +
                     totals.digest.Hex() + (header.empty() ? "" : "\",\n  \"header\": \"" + JsonEscape(header)) +
                     "\",\n  \"parts\": [";
  // About so much per part, beside its name.
  if (parts.size() * 120 > max_bytes) return text + "]\n}\n";
  const char* separator = "\n";
  for (const FileOutput& part : parts) {
    text += separator + std::string("    {\"name\": \"") + JsonEscape(part.name) +
            "\", \"bytes\": " + std::to_string(part.bytes) + ", \"records\": " + std::to_string(part.records) +
            ", \"digest\": \"" + part.content.Hex() + "\"}";
    separator = ",\n";
  }
  return text + "\n  ]\n}\n";
}

}  // namespace mr::master
