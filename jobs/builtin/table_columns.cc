// The first stages of each table job: they read the headers of all files, and find the columns and their types.
#include <algorithm>
#include <optional>

#include "jobs/builtin/table.h"
#include "jobs/builtin/table_header.h"

namespace mr::builtin {
namespace {

constexpr int kUnknownType = 3;  // added to the number of a type that no value showed

std::string EncodeColumns(const ColumnsFound& found) {
  std::vector<std::string> wanted, names, types;
  for (const uint32_t column : found.wanted) wanted.push_back(std::to_string(column));
  for (const expr::Column& column : found.columns) {
    names.push_back(column.name);
    types.push_back(std::to_string(static_cast<int>(column.type) + (column.known ? 0 : kUnknownType)));
  }
  Config config;
  config.Set("wanted", EncodeTexts(wanted)).Set("names", EncodeTexts(found.names));
  return config.Set("columns", EncodeTexts(names)).Set("types", EncodeTexts(types)).Encode();
}

// Emits (file, its first record) for each file. Without a header that is the first record that is neither blank nor
// broken. If the job has expressions, it also emits ("", types of the fields) for the rows at the start of each split.
class ReadHeader : public BlockMapper<std::string, std::string> {
 public:
  void Open() {
    const Config config = context().config();
    header_ = config.Bool("header");
    records_ = config.Bool("records");
    dialect_ = DialectOf(config);
    sampling_ = config.Has("where");
    if (sampling_) values_ = RowOptionsOf(config).values();
  }
  void Map(const Block& block, Out& out) {
    if (records_) return TakeRecord(block, out);
    if (sampling_) Sample(block);
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
  void End(Out& out) {
    std::vector<std::string> types;
    for (const expr::TypeFinder& type : types_) types.push_back(type.Encode());
    if (sampling_) out.Emit("", EncodeTexts(types));
  }

 private:
  void Sample(const Block& block) {
    const std::string_view text = block.offset == 0 ? WithoutByteOrderMark(block.text) : block.text;
    bool header = header_ && block.offset == 0;
    ForEachCsvRow(text, dialect_, &row_, [&](const CsvRecord& record, const char* wrong) {
      if (std::exchange(header, false) || record.text.empty() || wrong != nullptr) return;
      TakeTypes();
    });
  }
  void TakeTypes() {
    if (types_.size() < row_.size()) types_.resize(row_.size());
    for (size_t i = 0; i < row_.size(); ++i) types_[i].Take(row_[i], values_);
  }
  // A file has a header per part that was concatenated to it. Those that differ are sent, so that all are compared.
  void TakeRecord(const Block& block, Out& out) {
    bool names = false;
    if (!ParseRecordRow(block.text, &names, &row_)) return;  // the stage of rows reports it
    if (!names) return sampling_ ? TakeTypes() : void();
    std::string line;
    AppendRow(row_, dialect_, &line);
    const std::string& file = context().input_file();
    if (std::exchange(sent_, std::pair(file, line)) == std::pair(file, line)) return;
    out.Emit(file.empty() ? "the table of the step before" : file, line);
  }

  bool header_ = true, sampling_ = false, records_ = false;
  std::pair<std::string, std::string> sent_;  // file, header
  CsvDialect dialect_;
  expr::Values values_;
  std::vector<expr::TypeFinder> types_;  // by field
  CsvRow row_;
  bool looking_ = false;  // the file's start has been read, its first record not yet
};

// Emits ("", names and types of the keys of each split's first lines) for JSON, and without keys ("wrong", why).
class ReadKeys : public BlockMapper<std::string, std::string> {
 public:
  void Open() { values_ = RowOptionsOf(context().config()).values(); }
  void Map(const Block& block, Out&) {
    ForEachLine(block.offset == 0 ? WithoutByteOrderMark(block.text) : block.text, [&](std::string_view line) {
      const size_t known = paths_.size();
      if (!expr::AddJsonPaths(line, &paths_, wrong_.empty() ? &wrong_ : nullptr)) return;
      if (paths_.size() != known) fields_ = expr::JsonFields(paths_);
      types_.resize(paths_.size());
      if (!fields_.Parse(line, &row_)) return;
      for (size_t i = 0; i < row_.size(); ++i) types_[i].Take(row_[i], values_);
    });
  }
  void End(Out& out) {
    std::vector<std::string> list;
    for (size_t i = 0; i < paths_.size(); ++i) list.insert(list.end(), {types_[i].Encode(), paths_[i]});
    out.Emit("", EncodeTexts(list));
    if (list.empty() && !wrong_.empty()) out.Emit("wrong", wrong_);
  }

 private:
  expr::Values values_;
  std::string wrong_;  // why the first line that the parser refused is no JSON
  std::vector<std::string> paths_;
  expr::JsonFields fields_;
  std::vector<expr::TypeFinder> types_;  // by path
  CsvRow row_;
};

// Finds the columns, in one task. Inputs: the sides' headers, in order. Emits (side, columns).
class FindColumnsOp : public RawOperator<std::string, std::string> {
 public:
  void Open() {
    config_ = context().config();
    sides_ = DecodeTexts(config_.Text("sides"));
    headers_.resize(sides_.size());
    types_.resize(sides_.size());
    samples_.resize(sides_.size());
  }

  void Batch(const mr_batch& in, const BatchView& view, Out&) {
    for (uint32_t i = 0; i < view.size(); ++i) {
      if (view.key(i).empty()) {
        samples_.at(in.input).emplace_back(in.upstream_task, view.value(i));
        continue;
      }
      if (config_.Bool("json")) {
        const std::string why(view.value(i));
        if (no_json_.empty() || why < no_json_) no_json_ = why;
        continue;
      }
      TableHeader header;
      const std::string wrong =
          ReadTableHeader(std::string(view.key(i)), view.value(i), DialectOf(config_), config_.Bool("header"), &header);
      if (!wrong.empty()) Refuse(wrong);
      if (config_.Bool("records")) header.only.clear();  // no separator is wrong
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
    for (size_t side = 0; side < sides_.size(); ++side) MergeSamples(side);
    CompileExpressions();
    CheckColumns();
    for (size_t side = 0; side < sides_.size(); ++side) {
      ColumnsFound found{{}, headers_[side]->fields, columns_[side]};
      for (const auto& name : Wanted(side)) {
        const auto at = std::find(found.names.begin(), found.names.end(), name);
        found.wanted.push_back(static_cast<uint32_t>(at - found.names.begin()));
      }
      out.Emit(sides_[side], EncodeColumns(found));
    }
  }

 private:
  // Merges the samples of a side, in the order of the input. Those of JSON name the columns, too.
  void MergeSamples(size_t side) {
    auto& samples = samples_[side];
    std::stable_sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const bool json = config_.Bool("json");
    std::vector<expr::TypeFinder>& types = types_[side];
    std::vector<std::string> names;
    for (const auto& [task, sample] : samples) {
      const auto list = DecodeTexts(sample);
      for (size_t i = 0; i < list.size(); i += json ? 2 : 1) {
        expr::TypeFinder found;
        if (!expr::TypeFinder::Decode(list[i], &found)) throw JobError("types of a sample cannot be decoded");
        size_t column = i;
        if (json) {
          const auto at = std::find(names.begin(), names.end(), list.at(i + 1));
          column = static_cast<size_t>(at - names.begin());
          if (at == names.end()) names.push_back(list[i + 1]);
        }
        if (types.size() <= column) types.resize(column + 1);
        types[column].Merge(found);
      }
    }
    // A joined row has its columns from either side, so its --types declare no keys of one.
    if (json && !names.empty() && config_.Has("where") && config_.Int("joined") == 0)
      expr::AddDeclaredPaths(config_.Text("types"), &names);
    if (json && !names.empty()) headers_[side] = TableHeader{"the sample of the rows", std::move(names), "", false};
  }

  std::vector<std::string> Wanted(size_t side) const {
    return DecodeTexts(config_.Text("columns" + std::to_string(side)));
  }

  // Compiles the expressions. Where they apply to the rows of the input, its columns become those of --select.
  void CompileExpressions() {
    for (size_t side = 0; side < sides_.size(); ++side) {
      if (!headers_[side]) {
        Refuse("the " + (sides_[side].empty() ? "" : sides_[side] + " ") +
               (config_.Bool("json")      ? "input has no JSON object" + std::string(no_json_.empty() ? "" : ": ")
                : config_.Bool("records") ? "input has no table in records, as --output-format record writes them"
                                          : "input is empty; its first line must name the columns") +
               no_json_);
      }
      columns_.push_back(TypedColumns(headers_[side]->fields, types_[side]));
    }
    const expr::RowOptions options = RowOptionsOf(config_);
    if (!options.any()) return;
    const JoinedTables joined{static_cast<size_t>(config_.Int("joined")), DecodeTexts(config_.Text("hidden"))};
    const bool named = config_.Bool("header");
    if (joined.tables != 0) {
      CheckColumns();  // first: it may find that the separator of a side is wrong
      expr::RowTransform rows;
      const auto columns = JoinedColumns(joined, columns_, named);
      const std::string wrong = rows.Compile(options, columns, {}, KnownColumns(columns, named));
      if (!wrong.empty()) Refuse(wrong);
      return;
    }
    for (size_t side = 0; side < sides_.size(); ++side) {
      expr::RowTransform rows;
      const std::string hint = KnownColumns(columns_[side], named, headers_[side]->only, DialectOf(config_).separator) +
                               (config_.Bool("json") ? kRareKeyNote : "");
      const std::string wrong = rows.Compile(options, columns_[side], {}, hint);
      if (!wrong.empty()) Refuse(wrong);
      if (!options.select.empty()) headers_[side]->Select(rows.names());
    }
  }

  // Reports all errors in the columns of all sides, so that one run shows them.
  void CheckColumns() {
    std::vector<SideColumns> sides;
    for (size_t side = 0; side < sides_.size(); ++side) sides.push_back({*headers_[side], Wanted(side)});
    const std::string wrong = WrongColumns(sides, config_.Bool("header"), DialectOf(config_).separator);
    if (!wrong.empty()) Refuse(wrong);
  }

  // Returns "headers differ: ..." with the first difference.
  std::string Difference(const std::vector<std::string>& a, const std::vector<std::string>& b) const {
    const std::string counts = std::to_string(a.size()) + " and " + std::to_string(b.size());
    if (!config_.Bool("header")) return "first rows have " + counts + " fields";
    if (a.size() != b.size()) return "headers differ: they have " + counts + " columns";
    const auto at = std::mismatch(a.begin(), a.end(), b.begin());
    return "headers differ: column " + std::to_string(at.first - a.begin() + 1) + " is '" + expr::ShownName(*at.first) +
           "' and '" + expr::ShownName(*at.second) + "'";
  }

  [[noreturn]] void Refuse(const std::string& what) { throw FinalError(config_.Text("job") + ": " + what); }

  Config config_;
  std::string no_json_;  // why lines of the samples are no JSON; of several reasons the first by bytes
  std::vector<std::string> sides_;
  std::vector<std::optional<TableHeader>> headers_;
  std::vector<std::vector<std::pair<uint32_t, std::string>>> samples_;  // by side: (upstream task, types)
  std::vector<std::vector<expr::TypeFinder>> types_;                    // by side and field
  std::vector<std::vector<expr::Column>> columns_;                      // by side, of the input
};

}  // namespace

ColumnsFound DecodeColumns(std::string_view bytes) {
  const Config config = Config::Decode(bytes);
  ColumnsFound found;
  found.names = DecodeTexts(config.Text("names"));
  const auto names = DecodeTexts(config.Text("columns")), types = DecodeTexts(config.Text("types"));
  if (names.size() != types.size()) throw JobError("a stage's columns cannot be decoded");
  const auto number = [](const std::string& text, size_t below) {
    const auto value = static_cast<size_t>(std::atoll(text.c_str()));
    if (value >= below) throw JobError("a stage's columns cannot be decoded");
    return static_cast<uint32_t>(value);
  };
  for (size_t i = 0; i < names.size(); ++i) {
    const uint32_t type = number(types[i], 2 * kUnknownType);
    found.columns.push_back({names[i], static_cast<expr::Type>(type % kUnknownType), false, "", type < kUnknownType});
  }
  for (const std::string& wanted : DecodeTexts(config.Text("wanted")))
    found.wanted.push_back(number(wanted, found.names.size()));
  return found;
}

void AddTables(Library& library) {
  library.Add<ReadHeader>("table.head", kPure)
      .Add<ReadKeys>("table.keys", kPure)
      .Add<FindColumnsOp>("table.find", kPure);
}

}  // namespace mr::builtin
