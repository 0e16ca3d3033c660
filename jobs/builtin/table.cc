#include "jobs/builtin/table.h"

#include <algorithm>
#include <optional>

namespace mr::builtin {
namespace {

// Of texts that may hold anything: each with its length before it.
void AppendSized(std::string_view text, std::string* out) {
  out->append(std::to_string(text.size())).append(":").append(text);
}
std::string_view TakeSized(std::string_view* bytes) {
  const size_t colon = bytes->find(':');
  size_t n = 0;
  for (size_t i = 0; i < colon && i < bytes->size(); ++i) n = n * 10 + static_cast<size_t>((*bytes)[i] - '0');
  if (colon == bytes->npos || n > bytes->size() - colon - 1) throw JobError("a stage's columns cannot be decoded");
  const std::string_view text = bytes->substr(colon + 1, n);
  bytes->remove_prefix(colon + 1 + n);
  return text;
}
std::string EncodeTexts(const std::vector<std::string>& list) {
  std::string out;
  for (const auto& text : list) AppendSized(text, &out);
  return out;
}
std::vector<std::string> DecodeTexts(std::string_view bytes) {
  std::vector<std::string> list;
  while (!bytes.empty()) list.emplace_back(TakeSized(&bytes));
  return list;
}

// (file, its first record) of each file; where that is no header, the first one that is not blank.
class ReadHeader : public BlockMapper<std::string, std::string> {
 public:
  void Open() { header_ = context().config().Bool("header"); }
  void Map(const Block& block, Out& out) {
    looking_ = looking_ || block.offset == 0;
    if (!looking_) return;
    bool quoted = false;
    size_t begin = 0, end = block.text.size() + 1;
    ForEachCsvEnd(block.text, &quoted, [&](size_t e) {
      const std::string_view record = block.text.substr(begin, e - 1 - begin);
      if (!header_ && (record.empty() || record == "\r")) {
        begin = e;
        return true;
      }
      end = e;
      return false;
    });
    if (begin == block.text.size()) return;
    out.Emit(context().input_file(), block.text.substr(begin, end - 1 - begin));
    looking_ = false;
  }
  void FileEnd(Out&) { looking_ = false; }

 private:
  bool header_ = true;
  bool looking_ = false;  // the file's start was here, its first record not yet
};

// One task; its inputs are the sides' headers, in order. Emits (side, columns).
class FindColumnsOp : public RawOperator<std::string, std::string> {
 public:
  void Open() {
    config_ = context().config();
    sides_ = DecodeTexts(config_.Text("sides"));
    headers_.resize(sides_.size());
  }

  void Batch(const mr_batch& in, const BatchView& view, Out&) {
    for (uint32_t i = 0; i < view.size(); ++i) {
      std::string_view record = view.value(i);
      if (record.substr(0, 3) == kByteOrderMark) record.remove_prefix(3);
      Header header{std::string(view.key(i)), {}, {}};
      if (const char* wrong = ParseCsvRecord(record, &header.fields, config_.Text("separator")[0])) {
        Refuse("the header of " + header.file + ": " + wrong);
      }
      if (header.fields.size() == 1) header.only = header.fields[0];
      if (!config_.Bool("header")) {
        for (size_t f = 0; f < header.fields.size(); ++f) header.fields[f] = std::to_string(f + 1);
      }
      auto& first = headers_.at(in.input);
      if (!first) {
        first = std::move(header);
      } else if (first->fields != header.fields) {
        Refuse(first->file + " and " + header.file + " are read together, but their " + Difference(first->fields, header.fields));
      }
    }
  }

  void End(Out& out) {
    CheckColumns();
    for (size_t side = 0; side < sides_.size(); ++side) {
      const auto& fields = headers_[side]->fields;
      std::string found = std::to_string(fields.size()) + ";";
      for (const auto& field : fields) AppendSized(field, &found);
      for (const auto& name : DecodeTexts(config_.Text("columns" + std::to_string(side)))) {
        AppendSized(std::to_string(std::find(fields.begin(), fields.end(), name) - fields.begin()), &found);
      }
      out.Emit(sides_[side], found);
    }
  }

 private:
  struct Header {
    std::string file;
    std::vector<std::string> fields;
    std::string only;  // the field, where there is one
  };

  // All that is wrong with the columns of all sides, so that one run tells it.
  void CheckColumns() {
    std::string wrong;
    for (size_t side = 0; side < sides_.size(); ++side) {
      if (!headers_[side]) {
        Refuse("the " + (sides_[side].empty() ? "" : sides_[side] + " ") + "input is empty; its first line must name the columns");
      }
      const Header& header = *headers_[side];
      std::string missing;
      for (const auto& name : DecodeTexts(config_.Text("columns" + std::to_string(side)))) {
        const auto n = std::count(header.fields.begin(), header.fields.end(), name);
        if (n > 1) {
          wrong += (wrong.empty() ? "" : "; ") + header.file + " has two columns '" + name +
                   "'; give them different names, or use --no-header and numbers";
        } else if (n == 0 && missing.find("'" + name + "'") == missing.npos) {
          missing += (missing.empty() ? " has no column '" : ", no column '") + name + "'" +
                     (AreColumns(name, header.fields) ? " (these are several; one is taken here)" : Suggest(name, header.fields));
        }
      }
      if (missing.empty()) continue;
      const std::string told = header.file + missing + Known(header, missing);
      if (wrong.find(told) == wrong.npos) wrong += (wrong.empty() ? "" : "; ") + told;  // a file may be both sides
    }
    if (!wrong.empty()) Refuse(wrong);
  }

  // Whether the name is a list of columns, as some jobs take it.
  static bool AreColumns(const std::string& name, const std::vector<std::string>& fields) {
    if (name.find(',') == name.npos) return false;
    for (size_t from = 0; from <= name.size();) {
      const size_t comma = std::min(name.find(',', from), name.size());
      if (std::find(fields.begin(), fields.end(), name.substr(from, comma - from)) == fields.end()) return false;
      from = comma + 1;
    }
    return true;
  }

  // The columns that there are, and what else may have been meant.
  std::string Known(const Header& header, const std::string& missing) const {
    constexpr size_t kMostNames = 30;  // of a line that people read
    const bool named = config_.Bool("header");
    std::string text = named ? "; its header names: " : "; without a header they are: ";
    for (size_t i = 0; i < header.fields.size() && i < kMostNames; ++i) text += (i == 0 ? "" : ", ") + header.fields[i];
    if (header.fields.size() > kMostNames) text += ", ... (" + std::to_string(header.fields.size()) + " in all)";
    if (const char other = OtherSeparator(header.only, config_.Text("separator")[0]); other != '\0') {
      return text + "; that is one column: is it --separator '" + (other == '\t' ? "\\t" : std::string(1, other)) + "'?";
    }
    if (named && AnyNumber(missing)) text += "; columns have numbers with --no-header only";
    return text;
  }

  // What a record of one field may have been separated by.
  static char OtherSeparator(const std::string& only, char separator) {
    for (const char c : {'\t', ';', '|', ','}) {
      if (c != separator && only.find(c) != std::string::npos) return c;
    }
    return '\0';
  }

  // Whether one of the names in quotes is a number.
  static bool AnyNumber(const std::string& text) {
    for (size_t at = text.find("no column '"); at != text.npos; at = text.find("no column '", at + 1)) {
      const size_t from = at + 11, to = text.find_first_not_of("0123456789", from);
      if (to != text.npos && to != from && text[to] == '\'') return true;
    }
    return false;
  }

  // "headers differ: ...": the first place.
  std::string Difference(const std::vector<std::string>& a, const std::vector<std::string>& b) const {
    const std::string counts = std::to_string(a.size()) + " and " + std::to_string(b.size());
    if (!config_.Bool("header")) return "first rows have " + counts + " fields";
    if (a.size() != b.size()) return "headers differ: they have " + counts + " columns";
    const auto at = std::mismatch(a.begin(), a.end(), b.begin());
    return "headers differ: column " + std::to_string(at.first - a.begin() + 1) + " is '" + *at.first + "' and '" + *at.second + "'";
  }

  [[noreturn]] void Refuse(const std::string& what) { throw FinalError(config_.Text("job") + ": " + what); }

  Config config_;
  std::vector<std::string> sides_;
  std::vector<std::optional<Header>> headers_;
};

}  // namespace

void TableFormat::AddTo(Args* args) { args->Add("--separator", &separator).Add("--no-header", &no_header); }

void TableFormat::Check(const Args& args) {
  if (separator == "\\t" || separator == "tab") separator = "\t";
  if (separator.size() != 1 || separator == "\"" || separator == "\n" || separator == "\r") {
    args.Refuse("--separator '" + separator + "' is not one byte; give one as ';', or \\t for a tab");
  }
}

ColumnsFound DecodeColumns(std::string_view bytes) {
  ColumnsFound found;
  const size_t semicolon = bytes.find(';');
  if (semicolon == bytes.npos) throw JobError("a stage's columns cannot be decoded");
  size_t n = 0;
  for (char c : bytes.substr(0, semicolon)) n = n * 10 + static_cast<size_t>(c - '0');
  bytes.remove_prefix(semicolon + 1);
  for (size_t i = 0; i < n; ++i) found.names.emplace_back(TakeSized(&bytes));
  while (!bytes.empty()) {
    uint32_t column = 0;
    for (char c : TakeSized(&bytes)) column = column * 10 + static_cast<uint32_t>(c - '0');
    if (column >= n) throw JobError("a stage's columns cannot be decoded");
    found.wanted.push_back(column);
  }
  return found;
}

JobPlan::Stage& FindColumns(const std::string& job, const TableFormat& format, const std::vector<TableSide>& sides,
                            JobPlan* plan) {
  std::vector<JobPlan::Stage*> headers;
  std::vector<std::string> names;
  Config config;
  config.Set("job", job).Set("separator", format.separator).Set("header", !format.no_header);
  for (size_t i = 0; i < sides.size(); ++i) {
    const TableSide& side = sides[i];
    auto& stage = plan->Map(side.name.empty() ? "header" : side.name + "_header", "table.header");
    // Room for blank lines before the first row; a header is the first line.
    const FileOptions first{.format = "csv", .sample_bytes = format.no_header ? 4096u : 1u};
    stage.Configure(Config().Set("header", !format.no_header));
    headers.push_back(&(side.uris.empty() ? stage.ReadFiles(JobPlan::Stage::kAllInputs, first) : stage.ReadUris(side.uris, first))
                           .Shuffle({.sorted = false}));
    names.push_back(side.name);
    config.Set("columns" + std::to_string(i), EncodeTexts(side.columns));
  }
  config.Set("sides", EncodeTexts(names));
  auto& columns = plan->Map("columns", "table.columns").Tasks(1).Configure(config);
  for (const auto* header : headers) columns.Read(Edge::kManyToOne, *header);
  return columns.Shuffle({.sorted = false});
}

Config RowsConfig(const std::string& job, const TableFormat& format, const TableSide& side) {
  Config config;
  return config.Set("job", job).Set("side", side.name).Set("separator", format.separator).Set("header", !format.no_header);
}

std::vector<std::string> SplitNames(const Args& args, const std::string& option, const std::string& list) {
  std::vector<std::string> names;
  for (size_t from = 0; from <= list.size();) {
    const size_t comma = std::min(list.find(',', from), list.size());
    names.push_back(list.substr(from, comma - from));
    if (names.back().empty()) args.Refuse(option + " '" + list + "' has an empty name in it");
    from = comma + 1;
  }
  return names;
}

void AddTables(Library& library) {
  library.Add<ReadHeader>("table.header", kPure).Add<FindColumnsOp>("table.columns", kPure);
}

}  // namespace mr::builtin
