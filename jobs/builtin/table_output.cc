#include "jobs/builtin/table_output.h"

#include <algorithm>

#include "common/base/utf8.h"
#include "jobs/builtin/table.h"
#include "paceline/json_text.h"

namespace mr::builtin {
namespace {

// Returns whether the text is a number of JSON (RFC 8259) that readers of JSON can hold in a double. Ours and others
// refuse a line with a larger one.
bool IsJsonNumber(std::string_view text) {
  size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  const auto digits = [&] {
    const size_t from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - from;
  };
  const bool zero = at < text.size() && text[at] == '0';
  const size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  if (at != text.size()) return false;
  constexpr size_t kFiniteDigits = 300;  // of a number without an exponent, which is below 1e308 then
  double value = 0;
  return (text.size() < kFiniteDigits && text.find_first_of("eE") == text.npos) || expr::ParseReal(text, '.', &value);
}

}  // namespace

std::string CsvLine(const std::vector<std::string>& fields, const CsvDialect& dialect) {
  std::string line;
  AppendRow(fields, dialect, &line);
  return line;
}

void AppendJsonRow(const CsvRow& row, const std::vector<std::string>& names, const std::vector<bool>& texts,
                   const expr::Values& values, std::string* line) {
  line->push_back('{');
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line->push_back(',');
    line->append(sdk::JsonString(names[i])).push_back(':');
    if (values.IsNull(row[i])) {
      line->append("null");
    } else if (!texts[i] && IsJsonNumber(row[i])) {
      line->append(row[i]);
    } else {
      if (InvalidUtf8(row[i]) != std::string_view::npos)
        throw BadRecord("column '" + names[i] + "' has bytes that are no UTF-8, which JSON cannot have");
      line->append(sdk::JsonString(row[i]));
    }
  }
  line->push_back('}');
}

TableOutput::TableOutput(const Config& config)
    : dialect_(DialectOf(config)), written_(dialect_), header_(config.Bool("output_header")) {
  if (!config.Has("output_format")) return;
  const std::string& format = config.Text("output_format");
  json_ = format == "jsonl";
  records_ = format == "record";
  if (!json_ && !records_) written_ = ParseCsvFormat(format).value_or(dialect_);
  same_ = !json_ && !records_ && written_ == dialect_;
  if (same_) return;
  values_.SetNulls(DecodeTexts(config.Text("output_nulls")));
  text_columns_ = DecodeTexts(config.Text("output_texts"));
}

void TableOutput::SetNames(const std::vector<std::string>& names) {
  names_ = names;
  texts_.assign(names.size(), false);
  for (size_t i = 0; i < names.size(); ++i) {
    texts_[i] = std::find(text_columns_.begin(), text_columns_.end(), names[i]) != text_columns_.end();
  }
}

void TableOutput::Skip(std::string_view record, const std::string& why, Context& context) {
  constexpr size_t kPlaceBytes = 100;  // of the record, in a message
  const std::string place = "the row of the output that begins with " + std::string(record.substr(0, kPlaceBytes));
  context.FailedIn(place);
  context.SkipRecord(place + ": " + why);
}

bool TableOutput::Convert(std::string_view record, Context& context) {
  line_.clear();
  try {
    if (const char* wrong = row_.Parse(record, dialect_)) throw BadRecord(wrong);
    Append(row_);
    return true;
  } catch (const BadRecord& bad) {
    Skip(record, bad.what(), context);
    return false;
  }
}

std::string TableOutput::RecordHeader(const std::vector<std::string>& names) {
  std::string record;
  AppendRecordRow(true, names, &record);
  return record;
}

void TableOutput::Append(const CsvRow& row) {
  if (records_) return AppendRecordRow(false, row, &line_);
  if (!json_) return AppendRow(row, written_, &line_);
  if (row.size() != names_.size()) throw JobError("a row of the output has another number of fields than its header");
  AppendJsonRow(row, names_, texts_, values_, &line_);
}

}  // namespace mr::builtin
