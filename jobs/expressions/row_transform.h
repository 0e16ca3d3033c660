// The row filter and projection of a table job: --where and --select, compiled against the columns of its rows.
//
//   RowTransform rows;
//   std::string wrong = rows.Compile({.where = "status >= 500"}, columns, constants);
//   ... rows.Apply(row, position, &out, &why)
//
// Thread: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/expressions/condition.h"
#include "jobs/expressions/sql_engine.h"
#include "jobs/expressions/types.h"
#include "paceline/csv.h"

namespace mr::expr {

// The options of a table job that describe its rows.
struct RowOptions {
  std::string where, select;       // empty: all rows, all columns
  std::string types;               // NAME=TYPE,...
  std::vector<std::string> nulls;  // fields that are NULL, beside the empty one; the first one is written for NULL
  std::string decimal = ".";

  // Returns whether rows are filtered, changed, or have declared types.
  bool any() const { return !where.empty() || !select.empty() || !types.empty(); }
  // Returns what is wrong with the options, as far as that shows without the columns, or "".
  std::string Check() const;
  // Requires: Check() found nothing.
  Values values() const;
};

class RowTransform {
 public:
  enum class Result { kKeep, kDrop, kBad };

  // Compiles the options. Types of --types replace those of the columns. Returns what is wrong, or "". `hint`: a text
  // about the columns, shown with a missing one, such as "; its header names: a, b".
  std::string Compile(const RowOptions& options, std::vector<Column> columns, const Constants& constants,
                      const std::string& hint = "");

  // Returns the texts of missing values and of decimal marks. Requires: Compile.
  const Values& values() const { return values_; }
  // Returns the names of the columns of the rows that come out.
  const std::vector<std::string>& names() const { return names_; }
  // Returns the input's columns that expressions read, with their types.
  std::vector<Column> UsedColumns() const;

  // Filters and changes a row. *out is the row that comes out: `in`, or one that is valid until the next call. kBad:
  // the row cannot be used, and *why says why. position: identifies the row, for random().
  // Requires: as many fields as columns. Errors: FinalError if an expression uses 'now', and the constants lack it.
  Result Apply(const CsvRow& in, uint64_t position, const CsvRow** out, std::string* why);

 private:
  struct Output {
    enum class Kind { kColumn, kSubstring, kComputed } kind = Kind::kColumn;
    uint32_t column = 0;  // of the input; kComputed: index among the computed ones
    Substring part;
  };

  void ChooseTypes(const std::vector<Token>& tokens);
  std::string CompileWhere(const std::string& where);
  std::string CompileSelect(const std::string& select);
  std::string TryPatterns(size_t set);
  std::string UseEngineColumns(const std::string& option);
  std::string Explain(const std::string& option, const std::string& wrong, const std::string& missing) const;
  std::string KeywordNote(const std::string& option, const std::string& wrong) const;
  const char* Run(size_t set);
  SqlEngine& engine();
  void Use(const std::vector<uint32_t>& columns);
  bool ReadCells(const CsvRow& in, std::string* why);
  void Write(const CsvRow& in);

  std::vector<Column> columns_;
  Values values_;
  Constants constants_;
  std::string hint_;
  std::string mentioned_;  // the expressions, in lower case
  std::vector<std::string> names_;
  std::vector<uint32_t> used_;  // columns that expressions read, ascending
  std::vector<Cell> cells_;     // by column; only used_ are set
  bool has_where_ = false, has_select_ = false;
  std::optional<Condition> condition_;  // the --where, if that is enough
  std::vector<Output> outputs_;
  std::unique_ptr<SqlEngine> engine_;
  std::vector<uint32_t> engine_columns_;  // by column of the engine: index in columns_
  std::vector<Cell> engine_cells_, results_;
  size_t where_set_ = 0, select_set_ = 0;  // of the engine
  bool computes_ = false;                  // select_set_ is valid
  std::vector<std::string> written_;       // texts of computed numbers
  CsvRow out_;
};

// Returns the text of a column's type for people: "bytes text (found: '-')".
std::string Describe(const Column& column);

}  // namespace mr::expr
