// The output of a table job: a header and records, as CSV, as lines of JSON, or in the container of format `record`.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/expressions/types.h"
#include "paceline/config.h"
#include "paceline/context.h"
#include "paceline/csv.h"
#include "paceline/error.h"

namespace mr::builtin {

// Appends a field. Errors: BadRecord for one that a dialect without quotes cannot have.
inline void AppendField(std::string_view field, std::string* line, const CsvDialect& dialect) {
  const auto breaks = [&](char c) { return c == dialect.separator || c == '\n' || c == '\r'; };
  if (!dialect.quotes && std::any_of(field.begin(), field.end(), breaks)) {
    throw BadRecord("the field '" + std::string(field.substr(0, 60)) +
                    "' has a separator or a line end, which a format without quotes cannot have");
  }
  AppendCsvField(field, line, dialect);
}

// Appends a row's fields as a record. A single empty field is quoted, since an empty line is no row. Errors: as
// AppendField.
template <class Row>
void AppendRow(const Row& row, const CsvDialect& dialect, std::string* line) {
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line->push_back(dialect.separator);
    AppendField(row[i], line, dialect);
  }
  if (row.size() == 1 && row[0].empty() && dialect.quotes) line->append(2, dialect.quote);
}

// Returns a record with these fields.
std::string CsvLine(const std::vector<std::string>& fields, const CsvDialect& dialect);

// Appends a JSON object. A field that is a number of JSON is written as one, unless its column is in `texts`; a field
// of `nulls` is null.
void AppendJsonRow(const CsvRow& row, const std::vector<std::string>& names, const std::vector<bool>& texts,
                   const expr::Values& values, std::string* line);

// Writes records of the job's dialect in the format of the output. A record that this format cannot have is skipped,
// and counted as a bad one.
class TableOutput {
 public:
  TableOutput() = default;
  // Reads the config that TableFormat::AddTo wrote.
  explicit TableOutput(const Config& config);

  // Emits the header with these names, in the first call. Required before Line(). Emits nothing if the job writes none.
  template <class Out>
  void Header(const std::vector<std::string>& names, Out& out) {
    if (std::exchange(begun_, true)) return;
    SetNames(names);
    if (header_) out.Line(CsvLine(names, written_));
    if (records_) out.Line(RecordHeader(names));
  }
  // Emits a record of the dialect of the job.
  template <class Out>
  void Line(std::string_view record, Context& context, Out& out) {
    if (same_) return out.Line(record);
    if (Convert(record, context)) out.Line(line_);
  }
  // Emits a row. record: its text in the dialect of the job, if it has one. Errors: BadRecord for a row that the format
  // of the output cannot have; nothing was emitted.
  template <class Out>
  void Row(const CsvRow& row, std::optional<std::string_view> record, Out& out) {
    if (same_ && record) return out.Line(*record);
    line_.clear();
    Append(row);
    out.Line(line_);
  }
  // Emits the record that `make` appends to a text. Errors of `make`: BadRecord, which skips the record.
  template <class Make, class Out>
  void Made(Make&& make, Context& context, Out& out) {
    made_.clear();
    try {
      make(&made_);
    } catch (const BadRecord& bad) {
      return Skip(made_, bad.what(), context);
    }
    Line(made_, context, out);
  }

 private:
  void SetNames(const std::vector<std::string>& names);
  static std::string RecordHeader(const std::vector<std::string>& names);
  // Converts a record into line_. Returns false if it was skipped.
  bool Convert(std::string_view record, Context& context);
  // Appends a row to line_. Errors: BadRecord.
  void Append(const CsvRow& row);
  static void Skip(std::string_view record, const std::string& why, Context& context);

  CsvDialect dialect_, written_;  // of the job's records, and of the output
  bool header_ = false, json_ = false, records_ = false, same_ = true, begun_ = false;
  expr::Values values_;
  std::vector<std::string> names_, text_columns_;
  std::vector<bool> texts_;  // by column
  CsvRow row_;
  std::string line_, made_;
};

}  // namespace mr::builtin
