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
      Header header{std::string(view.key(i)), {}};
      if (const char* wrong = ParseCsvRecord(record, &header.fields, config_.Text("separator")[0])) {
        Refuse("the header of " + header.file + ": " + wrong);
      }
      if (!config_.Bool("header")) {
        for (size_t f = 0; f < header.fields.size(); ++f) header.fields[f] = std::to_string(f + 1);
      }
      auto& first = headers_.at(in.input);
      if (!first) {
        first = std::move(header);
      } else if (first->fields != header.fields) {
        Refuse(first->file + " and " + header.file + " are read together, but their " +
               (config_.Bool("header") ? "headers differ" : "first rows have different numbers of fields"));
      }
    }
  }

  void End(Out& out) {
    for (size_t side = 0; side < sides_.size(); ++side) {
      if (!headers_[side]) {
        Refuse("the " + (sides_[side].empty() ? "" : sides_[side] + " ") + "input is empty; its first line must name the columns");
      }
      const auto& fields = headers_[side]->fields;
      std::string found = std::to_string(fields.size()) + ";";
      for (const auto& field : fields) AppendSized(field, &found);
      for (const auto& name : DecodeTexts(config_.Text("columns" + std::to_string(side)))) {
        AppendSized(std::to_string(Find(*headers_[side], name)), &found);
      }
      out.Emit(sides_[side], found);
    }
  }

 private:
  struct Header {
    std::string file;
    std::vector<std::string> fields;
  };

  size_t Find(const Header& header, const std::string& name) {
    const auto& fields = header.fields;
    const auto at = std::find(fields.begin(), fields.end(), name);
    if (at == fields.end()) {
      std::string names;
      for (const auto& field : fields) names += (names.empty() ? "" : ", ") + field;
      Refuse(header.file + " has no column '" + name + "'" + Suggest(name, fields) +
             (config_.Bool("header") ? "; its header names: " : "; without a header they are: ") + names);
    }
    if (std::find(at + 1, fields.end(), name) != fields.end()) {
      Refuse(header.file + " has two columns '" + name + "'; give them different names, or use --no-header and numbers");
    }
    return static_cast<size_t>(at - fields.begin());
  }
  [[noreturn]] void Refuse(const std::string& what) { throw JobError(config_.Text("job") + ": " + what); }

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
