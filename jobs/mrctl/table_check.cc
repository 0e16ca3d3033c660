#include "jobs/mrctl/table_check.h"

#include <optional>

#include "common/abi/csv_scan.h"
#include "jobs/builtin/joined_columns.h"
#include "jobs/expressions/json_fields.h"
#include "jobs/expressions/row_transform.h"
#include "paceline/text.h"

namespace mr::ctl {
namespace {

expr::RowOptions OptionsOf(const PlanExpressions& e) { return {e.where, e.select, e.types, e.nulls, e.decimal}; }

// Returns the types of the columns in the rows of a head.
std::vector<expr::TypeFinder> TypesIn(const TableHead& head, const CsvDialect& dialect, const expr::Values& values) {
  std::vector<expr::TypeFinder> types;
  CsvRow row;
  bool header = head.table.header;
  ForEachCsvRow(std::string_view(head.text).substr(head.first), dialect, &row,
                [&](const CsvRecord& record, const char* wrong) {
                  if (std::exchange(header, false) || record.text.empty() || wrong != nullptr) return;
                  if (types.size() < row.size()) types.resize(row.size());
                  for (size_t i = 0; i < row.size(); ++i) types[i].Take(row[i], values);
                });
  return types;
}

// Returns the columns of lines of JSON, with their types. declared: a --types that may name further keys.
std::vector<expr::Column> JsonColumns(const TableHead& head, const std::string& declared, const expr::Values& values) {
  std::vector<std::string> paths;
  ForEachLine(head.text, [&](std::string_view line) { expr::AddJsonPaths(line, &paths); });
  expr::AddDeclaredPaths(declared, &paths);
  std::vector<expr::TypeFinder> types(paths.size());
  expr::JsonFields fields(paths);
  CsvRow row;
  ForEachLine(head.text, [&](std::string_view line) {
    if (!fields.Parse(line, &row)) return;
    for (size_t i = 0; i < row.size(); ++i) types[i].Take(row[i], values);
  });
  return builtin::TypedColumns(paths, types);
}

std::string TypesNote(const std::vector<expr::Column>& columns) {
  std::string list;
  for (const expr::Column& column : columns) list += (list.empty() ? "" : ", ") + expr::Describe(column);
  return "columns of the expressions: " + list;
}

}  // namespace

std::optional<TableHead> ReadTableHead(const std::string& file, std::string_view bytes, bool whole,
                                       const PlanTable& table) {
  const auto dialect = ParseCsvFormat(table.format);
  const std::string_view text = WithoutByteOrderMark(bytes);
  if (table.format == "jsonl") {
    const size_t lines = whole ? text.size() : text.rfind('\n') + 1;
    return lines == 0 ? std::nullopt : std::optional(TableHead{file, std::string(text.substr(0, lines)), 0, table});
  }
  if (!dialect) return std::nullopt;
  std::optional<size_t> first;
  size_t end = 0;
  ForEachCsvRecord(text, *dialect, [&](const CsvRecord& record) {
    const auto begin = static_cast<size_t>(record.with_end.data() - text.data());
    if (!whole && begin + record.with_end.size() == text.size()) return;  // it may be cut
    end = begin + record.with_end.size();
    if (!first && (table.header || (!record.text.empty() && !record.bad))) first = begin;
  });
  if (!first) return std::nullopt;
  return TableHead{file, std::string(text.substr(0, end)), *first, table};
}

Status CheckTableHeads(const Plan& plan, const std::vector<TableHead>& heads, std::vector<std::string>* notes) {
  if (heads.empty()) return Status::Ok();
  const PlanTable& any = plan.tables.front();  // all tables of a job have one format
  const CsvDialect dialect = ParseCsvFormat(any.format).value_or(CsvDialect());
  const expr::RowOptions options = plan.expressions ? OptionsOf(*plan.expressions) : expr::RowOptions();
  if (const std::string wrong = options.Check(); !wrong.empty()) return InvalidArgument(wrong);
  std::vector<builtin::SideColumns> sides;
  std::vector<std::vector<expr::Column>> columns;
  for (const TableHead& head : heads) {
    if (head.table.format == "jsonl") {
      auto found =
          JsonColumns(head, plan.expressions && plan.expressions->joined == 0 ? options.types : "", options.values());
      builtin::SideColumns side{{head.file, {}, "", false}, head.table.columns};
      for (const expr::Column& column : found) side.header.fields.push_back(column.name);
      columns.push_back(std::move(found));
      sides.push_back(std::move(side));
      continue;
    }
    std::string_view record;
    ForEachCsvRecord(std::string_view(head.text).substr(head.first), dialect, [&](const CsvRecord& r) {
      if (record.data() == nullptr) record = r.text;
    });
    builtin::SideColumns side{{}, head.table.columns};
    const std::string wrong = builtin::ReadTableHeader(head.file, record, dialect, head.table.header, &side.header);
    if (!wrong.empty()) return InvalidArgument(wrong);
    columns.push_back(builtin::TypedColumns(side.header.fields, options.any() ? TypesIn(head, dialect, options.values())
                                                                              : std::vector<expr::TypeFinder>()));
    sides.push_back(std::move(side));
  }
  if (options.any() && heads.size() == plan.tables.size()) {
    const builtin::JoinedTables joined{plan.expressions->joined, plan.expressions->hidden};
    if (joined.tables != 0) {
      // First: it may find that the separator of a table is wrong.
      const std::string wrong = builtin::WrongColumns(sides, any.header, dialect.separator);
      if (!wrong.empty()) return InvalidArgument(wrong);
      columns = {builtin::JoinedColumns(joined, columns, any.header)};
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      expr::RowTransform rows;
      const std::string hint =
          builtin::KnownColumns(columns[i], any.header, joined.tables == 0 ? sides[i].header.only : "",
                                dialect.separator) +
          (any.format == "jsonl" && joined.tables == 0 ? builtin::kRareKeyNote : "");
      const std::string wrong = rows.Compile(options, columns[i], {}, hint);
      if (!wrong.empty()) return InvalidArgument(wrong);
      if (const auto used = rows.UsedColumns(); !used.empty()) notes->push_back(TypesNote(used));
      if (joined.tables == 0 && !options.select.empty()) sides[i].header.Select(rows.names());
    }
  }
  const std::string wrong = builtin::WrongColumns(sides, any.header, dialect.separator);
  return wrong.empty() ? Status::Ok() : InvalidArgument(wrong);
}

}  // namespace mr::ctl
