// Tables: CSV inputs with named columns, and the jobs on them. A split does not contain its file's header. So a first
// stage reads the headers, and reports errors in them before any rows are read:
//   header (first records) --many_to_one--> columns (one task) --broadcast--> the stage that reads rows
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/builtin/builtin.h"
#include "paceline/args.h"
#include "paceline/csv.h"
#include "paceline/operator.h"
#include "paceline/plan.h"

namespace mr::builtin {

// The file format of the sides of a job, and of its output.
struct TableFormat {
  std::string separator = ",";    // one byte, or \t
  std::string quote = "\"";       // one byte, or none
  bool no_header = false;         // inputs have none: columns are named 1, 2, 3, ...
  bool no_output_header = false;  // parts of the output have none

  // Declares --separator C, --quote C, --no-header and --no-output-header.
  void AddTo(Args* args);
  // Refuses an invalid separator or quote. Replaces \t by a tab.
  void Check(const Args& args);
  // Requires: Check() has passed.
  CsvDialect dialect() const;
  // Returns the options of an input with this format. --format cannot override it.
  FileOptions Files() const { return {.format = CsvFormatName(dialect()), .only_format = true}; }
  // Returns whether each part of the output begins with the names of its columns. Numbers are no names.
  bool writes_header() const { return !no_header && !no_output_header; }
  // Returns the format of the output's parts, for WriteFiles.
  std::string OutputFormat() const { return writes_header() ? CsvFormatName(dialect()) : "text"; }
  // Adds the dialect to the config, for DialectOf, and whether there is a header to write, for OutputHeader.
  Config& AddTo(Config& config) const {
    return config.Set("csv", CsvFormatName(dialect())).Set("output_header", writes_header());
  }
};

// Reads the dialect that TableFormat::AddTo(Config) wrote.
CsvDialect DialectOf(const Config& config);

// Returns a record with these fields.
std::string CsvLine(const std::vector<std::string>& fields, const CsvDialect& dialect);

// The header of a part of the output, which comes before all rows and also without any.
class OutputHeader {
 public:
  OutputHeader() = default;
  explicit OutputHeader(const Config& config) : dialect_(DialectOf(config)), pending_(config.Bool("output_header")) {}
  // Emits the header with these names, in the first call. Does nothing if the job writes none.
  template <class Out>
  void Emit(const std::vector<std::string>& names, Out& out) {
    if (std::exchange(pending_, false)) out.Line(CsvLine(names, dialect_));
  }

 private:
  CsvDialect dialect_;
  bool pending_ = false;
};

// Help text of the options of TableFormat, and of the columns that the job writes.
#define MR_TABLE_FORMAT_HELP(FIRST_LINE, COLUMNS)                                                       \
  "  --separator C          separator of fields (default ','; \\t for a tab)\n"                         \
  "  --quote C              quote of fields (default '\"'); none: quotes are data\n"                    \
  "  --no-header            the first " FIRST_LINE                                                      \
  "; columns are named 1, 2, 3, ..., and the output gets no\n"                                          \
  "                         header\n"                                                                   \
  "  --no-output-header     write no header; by default each part of the output begins with one, and\n" \
  "                         `mrctl fs getmerge` and --output - keep the first\n"                        \
  "columns of the output: " COLUMNS

// One input of a job and the columns that it needs.
struct TableSide {
  std::string name;
  std::vector<std::string> uris;     // empty: the job's --input
  std::vector<std::string> columns;  // in this order; the operator knows them by index
};

// Adds the stages that find the columns. Returns the last one; each stage of rows reads it by broadcast as its last
// input. `job`: the name in messages.
JobPlan::Stage& FindColumns(const std::string& job, const TableFormat& format, const std::vector<TableSide>& sides,
                            JobPlan* plan);

// Returns the config of a stage that reads the rows of sides[side].
Config RowsConfig(const std::string& job, const TableFormat& format, const TableSide& side);

// The columns of one side, as FindColumns sends them.
struct ColumnsFound {
  std::vector<uint32_t> wanted;    // index in a row of each wanted column
  std::vector<std::string> names;  // of all columns
};

// Base of operators that read rows of one side. Derive from it and write Map as
//   void Map(const Block& block, Out& out) { this->ForEachRow(block, [&](const CsvRow& row) { ... }); }
template <class KOut, class VOut>
class RowMapper : public BlockMapper<KOut, VOut>, public SideInput<std::string, std::string> {
 public:
  void Open() {
    const Config config = this->context().config();
    job_ = config.Text("job");
    side_ = config.Text("side");
    dialect_ = DialectOf(config);
    header_ = config.Bool("header");
  }
  void Side(std::string_view side, std::string_view found);

 protected:
  // Calls f for each row, except the header and blank lines. Rows with another number of fields than the header are
  // bad. f may throw BadRecord before it uses the row. Each line of a bad row counts as one bad record.
  template <class F>
  void ForEachRow(const Block& block, F&& f) {
    const std::string_view text = block.offset == 0 ? WithoutByteOrderMark(block.text) : block.text;
    bool header = header_ && block.offset == 0;
    ForEachCsvRow(text, dialect_, &row_, [&](const CsvRecord& record, const char* wrong) {
      if (std::exchange(header, false) || record.text.empty()) return;
      try {
        if (wrong != nullptr) throw BadRecord(wrong);
        if (row_.size() != found_.names.size()) {
          throw BadRecord("the row has " + std::to_string(row_.size()) + " fields, " +
                          (header_ ? "the header" : "the first row") + " has " + std::to_string(found_.names.size()));
        }
        f(static_cast<const CsvRow&>(row_));
      } catch (const BadRecord& bad) {
        const std::string place = PlaceOf(block, record);
        this->context().FailedIn(place);  // the failure's place if there are too many
        this->context().SkipRecords(CsvLines(record.with_end), record.with_end.size(),
                                    job_ + ": " + place + ": " + bad.what());
      } catch (const sdk::AttemptOver&) {
        throw;
      } catch (...) {
        this->context().FailedIn(PlaceOf(block, record));
        throw;
      }
    });
  }
  // Returns the index in a row of needed column i.
  uint32_t column(size_t i) const { return found_.wanted[i]; }
  const ColumnsFound& found() const { return found_; }
  const CsvDialect& dialect() const { return dialect_; }
  char separator() const { return dialect_.separator; }
  // Refuses the current row: its `column` is no `wanted`.
  [[noreturn]] void RefuseField(uint32_t column, const std::string& wanted) const {
    throw BadRecord("column '" + found_.names[column] + "' has '" + std::string(row_[column].substr(0, 60)) +
                    "', which is no " + wanted);
  }

 private:
  std::string PlaceOf(const Block& block, const CsvRecord& record) {
    const uint64_t offset = block.offset + static_cast<uint64_t>(record.text.data() - block.text.data());
    return this->context().input_file() + ", byte " + std::to_string(offset);
  }

  std::string job_, side_;
  CsvDialect dialect_;
  bool header_ = true;
  ColumnsFound found_;
  CsvRow row_;
};

ColumnsFound DecodeColumns(std::string_view bytes);

template <class KOut, class VOut>
void RowMapper<KOut, VOut>::Side(std::string_view side, std::string_view found) {
  if (side == side_) found_ = DecodeColumns(found);
}

// Encodes a list of texts for a config, and decodes it. Errors: JobError if the bytes are no such list.
std::string EncodeTexts(const std::vector<std::string>& list);
std::vector<std::string> DecodeTexts(std::string_view bytes);

// Returns the values of a repeated option as one list: --by a --by b,c is a,b,c.
std::string JoinLists(const std::vector<std::string>& lists);
// Splits names at commas, as for --by. Errors: refuses empty names.
std::vector<std::string> SplitNames(const Args& args, const std::string& option, const std::string& list);

void AddTables(Library& library);

}  // namespace mr::builtin
