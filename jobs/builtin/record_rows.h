// Tables in files of format `record`. Each record is a row, or the header, which each part of a table begins with. Its
// key is empty. Its value is ValueCodec<std::pair<bool, std::vector<std::string>>>: whether it is a header, and the
// fields, or the names of the columns. So fields need no quotes, and have any bytes. A header may stand between rows:
// files of equal headers can be concatenated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "paceline/codec.h"
#include "paceline/csv.h"
#include "paceline/error.h"

namespace mr::builtin {

// Appends the value of a record with these fields.
template <class Row>
void AppendRecordRow(bool header, const Row& row, std::string* out) {
  out->push_back(header ? 1 : 0);
  sdk::AppendVarint(row.size(), out);
  for (size_t i = 0; i < row.size(); ++i) {
    const std::string_view field = row[i];
    sdk::AppendVarint(field.size(), out);
    out->append(field);
  }
}

// Sets *row to the fields of a record's value, which must outlive it. Returns false if the record is no row and no
// header.
inline bool ParseRecordRow(std::string_view value, bool* header, CsvRow* row) {
  row->Clear();
  row->NotPlain();
  if (value.empty() || static_cast<uint8_t>(value[0]) > 1) return false;
  *header = value[0] == 1;
  value.remove_prefix(1);
  try {
    const uint64_t fields = sdk::TakeVarint(&value);
    for (uint64_t i = 0; i < fields; ++i) row->Add(sdk::Take(&value, sdk::TakeVarint(&value), "a field"));
  } catch (const JobError&) {
    return false;
  }
  return value.empty() && row->size() > 0;
}

}  // namespace mr::builtin
