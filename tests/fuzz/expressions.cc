// The --where, --select and --types of a table job over rows. Fields of the input, each up to a newline: where, select,
// types, names of the columns, then rows of CSV. Two transforms of the same options must agree about every row.
#include <sqlite3.h>

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "jobs/expressions/row_transform.h"
#include "paceline/error.h"
#include "tests/fuzz/target.h"

namespace mr::fuzz {
namespace {

// Bytes that SQLite may have at a time. An expression may ask for texts of tens of megabytes, many times.
constexpr sqlite3_int64 kMostBytes = 4 << 20;
constexpr size_t kMostExpressionBytes = 400, kMostRows = 4;

std::string_view TakeLine(std::string_view* text) {
  const std::string_view line = text->substr(0, text->find('\n'));
  text->remove_prefix(std::min(line.size() + 1, text->size()));
  return line;
}

// Returns the row that comes out, or why there is none.
std::string Applied(expr::RowTransform* rows, const CsvRow& in, uint64_t position) {
  const CsvRow* out = nullptr;
  std::string why;
  switch (rows->Apply(in, position, &out, &why)) {
    case expr::RowTransform::Result::kBad: MR_CHECK(!why.empty()); return "bad: " + why;
    case expr::RowTransform::Result::kDrop: return "dropped";
    case expr::RowTransform::Result::kKeep: break;
  }
  MR_CHECK(out->size() == rows->names().size());
  std::string text;
  for (size_t i = 0; i < out->size(); ++i) text.append((*out)[i]).push_back('\n');
  return text;
}

void Compare(const expr::RowOptions& options, const std::vector<expr::Column>& columns, std::string_view text) {
  const expr::Constants constants{1'700'000'000'000, 7};
  expr::RowTransform first, second;
  const std::string wrong = first.Compile(options, columns, constants);
  MR_CHECK(wrong == second.Compile(options, columns, constants));
  if (!wrong.empty()) return;
  CsvRow row;
  for (uint64_t position = 0; position < kMostRows && !text.empty(); ++position) {
    if (row.Parse(TakeLine(&text)) != nullptr || row.size() != columns.size()) continue;
    const std::string applied = Applied(&first, row, position);
    MR_CHECK(applied == Applied(&second, row, position));
  }
}

void Run(std::string_view bytes) {
  sqlite3_hard_heap_limit64(kMostBytes);
  expr::RowOptions options;
  for (std::string* option : {&options.where, &options.select, &options.types}) {
    *option = TakeLine(&bytes);
    if (option->size() > kMostExpressionBytes) return;
  }
  CsvRow names;
  if (names.Parse(TakeLine(&bytes)) != nullptr) return;
  std::vector<expr::Column> columns;
  for (size_t i = 0; i < names.size(); ++i) {
    expr::Column column;
    column.name = std::string(names[i]);
    column.known = i % 3 != 2;
    columns.push_back(std::move(column));
  }
  try {
    Compare(options, columns, bytes);
  } catch (const std::bad_alloc&) {  // beyond kMostBytes
  }
}

std::vector<std::string> Seeds() {
  return {"a > 1 AND (b LIKE 'x%' OR c IS NULL)\n*, d = a + 1\na=int\na,b,c\n2,xy,\n,,z\n",
          "substr(b, 2) IN ('y', 'z') AND a NOT BETWEEN -1 AND 1.5\n\na=real\na,b\n2.5,xy\n-1,\n",
          "to_time(t) >= to_time('2000-10-10')\nh = time_text(to_time(t), '%Y-%m-%d %H:00')\n\nt\n10/Oct/2000:13:55:36 "
          "-0700\n",
          "b REGEXP '^(x|y)+$'\nr = regexp_replace(b, 'x', '\\1'), e = regexp_extract(b, '(x)(y)', 2)\n\nb\nxy\n",
          "\nj = json_extract(b, '$.a[0]'), p = split_part(b, ':', -1), n = random() % 2\n\nb\n\"{\"\"a\"\":[1]}\"\n",
          "\nu = CASE WHEN a THEN upper(b) ELSE CAST(a AS TEXT) || printf('%5d', a) END\na=int\na,b\n1,x\n0,y\n",
          "date('now') > d AND \"from\" = 'x'\n\n\nd,from\n2000-01-01,x\n",
          "from LIKE 'x'\n\n\nfrom\nx\n"};
}

}  // namespace

const Target kExpressions{"expressions", Run, Seeds};

}  // namespace mr::fuzz
