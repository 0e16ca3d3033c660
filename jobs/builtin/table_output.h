// The output of a table job: a header and records, as CSV or as lines of JSON.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/expressions/types.h"
#include "paceline/config.h"
#include "paceline/csv.h"
#include "paceline/error.h"

namespace mr::builtin {

// Appends a row's fields as a record. A single empty field is quoted, since an empty line is no row.
template <class Row>
void AppendRow(const Row& row, const CsvDialect& dialect, std::string* line) {
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line->push_back(dialect.separator);
    AppendCsvField(row[i], line, dialect);
  }
  if (row.size() == 1 && row[0].empty() && dialect.quotes) line->append(2, dialect.quote);
}

// Returns a record with these fields.
std::string CsvLine(const std::vector<std::string>& fields, const CsvDialect& dialect);

// Appends a JSON object. A field that is a number of JSON is written as one, unless its column is in `texts`; a field
// of `nulls` is null.
void AppendJsonRow(const CsvRow& row, const std::vector<std::string>& names, const std::vector<bool>& texts,
                   const expr::Values& values, std::string* line);

// Writes records of the job's dialect in the format of the output. Errors: BadRecord for a record that it cannot have.
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
  }
  // Emits a record of the dialect of the job.
  template <class Out>
  void Line(std::string_view record, Out& out) {
    out.Line(same_ ? record : Converted(record));
  }
  // Returns whether lines are written as they are.
  bool same() const { return same_; }

 private:
  void SetNames(const std::vector<std::string>& names);
  std::string_view Converted(std::string_view record);

  CsvDialect dialect_, written_;  // of the job's records, and of the output
  bool header_ = false, json_ = false, same_ = true, begun_ = false;
  expr::Values values_;
  std::vector<std::string> names_, text_columns_;
  std::vector<bool> texts_;  // by column
  CsvRow row_;
  std::string line_;
};

}  // namespace mr::builtin
