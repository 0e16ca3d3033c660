#include "jobs/builtin/table.h"

#include <algorithm>
#include <optional>

#include "jobs/builtin/table_header.h"

namespace mr::builtin {
namespace {

// Appends a text of any bytes after its length.
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
// Emits (file, its first record) for each file. Without a header that is the first record that is neither blank nor
// broken.
class ReadHeader : public BlockMapper<std::string, std::string> {
 public:
  void Open() {
    header_ = context().config().Bool("header");
    dialect_ = DialectOf(context().config());
  }
  void Map(const Block& block, Out& out) {
    looking_ = looking_ || block.offset == 0;
    if (!looking_) return;
    const std::string_view text = block.offset == 0 ? WithoutByteOrderMark(block.text) : block.text;
    ForEachCsvRecord(text, dialect_, [&](const CsvRecord& record) {
      if (!looking_ || (!header_ && (record.text.empty() || record.bad))) return;
      out.Emit(context().input_file(), record.text);
      looking_ = false;
    });
  }
  void FileEnd(Out&) { looking_ = false; }

 private:
  bool header_ = true;
  CsvDialect dialect_;
  bool looking_ = false;  // the file's start has been read, its first record not yet
};

// Finds the columns, in one task. Inputs: the sides' headers, in order. Emits (side, columns).
class FindColumnsOp : public RawOperator<std::string, std::string> {
 public:
  void Open() {
    config_ = context().config();
    sides_ = DecodeTexts(config_.Text("sides"));
    headers_.resize(sides_.size());
  }

  void Batch(const mr_batch& in, const BatchView& view, Out&) {
    for (uint32_t i = 0; i < view.size(); ++i) {
      TableHeader header;
      const std::string wrong =
          ReadTableHeader(std::string(view.key(i)), view.value(i), DialectOf(config_), config_.Bool("header"), &header);
      if (!wrong.empty()) Refuse(wrong);
      auto& first = headers_.at(in.input);
      if (!first) {
        first = std::move(header);
      } else if (first->fields != header.fields) {
        Refuse(first->file + " and " + header.file + " are read together, but their " +
               Difference(first->fields, header.fields));
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
  // Reports all errors in the columns of all sides, so that one run shows them.
  void CheckColumns() {
    std::vector<SideColumns> sides;
    for (size_t side = 0; side < sides_.size(); ++side) {
      if (!headers_[side]) {
        Refuse("the " + (sides_[side].empty() ? "" : sides_[side] + " ") +
               "input is empty; its first line must name the columns");
      }
      sides.push_back({*headers_[side], DecodeTexts(config_.Text("columns" + std::to_string(side)))});
    }
    const std::string wrong = WrongColumns(sides, config_.Bool("header"), DialectOf(config_).separator);
    if (!wrong.empty()) Refuse(wrong);
  }

  // Returns "headers differ: ..." with the first difference.
  std::string Difference(const std::vector<std::string>& a, const std::vector<std::string>& b) const {
    const std::string counts = std::to_string(a.size()) + " and " + std::to_string(b.size());
    if (!config_.Bool("header")) return "first rows have " + counts + " fields";
    if (a.size() != b.size()) return "headers differ: they have " + counts + " columns";
    const auto at = std::mismatch(a.begin(), a.end(), b.begin());
    return "headers differ: column " + std::to_string(at.first - a.begin() + 1) + " is '" + *at.first + "' and '" +
           *at.second + "'";
  }

  [[noreturn]] void Refuse(const std::string& what) { throw FinalError(config_.Text("job") + ": " + what); }

  Config config_;
  std::vector<std::string> sides_;
  std::vector<std::optional<TableHeader>> headers_;
};

}  // namespace

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

std::string CsvLine(const std::vector<std::string>& fields, const CsvDialect& dialect) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != fields.data()) line += dialect.separator;
    AppendCsvField(field, &line, dialect);
  }
  return line;
}

void TableFormat::AddTo(Args* args) {
  args->Add("--separator", &separator).Add("--quote", &quote).Add("--no-header", &no_header);
  args->Add("--no-output-header", &no_output_header);
}

void TableFormat::Check(const Args& args) {
  if (separator == "\\t" || separator == "tab") separator = "\t";
  if (separator.size() != 1 || !CsvDialect::WithoutQuotes(separator[0]).Valid() || separator == "\"") {
    args.Refuse("--separator '" + separator + "' is not one byte; give one as ';', or \\t for a tab");
  }
  if (quote != "none" && (quote.size() != 1 || !CsvDialect(separator[0], quote[0]).Valid())) {
    args.Refuse("--quote '" + quote +
                "' is not one byte other than the separator; give one as \\', or none if quotes are data");
  }
}

CsvDialect TableFormat::dialect() const {
  return quote == "none" ? CsvDialect::WithoutQuotes(separator[0]) : CsvDialect(separator[0], quote[0]);
}

CsvDialect DialectOf(const Config& config) {
  const auto dialect = ParseCsvFormat(config.Text("csv"));
  if (!dialect) throw JobError("the stage's config has no csv format");
  return *dialect;
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
  for (const TableSide& side : sides) {
    plan->Needs({side.name, side.uris, CsvFormatName(format.dialect()), !format.no_header, side.columns});
  }
  format.AddTo(config.Set("job", job).Set("header", !format.no_header));
  for (size_t i = 0; i < sides.size(); ++i) {
    const TableSide& side = sides[i];
    auto& stage = plan->Map(side.name.empty() ? "header" : side.name + "_header", "table.header");
    // Large enough for blank lines before the first row. A header is the first line.
    FileOptions first = format.Files();
    first.sample_bytes = format.no_header ? 4096u : 1u;
    Config of_stage;
    stage.Configure(format.AddTo(of_stage.Set("header", !format.no_header)));
    headers.push_back(
        &(side.uris.empty() ? stage.ReadFiles(JobPlan::Stage::kAllInputs, first) : stage.ReadUris(side.uris, first))
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
  return format.AddTo(config.Set("job", job).Set("side", side.name).Set("header", !format.no_header));
}

std::string JoinLists(const std::vector<std::string>& lists) {
  std::string all;
  for (const std::string& list : lists) all += (&list == lists.data() ? "" : ",") + list;
  return all;
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
