// The output of both kinds of join: the header, and lines to which --where and --select apply.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/builtin/join_rows.h"
#include "jobs/builtin/table.h"

namespace mr::builtin {

// Returns the tables of a joined row: the left columns, and except for semi and anti the right ones without `right_on`.
inline JoinedTables JoinedTablesOf(JoinKind kind, const std::string& right_on) {
  if (kind == JoinKind::kSemi || kind == JoinKind::kAnti) return {1, {""}};
  return {2, {"", right_on}};
}

// Adds what JoinOutput reads from a config.
inline Config& AddJoinOutput(const TableFormat& format, Config& config) {
  Config rows;
  AddRowOptions(format.rows, &rows);
  return format.AddTo(config.Set("joined_rows", rows.Encode()).Set("header", !format.no_header));
}

class JoinOutput {
 public:
  JoinOutput() = default;
  explicit JoinOutput(const Config& config)
      : dialect_(DialectOf(config)),
        output_(config),
        options_(RowOptionsOf(Config::Decode(config.Text("joined_rows")))) {
    values_ = options_.values();
    named_ = config.Bool("header");
  }

  // Returns whether a key is a missing value. It is equal to no key, as in SQL, also not to another missing value.
  bool IsNull(std::string_view key) const { return values_.IsNull(key); }

  // Sets the sides' columns. Required before all below.
  void SetSides(JoinKind kind, const ColumnsFound& left, const ColumnsFound& right, const Context& context) {
    on_ = left.wanted.at(0);
    const JoinedTables joined = JoinedTablesOf(kind, right.columns.at(right.wanted.at(0)).name);
    const auto columns = JoinedColumns(joined, {left.columns, right.columns}, named_);
    names_.clear();
    for (const expr::Column& column : columns) names_.push_back(column.name);
    if (!options_.any()) return;
    const std::string wrong = rows_.emplace().Compile(options_, columns, ConstantsOf(context));
    if (!wrong.empty()) throw FinalError("join: " + wrong);
    names_ = rows_->names();
  }

  template <class Out>
  void Header(Out& out) {
    output_.Header(names_, out);
  }

  // Writes the line of a row: the left fields with the column of the join in its place, then the right fields. left,
  // right: the other fields, as OtherFields gives them.
  template <class Out>
  void Write(std::string_view key, std::string_view left, std::string_view right, Context& context, Out& out) {
    if (NeedsQuotes(key, dialect_)) {
      quoted_.clear();
      AppendCsvField(key, &quoted_, dialect_);
      key = quoted_;
    }
    const std::string_view before = Before(left);
    line_.Clear();
    char* to = line_.Extend(key.size() + left.size() + right.size());
    if (!before.empty()) {  // its separator stands first, and goes behind it
      CopyShort(to, before.data() + 1, before.size() - 1);
      to += before.size() - 1;
      *to++ = dialect_.separator;
      left.remove_prefix(before.size());
    }
    CopyShort(to, key.data(), key.size());
    CopyShort(to + key.size(), left.data(), left.size());
    CopyShort(to + key.size() + left.size(), right.data(), right.size());
    if (rows_) return Transform(context, out);
    if (line_.view().empty() && dialect_.quotes) return output_.Line(std::string(2, dialect_.quote), context, out);
    output_.Line(line_.view(), context, out);
  }

  // Returns the fields of a missing row, each behind a separator: NULL for all.
  std::string Missing(size_t fields) const {
    std::string missing;
    for (size_t i = 0; i < fields; ++i) {
      missing += dialect_.separator;
      AppendCsvField(values_.nulls[0], &missing, dialect_);
    }
    return missing;
  }

 private:
  // Returns the left fields before the column of the join, each behind its separator.
  std::string_view Before(std::string_view left) const {
    size_t end = 0;
    for (uint32_t fields = 0; fields < on_; ++fields) {
      ++end;  // the separator
      if (dialect_.quotes && end < left.size() && left[end] == dialect_.quote) {
        do {
          end = left.find(dialect_.quote, end + 1) + 1;
        } while (end < left.size() && left[end] == dialect_.quote);
      } else {
        end = std::min(left.find(dialect_.separator, end), left.size());
      }
    }
    return left.substr(0, end);
  }

  template <class Out>
  void Transform(Context& context, Out& out) {
    const CsvRow* changed = nullptr;
    std::string why;
    const char* wrong = row_.Parse(line_.view(), dialect_);
    if (wrong == nullptr) {
      switch (rows_->Apply(row_, HashBytes(line_.view()), &changed, &why)) {
        case expr::RowTransform::Result::kDrop: return;
        case expr::RowTransform::Result::kKeep:
          return output_.Made([&](std::string* text) { AppendRow(*changed, dialect_, text); }, context, out);
        case expr::RowTransform::Result::kBad: break;
      }
    }
    const std::string place = "the joined row " + std::string(line_.view().substr(0, kPlaceBytes));
    context.FailedIn(place);
    context.SkipRecord("join: " + place + ": " + (wrong != nullptr ? wrong : why));
  }

  static constexpr size_t kPlaceBytes = 100;  // of a row in a message

  CsvDialect dialect_;
  expr::Values values_;
  bool named_ = true;
  TableOutput output_;
  expr::RowOptions options_;
  std::optional<expr::RowTransform> rows_;
  std::vector<std::string> names_;
  uint32_t on_ = 0;  // index of the join's column on the left side
  std::string quoted_;
  GrowingBytes line_;
  CsvRow row_;
};

}  // namespace mr::builtin
