// Tables: CSV inputs with named columns, for the jobs that work on them. A split knows nothing of its file's header,
// so the headers travel first, and what is wrong with them is told before any real work is done:
//   header (first records) --many_to_one--> columns (one task) --broadcast--> the stage that reads rows
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jobs/builtin/builtin.h"
#include "paceline/args.h"
#include "paceline/csv.h"
#include "paceline/operator.h"

namespace mr::builtin {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// How the files of one side of a job are written.
struct TableFormat {
  std::string separator = ",";  // one byte, or \t
  bool no_header = false;       // columns are named 1, 2, 3, ...

  // --separator C, --no-header
  void AddTo(Args* args);
  // Refuses what is no separator; \t becomes a tab.
  void Check(const Args& args);
};

// One input of a job and the columns of it that are wanted.
struct TableSide {
  std::string name;
  std::vector<std::string> uris;     // empty: the job's --input
  std::vector<std::string> columns;  // in this order; the operator knows them by their place
};

// Adds the stages that find the columns; the last of them, to be read by a broadcast as the last input of each stage
// of rows. `job`: for messages.
JobPlan::Stage& FindColumns(const std::string& job, const TableFormat& format, const std::vector<TableSide>& sides,
                            JobPlan* plan);

// Config of a stage that reads the rows of sides[side].
Config RowsConfig(const std::string& job, const TableFormat& format, const TableSide& side);

// What FindColumns found of one side.
struct ColumnsFound {
  std::vector<uint32_t> wanted;    // index in a row of each wanted column
  std::vector<std::string> names;  // of all columns
};

// Base of operators that read rows of one side. Derive, and write Map as
//   void Map(const Block& block, Out& out) { this->ForEachRow(block, [&](const CsvRow& row) { ... }); }
template <class KOut, class VOut>
class RowMapper : public BlockMapper<KOut, VOut>, public SideInput<std::string, std::string> {
 public:
  void Open() {
    const Config config = this->context().config();
    job_ = config.Text("job");
    side_ = config.Text("side");
    separator_ = config.Text("separator")[0];
    header_ = config.Bool("header");
  }
  void Side(std::string_view side, std::string_view found);

 protected:
  // Rows that are no header and not blank, with as many fields as the header has. f may throw BadRecord before it has
  // done anything with the row.
  template <class F>
  void ForEachRow(const Block& block, F&& f) {
    const char* const begin = block.text.data();
    ForEachCsvRecord(block.text, [&](std::string_view record) {
      const uint64_t offset = block.offset + static_cast<uint64_t>(record.data() - begin);
      if ((offset == 0 && header_) || record.empty() || record == "\r") return;
      if (offset == 0 && record.substr(0, 3) == kByteOrderMark) record.remove_prefix(3);
      try {
        if (const char* wrong = row_.Parse(record, separator_)) throw BadRecord(wrong);
        if (row_.size() != found_.names.size()) {
          throw BadRecord("the row has " + std::to_string(row_.size()) + " fields, " +
                          (header_ ? "the header" : "the first row") + " has " + std::to_string(found_.names.size()));
        }
        f(static_cast<const CsvRow&>(row_));
      } catch (const BadRecord& bad) {
        this->context().SkipRecord(job_ + ": " + this->context().input_file() + ", byte " + std::to_string(offset) + ": " +
                                   bad.what());
      }
    });
  }
  // The index in a row of wanted column number i.
  uint32_t column(size_t i) const { return found_.wanted[i]; }
  const ColumnsFound& found() const { return found_; }
  char separator() const { return separator_; }
  // Of the row at hand: what stands in a column is no `wanted`.
  [[noreturn]] void RefuseField(uint32_t column, const std::string& wanted) const {
    throw BadRecord("column '" + found_.names[column] + "' has '" + std::string(row_[column].substr(0, 60)) + "', which is no " +
                    wanted);
  }

 private:
  std::string job_, side_;
  char separator_ = ',';
  bool header_ = true;
  ColumnsFound found_;
  CsvRow row_;
};

ColumnsFound DecodeColumns(std::string_view bytes);

template <class KOut, class VOut>
void RowMapper<KOut, VOut>::Side(std::string_view side, std::string_view found) {
  if (side == side_) found_ = DecodeColumns(found);
}

// Names separated by commas, as --by takes them; refuses empty ones.
std::vector<std::string> SplitNames(const Args& args, const std::string& option, const std::string& list);

void AddTables(Library& library);

}  // namespace mr::builtin
