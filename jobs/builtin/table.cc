#include "jobs/builtin/table.h"

#include <algorithm>

#include "common/base/file_format.h"
#include "jobs/expressions/tokens.h"

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

// Returns the format without .gz or .zst.
std::string WithoutCompression(const std::string& format) {
  return format.substr(0, format.size() - Suffix(CompressionOfName(format)).size());
}

// Returns the conditions as one: all must be true.
std::string AllOf(const std::vector<std::string>& conditions) {
  if (conditions.size() == 1) return conditions[0];
  std::string all;
  for (const std::string& condition : conditions) all += (all.empty() ? "(" : " AND (") + condition + ")";
  return all;
}

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

void TableFormat::AddTo(Args* args) {
  args->Add("--separator", &separator).Add("--quote", &quote).Add("--no-header", &no_header);
  args->Add("--no-output-header", &no_output_header);
  args->Add("--format", &format).Add("--output-format", &output_format);
  args->Add("--where", &where_).Add("--select", &select_).Add("--types", &rows.types).Add("--null", &rows.nulls);
  args->Add("--decimal", &rows.decimal);
}

void TableFormat::Check(const Args& args) {
  const std::vector<std::string> known = {"csv", "tsv", "jsonl", "record"};
  std::string written = WithoutCompression(output_format);
  if (written.empty()) written = output_format;  // a suffix alone is no format
  if (written == "text") {                       // csv is text with a header
    output_format.replace(0, written.size(), "csv");
    written = "csv";
  }
  for (const std::string& name : {format, written}) {
    if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) continue;
    args.Refuse("a table cannot have the format '" + name + "'" + Suggest(name, known) +
                "; there are csv, tsv, jsonl and record");
  }
  if (format != "csv" && !(separator.empty() && quote.empty())) {
    args.Refuse("--separator and --quote are of csv, not of --format " + format);
  }
  if (json() && no_header) args.Refuse("--no-header is of csv and tsv; lines of jsonl name their columns");
  if (records() && no_header) args.Refuse("--no-header is of csv and tsv; tables in records name their columns");
  if (no_output_header && (written.empty() ? format : written) == "record")
    args.Refuse("--no-output-header is of csv and tsv; tables in records name their columns");
  if (separator.empty()) separator = format == "tsv" ? "\t" : ",";
  if (quote.empty()) quote = format == "tsv" ? "none" : "\"";
  if (separator == "\\t" || separator == "tab") separator = "\t";
  if (separator.size() != 1 || !CsvDialect::WithoutQuotes(separator[0]).Valid() || separator == "\"") {
    args.Refuse("--separator '" + separator + "' is not one byte; give one as ';', or \\t for a tab");
  }
  if (quote != "none" && (quote.size() != 1 || !CsvDialect(separator[0], quote[0]).Valid())) {
    args.Refuse("--quote '" + quote +
                "' is not one byte other than the separator; give one as \\', or none if quotes are data");
  }
  // Each of several expressions must be one by itself.
  for (const std::string& where : where_) {
    const expr::RowOptions one{.where = where.empty() ? " " : where};
    if (const std::string wrong = one.Check(); !wrong.empty()) args.Refuse(wrong);
  }
  if (!where_.empty()) rows.where = AllOf(where_);
  rows.select = JoinLists(select_);
  if (const std::string wrong = rows.Check(); !wrong.empty()) args.Refuse(wrong);
}

CsvDialect TableFormat::dialect() const {
  return quote == "none" ? CsvDialect::WithoutQuotes(separator[0]) : CsvDialect(separator[0], quote[0]);
}

std::string TableFormat::written() const {
  const std::string name = WithoutCompression(output_format);
  if (name.empty()) return InputFormat();
  if (name == "tsv") return CsvFormatName(CsvDialect::WithoutQuotes('\t'));
  // csv keeps the separator and the quote of the inputs.
  return name == "csv" ? CsvFormatName(format == "csv" ? dialect() : CsvDialect()) : name;
}

std::string TableFormat::OutputFormat() const {
  const std::string suffix = output_format.substr(WithoutCompression(output_format).size());
  return (writes_header() || written() == "record" ? written() : "text") + suffix;
}

Config& TableFormat::AddTo(Config& config) const {
  std::vector<std::string> texts;
  std::string ignored;
  if (!rows.types.empty()) {
    for (const expr::TypeOf& of : expr::ParseTypes(rows.types, &ignored)) {
      if (of.type == expr::Type::kText) texts.push_back(of.name);
    }
  }
  // Columns that --select renames stay texts.
  for (const expr::SelectItem& item :
       rows.select.empty() ? std::vector<expr::SelectItem>() : expr::SplitSelect(rows.select, &ignored)) {
    if (std::find(texts.begin(), texts.end(), item.column) != texts.end()) texts.push_back(item.name);
  }
  config.Set("csv", CsvFormatName(dialect())).Set("json", json()).Set("records", records());
  config.Set("output_header", writes_header()).Set("output_format", written());
  return config.Set("output_nulls", EncodeTexts(rows.nulls)).Set("output_texts", EncodeTexts(texts));
}

CsvDialect DialectOf(const Config& config) {
  const auto dialect = ParseCsvFormat(config.Text("csv"));
  if (!dialect) throw JobError("the stage's config has no csv format");
  return *dialect;
}

void AddRowOptions(const expr::RowOptions& rows, Config* config) {
  config->Set("where", rows.where).Set("select", rows.select).Set("types", rows.types).Set("decimal", rows.decimal);
  config->Set("nulls", EncodeTexts(rows.nulls));
}

expr::RowOptions RowOptionsOf(const Config& config) {
  if (!config.Has("where")) {
    return config.Has("output_nulls") ? expr::RowOptions{.nulls = DecodeTexts(config.Text("output_nulls"))}
                                      : expr::RowOptions{};
  }
  return {config.Text("where"), config.Text("select"), config.Text("types"), DecodeTexts(config.Text("nulls")),
          config.Text("decimal")};
}

expr::Constants ConstantsOf(const Context& context) {
  return {context.submitted_unix_ms(), HashBytes(context.job_id())};
}

JobPlan::Stage& FindColumns(const std::string& job, const TableFormat& format, const std::vector<TableSide>& sides,
                            JobPlan* plan, const JoinedTables& joined) {
  std::vector<JobPlan::Stage*> headers;
  std::vector<std::string> names;
  Config config;
  const bool expressions = format.rows.any();
  if (expressions) {
    AddRowOptions(format.rows, &config);
    config.Set("joined", joined.tables).Set("hidden", EncodeTexts(joined.hidden));
    plan->Computes({format.rows.where, format.rows.select, format.rows.types, format.rows.nulls, format.rows.decimal,
                    joined.tables, joined.hidden});
  }
  for (const TableSide& side : sides) {
    plan->Needs({side.name, side.uris, format.InputFormat(), !format.no_header, side.columns});
  }
  format.AddTo(config.Set("job", job).Set("header", !format.no_header));
  for (size_t i = 0; i < sides.size(); ++i) {
    const TableSide& side = sides[i];
    auto& stage =
        plan->Map(side.name.empty() ? "header" : side.name + "_header", format.json() ? "table.keys" : "table.head");
    // Large enough for blank lines before the first row. A header is the first line.
    FileOptions first = format.Files();
    first.sample_bytes = expressions || format.json() ? kTypeSampleBytes : format.no_header ? 4096u : 1u;
    Config of_stage;
    if (expressions) AddRowOptions(format.rows, &of_stage);
    stage.Configure(format.AddTo(of_stage.Set("header", !format.no_header)));
    headers.push_back(
        &(side.uris.empty() ? stage.ReadFiles(JobPlan::Stage::kAllInputs, first) : stage.ReadUris(side.uris, first))
             .Shuffle({.sorted = false}));
    names.push_back(side.name);
    config.Set("columns" + std::to_string(i), EncodeTexts(side.columns));
  }
  config.Set("sides", EncodeTexts(names));
  auto& columns = plan->Map("columns", "table.find").Tasks(1).Configure(config);
  for (const auto* header : headers) columns.Read(Edge::kManyToOne, *header);
  return columns.Shuffle({.sorted = false});
}

Config RowsConfig(const std::string& job, const TableFormat& format, const TableSide& side) {
  Config config;
  if (side.transformed && format.rows.any()) AddRowOptions(format.rows, &config);
  // A join names the columns of its joined rows.
  config.Set("any_key", !side.transformed && !format.rows.select.empty());
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

}  // namespace mr::builtin
