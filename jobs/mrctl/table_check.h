// Checks the columns and expressions of a table job against the first bytes of its tables, before the job starts. The
// job's first stages make the same checks with the headers of all files (builtin/table_columns.cc). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "jobs/builtin/table_header.h"
#include "jobs/mrctl/plan.h"

namespace mr::ctl {

// The start of a table's first file.
struct TableHead {
  std::string file;
  std::string text;  // whole records, without a byte order mark
  size_t first = 0;  // offset of the first record in text: of the header, if it has one
  PlanTable table;
};

// Returns the head of a table, or nothing if `bytes` has no whole record. whole: the bytes are the whole file.
std::optional<TableHead> ReadTableHead(const std::string& file, std::string_view bytes, bool whole,
                                       const PlanTable& table);

// Checks the tables together. Adds lines for people to *notes: the types that were found for the columns of
// expressions. Errors: kInvalidArgument with all wrong columns, or with a wrong expression.
Status CheckTableHeads(const Plan& plan, const std::vector<TableHead>& heads, std::vector<std::string>* notes);

}  // namespace mr::ctl
