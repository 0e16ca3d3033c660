// The columns of joined rows, to which --where and --select of a join apply: at submit (mrctl), and in the job.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "jobs/expressions/types.h"

namespace mr::builtin {

// The tables whose columns a joined row has, in this order.
struct JoinedTables {
  size_t tables = 0;                // the first ones of the job; 0: rows are not joined
  std::vector<std::string> hidden;  // by table: a column that the joined row has from another one, or ""
};

// Returns the columns of a joined row: those of each table in place, except hidden ones. A column whose name is taken
// gets the prefix "right_", so that another job can choose it. named: the tables have headers; else the columns are
// numbered, as a job that reads the output numbers them.
inline std::vector<expr::Column> JoinedColumns(const JoinedTables& joined,
                                               const std::vector<std::vector<expr::Column>>& tables, bool named) {
  std::vector<expr::Column> columns;
  for (size_t table = 0; table < std::min(joined.tables, tables.size()); ++table) {
    for (expr::Column column : tables[table]) {
      if (table < joined.hidden.size() && !joined.hidden[table].empty() && column.name == joined.hidden[table])
        continue;
      if (!named) {
        column.name = std::to_string(columns.size() + 1);
        columns.push_back(std::move(column));
        continue;
      }
      const auto taken = [&](const expr::Column& other) { return other.name == column.name; };
      while (table > 0 && std::any_of(columns.begin(), columns.end(), taken)) column.name.insert(0, "right_");
      columns.push_back(std::move(column));
    }
  }
  return columns;
}

}  // namespace mr::builtin
