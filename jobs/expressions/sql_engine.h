// Runs SQL expressions over rows, with SQLite: its operators, functions and conversions. A row is the only row of a
// virtual table whose columns have types, so that comparisons convert as those of a table with these columns do.
// Thread: one at a time per engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/expressions/cell.h"
#include "jobs/expressions/types.h"

namespace mr::expr {

// Facts that expressions may use and that must be the same for all attempts of a task.
struct Constants {
  int64_t now_unix_ms = 0;  // of 'now'; 0: unknown
  uint64_t seed = 0;        // of random()
};

// Returns whether a word is a keyword of SQL, so that a column of this name is written in double quotes.
bool IsKeyword(std::string_view word);

struct SqlState;  // the database and its statements

class SqlEngine {
 public:
  // The columns must have names that differ, also without regard to the case of ASCII letters.
  SqlEngine(std::vector<Column> columns, const Constants& constants);
  ~SqlEngine();
  SqlEngine(const SqlEngine&) = delete;
  SqlEngine& operator=(const SqlEngine&) = delete;

  // Adds expressions that are computed together. Returns their number, for Run(). A condition is 1 or 0, as WHERE
  // decides. Errors: *wrong is set to the reason, and if it is a missing column, *missing to its name.
  size_t Add(const std::vector<std::string>& expressions, bool condition, std::string* wrong, std::string* missing);

  // Returns the indexes of the columns that the added expressions read, in ascending order.
  std::vector<uint32_t> UsedColumns() const;

  // Sets the row: one cell per column. Only those of UsedColumns() are read. position: identifies the row, for
  // random(). The cells must live until the last Run for the row.
  void SetRow(const Cell* cells, uint64_t position);

  // Computes the expressions of number `set` into results, one per expression; valid until the next Run of the set.
  // Returns null, or why the row has no value, such as a text that is no JSON; valid until the next call.
  const char* Run(size_t set, std::vector<Cell>* results);
  // Returns whether a Run needed the time of 'now', and the constants do not have it. All results are void then: SQLite
  // computes an expression without columns once, for all rows.
  bool lacks_now() const;

 private:
  std::unique_ptr<SqlState> state_;
};

}  // namespace mr::expr
