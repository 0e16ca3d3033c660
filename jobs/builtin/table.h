// Tables: CSV inputs with named columns, and the jobs on them. A split does not contain its file's header. So a first
// stage reads the headers, and reports errors in them before any rows are read:
//   header (first records) --many_to_one--> columns (one task) --broadcast--> the stage that reads rows
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/builtin/builtin.h"
#include "jobs/builtin/joined_columns.h"
#include "jobs/builtin/record_rows.h"
#include "jobs/builtin/table_output.h"
#include "jobs/expressions/json_fields.h"
#include "jobs/expressions/row_transform.h"
#include "paceline/args.h"
#include "paceline/csv.h"
#include "paceline/hash.h"
#include "paceline/operator.h"
#include "paceline/plan.h"
#include "paceline/text.h"

namespace mr::builtin {

using sdk::HashBytes;

// The file format of the sides of a job, and of its output.
struct TableFormat {
  std::string format = "csv";     // csv, tsv, jsonl or record
  std::string output_format;      // the same, optionally with .gz or .zst; empty: like the input
  std::string separator;          // one byte, or \t; empty: of the format
  std::string quote;              // one byte, or none; empty: of the format
  bool no_header = false;         // inputs have none: columns are named 1, 2, 3, ...
  bool no_output_header = false;  // parts of the output have none
  expr::RowOptions rows;          // which rows and columns the job works on

  // Declares --format, --output-format, --separator, --quote, --no-header, --no-output-header, and the options of
  // `rows`.
  void AddTo(Args* args);
  // Refuses an invalid format, separator, quote or expression. Replaces \t by a tab.
  void Check(const Args& args);
  // Returns the dialect of the records within the job: of CSV inputs, else the default one. Requires: Check() has
  // passed.
  CsvDialect dialect() const;
  bool json() const { return format == "jsonl"; }
  bool records() const { return format == "record"; }
  // Returns the name of the inputs' format, as in FileOptions.
  std::string InputFormat() const { return json() || records() ? format : CsvFormatName(dialect()); }
  // Returns the options of an input with this format. submit's own --format cannot override it.
  FileOptions Files() const { return {.format = InputFormat(), .only_format = true}; }
  // Returns whether each part of the output begins with a line of the names of its columns. Numbers are no names.
  bool writes_header() const { return !no_header && !no_output_header && ParseCsvFormat(written()).has_value(); }
  // Returns the format of the output's parts, for WriteFiles.
  std::string OutputFormat() const;
  // Adds the formats to the config, for DialectOf and TableOutput.
  Config& AddTo(Config& config) const;

 private:
  // Returns the format of the output's records: jsonl, record, or the name of a CSV dialect.
  std::string written() const;

  std::vector<std::string> where_, select_;  // as given; `rows` has them as one
};

// Encodes a list of texts for a config, and decodes it. Errors: JobError if the bytes are no such list.
std::string EncodeTexts(const std::vector<std::string>& list);
std::vector<std::string> DecodeTexts(std::string_view bytes);

// Writes the options of rows into a config, and reads them. Without these, those of a table without expressions, with
// the null texts of TableFormat::AddTo.
void AddRowOptions(const expr::RowOptions& rows, Config* config);
expr::RowOptions RowOptionsOf(const Config& config);
// Bytes at the start of each split in which types of columns are looked for (guess: some hundred rows).
inline constexpr uint64_t kTypeSampleBytes = 64u << 10;

// Returns the constants of expressions in the job of this attempt.
expr::Constants ConstantsOf(const Context& context);

// Reads the dialect that TableFormat::AddTo(Config) wrote.
CsvDialect DialectOf(const Config& config);

// Help text of the options of expr::RowOptions.
#define MR_ROW_OPTIONS_HELP                                                                                \
  "  --where EXPRESSION     work on the rows for which this SQL expression is true, such as\n"             \
  "                         \"status >= 500 AND path LIKE '/api/%'\"; repeated: all must be true\n"        \
  "  --select LIST          work on these columns: COLUMN, NAME = EXPRESSION, or * for all, such as\n"     \
  "                         \"*, hour = time_text(to_time(time), '%Y-%m-%d %H:00')\"; to_time reads ISO\n" \
  "                         8601, logs of Apache, seconds since 1970, or a format: to_time(X, FORMAT)\n"   \
  "  --types LIST           types for expressions: COLUMN=int, real or text, separated by commas;\n"       \
  "                         default: found from a sample of the rows. With jsonl they also declare keys\n" \
  "                         that the sample lacks\n"                                                       \
  "  --null TEXT            a further field that stands for a missing value, beside the empty one;\n"      \
  "                         repeatable. The first one is written for missing values\n"                     \
  "  --decimal C            decimal mark of numbers in expressions (default '.')\n"

// Help text of the options of TableFormat, and of the columns that the job writes.
#define MR_TABLE_FORMAT_HELP(FIRST_LINE, COLUMNS)                                                                   \
  "  --format F             format of the inputs: csv (default), tsv (tabs, no quotes), record (a container that\n" \
  "                         a table job wrote: any bytes, checksums, no quotes), or jsonl: an object per\n"         \
  "                         line; the column of a nested value is its path, such as address.city\n"                 \
  "  --output-format F      format of the output: csv, tsv, jsonl or record, optionally with .gz or .zst\n"         \
  "                         (default: like the inputs)\n"                                                           \
  "  --separator C          separator of fields (default ','; \\t for a tab)\n"                                     \
  "  --quote C              quote of fields (default '\"'); none: quotes are data\n"                                \
  "  --no-header            the first " FIRST_LINE                                                                  \
  "; columns are named 1, 2, 3, ..., and the output gets no\n"                                                      \
  "                         header\n"                                                                               \
  "  --no-output-header     write no header; by default each part of the output begins with one, and\n"             \
  "                         `mrctl fs getmerge` and --output - keep the first\n" MR_ROW_OPTIONS_HELP                \
  "columns of the output: " COLUMNS

// One input of a job and the columns that it needs.
struct TableSide {
  std::string name;
  std::vector<std::string> uris;     // empty: the job's --input
  std::vector<std::string> columns;  // in this order; the operator knows them by index
  // Whether --where and --select apply to the rows of this side. Otherwise the job applies them to its output rows.
  bool transformed = true;
};

// Adds the stages that find the columns. Returns the last one; each stage of rows reads it by broadcast as its last
// input. `job`: the name in messages. joined: where the sides are not transformed, the rows to which --where and
// --select apply.
JobPlan::Stage& FindColumns(const std::string& job, const TableFormat& format, const std::vector<TableSide>& sides,
                            JobPlan* plan, const JoinedTables& joined = {});

// Returns the config of a stage that reads the rows of sides[side].
Config RowsConfig(const std::string& job, const TableFormat& format, const TableSide& side);

// The columns of one side, as FindColumns sends them.
struct ColumnsFound {
  std::vector<uint32_t> wanted;       // index in a row of each wanted column
  std::vector<std::string> names;     // of all columns of the rows that the job works on
  std::vector<expr::Column> columns;  // of the input; without expressions: no types
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
    json_ = config.Bool("json");
    records_ = config.Bool("records");
    options_ = RowOptionsOf(config);
    transforms_ = options_.any();
    any_key_ = config.Bool("any_key");
  }
  void Side(std::string_view side, std::string_view found);

 protected:
  // Calls f for each row that --where keeps, as --select changes it, except the header and blank lines. Rows with
  // another number of fields than the header are bad, and rows without a value for an expression. f may throw BadRecord
  // before it uses the row. Each line of a bad row counts as one bad record.
  // A block of a `record` file is one record.
  template <class F>
  void ForEachRow(const Block& block, F&& f) {
    const std::string_view text = block.offset == 0 ? WithoutByteOrderMark(block.text) : block.text;
    bool header = header_ && !json_ && !records_ && block.offset == 0;
    const uint64_t file = HashBytes(this->context().input_file());
    const auto take = [&](const CsvRecord& record, const char* wrong) {
      if (std::exchange(header, false) || (record.text.empty() && !records_)) return;
      try {
        if (json_) ParseJson(record.text);
        if (wrong != nullptr) throw BadRecord(wrong);
        if (row_.size() != fields_) {
          throw BadRecord("the row has " + std::to_string(row_.size()) + " fields, " +
                          (header_ ? "the header" : "the first row") + " has " + std::to_string(fields_));
        }
        record_ = record.text;
        current_ = &row_;
        position_ = records_ ? PositionOfRecord(file) : file + OffsetOf(block, record);
        if (transforms_ && !Transform()) return;
        f(*current_);
      } catch (const BadRecord& bad) {
        const std::string place = PlaceOf(block, record);
        this->context().FailedIn(place);  // the failure's place if there are too many
        this->context().SkipRecords(records_ ? 1 : CsvLines(record.with_end), record.with_end.size(),
                                    job_ + ": " + place + ": " + bad.what());
      } catch (const sdk::AttemptOver&) {
        throw;
      } catch (...) {
        this->context().FailedIn(PlaceOf(block, record));
        throw;
      }
    };
    if (records_) {
      bool names = false;
      const bool row = ParseRecordRow(block.text, &names, &row_);
      if (row && names) return ExpectSameHeader();
      return take(CsvRecord{block.text, block.text}, row ? nullptr : "the record is no row of a table");
    }
    if (!json_) return ForEachCsvRow(text, dialect_, &row_, take);
    ForEachLine(text, [&](std::string_view line) {
      const std::string_view record = line.substr(0, line.size() - (!line.empty() && line.back() == '\r' ? 1 : 0));
      take(CsvRecord{record, line}, nullptr);
    });
  }
  // Returns the index in a row of needed column i.
  uint32_t column(size_t i) const { return found_.wanted[i]; }
  // Returns whether a field stands for a missing value.
  bool IsNull(std::string_view field) const { return transform_.values().IsNull(field); }
  const ColumnsFound& found() const { return found_; }
  const CsvDialect& dialect() const { return dialect_; }
  // Returns the text of the current row's record, without its line end, if it is in the job's dialect and --select did
  // not change it.
  std::optional<std::string_view> unchanged_record() const {
    return current_ == &row_ && !json_ && !records_ ? std::optional(record_) : std::nullopt;
  }
  char separator() const { return dialect_.separator; }
  // Returns a number that identifies the current row: equal in all attempts, and apart by chance for different rows.
  uint64_t position() const { return position_; }
  // Refuses the current row: its `column` is no `wanted`.
  [[noreturn]] void RefuseField(uint32_t column, const std::string& wanted) const {
    throw BadRecord("column '" + expr::ShownName(found_.names[column]) + "' has '" +
                    std::string((*current_)[column].substr(0, 60)) + "', which is no " + wanted);
  }

 private:
  static uint64_t OffsetOf(const Block& block, const CsvRecord& record) {
    return block.offset + static_cast<uint64_t>(record.text.data() - block.text.data());
  }
  // Records of a step in one job have no place in a file: they are counted.
  uint64_t PositionOfRecord(uint64_t file) {
    const uint64_t place[] = {file, this->context().upstream_task(), records_taken_++};
    return HashBytes({reinterpret_cast<const char*>(place), sizeof place});
  }
  // Checks a header that stands between rows, in row_: files of one table can be concatenated. Errors: FinalError.
  void ExpectSameHeader() const {
    for (size_t i = 0; i < std::max<size_t>(row_.size(), fields_); ++i) {
      std::string_view here, first;
      if (i < row_.size()) here = row_[i];
      if (i < fields_) first = found_.columns[i].name;
      if (here == first && i < std::min<size_t>(row_.size(), fields_)) continue;
      throw FinalError(job_ + ": " + this->context().input_file() + ": headers differ: column " +
                       std::to_string(i + 1) + " is '" + expr::ShownName(first.substr(0, 60)) + "' at first, and '" +
                       expr::ShownName(here.substr(0, 60)) +
                       "' in a later header; give tables with other columns to jobs of their own");
    }
  }
  std::string PlaceOf(const Block& block, const CsvRecord& record) {
    return this->context().input_file() + ", byte " + std::to_string(OffsetOf(block, record));
  }
  // Parses an object into row_. Errors: BadRecord.
  void ParseJson(std::string_view line) {
    if (!fields_of_json_.Parse(line, &row_)) {
      const std::string& why = fields_of_json_.wrong();
      throw BadRecord(why.empty() ? "the line is no JSON object" : "the line is no JSON object: " + why);
    }
    if (any_key_ || fields_of_json_.unknown_key().empty() || !options_.select.empty()) return;
    throw BadRecord("the key '" + fields_of_json_.unknown_key() +
                    "' is not among the columns that were found in a sample of the rows; declare it with --types '" +
                    fields_of_json_.unknown_key() +
                    "=text' (or int, real), or name the columns that the job needs with --select");
  }
  // Filters and changes the current row. Returns false if the row is dropped. Errors: BadRecord.
  bool Transform() {
    std::string why;
    const auto result = transform_.Apply(row_, position_, &current_, &why);
    if (result == expr::RowTransform::Result::kBad) throw BadRecord(why);
    return result == expr::RowTransform::Result::kKeep;
  }

  std::string job_, side_;
  CsvDialect dialect_;
  bool header_ = true, json_ = false, records_ = false;
  uint64_t records_taken_ = 0;
  bool any_key_ = false;  // keys of JSON that the sample did not show are left out
  expr::JsonFields fields_of_json_;
  expr::RowOptions options_;
  bool transforms_ = false;  // options_.any(), for each row
  expr::RowTransform transform_;
  ColumnsFound found_;
  size_t fields_ = 0;                // of each row of the input
  CsvRow row_;                       // of the input
  const CsvRow* current_ = nullptr;  // that the job works on
  std::string_view record_;
  uint64_t position_ = 0;
};

ColumnsFound DecodeColumns(std::string_view bytes);

template <class KOut, class VOut>
void RowMapper<KOut, VOut>::Side(std::string_view side, std::string_view found) {
  if (side != side_) return;
  found_ = DecodeColumns(found);
  fields_ = found_.columns.size();
  const std::string wrong = transform_.Compile(options_, found_.columns, ConstantsOf(this->context()));
  if (!wrong.empty()) throw FinalError(job_ + ": " + wrong);
  if (!json_) return;
  std::vector<std::string> paths;
  for (const expr::Column& column : found_.columns) paths.push_back(column.name);
  fields_of_json_ = expr::JsonFields(paths, transform_.values().nulls[0]);
}

// Returns the values of a repeated option as one list: --by a --by b,c is a,b,c.
std::string JoinLists(const std::vector<std::string>& lists);
// Splits names at commas, as for --by. Errors: refuses empty names.
std::vector<std::string> SplitNames(const Args& args, const std::string& option, const std::string& list);

void AddTables(Library& library);

}  // namespace mr::builtin
