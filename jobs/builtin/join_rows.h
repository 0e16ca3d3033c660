// Parts that both kinds of join share: join types, the other fields of a row, and the join of one part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/builtin/row_files.h"
#include "jobs/builtin/row_table.h"
#include "jobs/builtin/table.h"
#include "paceline/csv.h"

namespace mr::builtin {

enum class JoinKind { kInner, kLeft, kRight, kFull, kSemi, kAnti };

inline constexpr const char* kJoinSides[] = {"left", "right"};

// The encoded fields ",field,field..." of a row, without the column of the join.
class OtherFields {
 public:
  // Returns the fields. Valid until the next call, and as long as the row's record.
  std::string_view Of(const CsvRow& row, uint32_t on, const CsvDialect& dialect) {
    if (on == 0 && row.plain()) {
      const std::string_view last = row[row.size() - 1];
      return {row[0].data() + row[0].size(),
              static_cast<size_t>(last.data() + last.size() - row[0].data()) - row[0].size()};
    }
    rest_.Clear();
    for (uint32_t i = 0; i < row.size(); ++i) {
      if (i == on) continue;
      std::string_view field = row[i];
      if (NeedsQuotes(field, dialect)) {
        quoted_.clear();
        AppendCsvField(field, &quoted_, dialect);
        field = quoted_;
      }
      char* to = rest_.Extend(1 + field.size());
      *to = dialect.separator;
      CopyShort(to + 1, field.data(), field.size());
    }
    return rest_.view();
  }

 private:
  std::string quoted_;
  GrowingBytes rest_;
};

// Joins one part of both sides by `table`. If the rows of `held` exceed `most_bytes` (for example for one hot key),
// they are joined in several turns, and each turn reads all rows of `other`. For each of these it calls row(key, rest,
// before, last), which returns whether the row has a partner in this turn or had one before. It calls turn() at the end
// of each turn.
template <class Row, class Turn>
void JoinPart(RowFiles* held, RowFiles* other, size_t part, size_t most_bytes, RowTable* table, Row&& row,
              Turn&& turn) {
  std::string_view key, rest;
  std::vector<bool> matched;  // rows of `other` with a partner in earlier turns
  RowFiles::Reader rows(held, part);
  for (bool last = false; !last;) {
    table->Clear(std::min(held->rows(part), most_bytes / 64));
    do {
      last = !rows.Next(&key, &rest);
      if (last) break;
      if (held->written()) {
        table->AddCopy(HashBytes(key), key, rest);
      } else {
        table->Add(HashBytes(key), key.data(), key.size(), rest.size());
      }
    } while (table->bytes() <= most_bytes);
    RowFiles::Reader others(other, part);
    for (size_t number = 0; others.Next(&key, &rest); ++number) {
      if (!last && number == matched.size()) matched.push_back(false);
      const bool before = number < matched.size() && matched[number];
      const bool found = row(key, rest, before, last);
      if (!last) matched[number] = found;
    }
    turn();
  }
}

}  // namespace mr::builtin
