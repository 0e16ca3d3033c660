// parse: turns lines of text into the rows of a table: logs of web servers, a pattern with named groups, JSON, or
// fields between separators. Lines that do not have the form go to the file _unmatched-* beside the part, and are
// counted.
//   sample (first lines, if there are expressions) -> columns (one task) --broadcast--> rows
#include <cstdio>
#include <utility>

#include "jobs/builtin/line_parser.h"
#include "jobs/builtin/table.h"
#include "paceline/text.h"

namespace mr::builtin {
namespace {

std::string_view WithoutCr(std::string_view line) {
  return line.substr(0, line.size() - (!line.empty() && line.back() == '\r' ? 1 : 0));
}

std::string_view TextOf(const Block& block) {
  return block.offset == 0 ? WithoutByteOrderMark(block.text) : block.text;
}

// Emits (file, header) and ("", types), as table.head does for a table.
class SampleOfLines : public BlockMapper<std::string, std::string> {
 public:
  void Open() {
    const Config config = context().config();
    parser_ = LineParser::Make(LineFormat::Of(config));
    values_ = RowOptionsOf(config).values();
    types_.resize(parser_->columns().size());
  }
  void Map(const Block& block, Out&) {
    ForEachLine(TextOf(block), [&](std::string_view line) {
      if (!parser_->Parse(WithoutCr(line), &row_)) return;
      for (size_t i = 0; i < row_.size(); ++i) types_[i].Take(row_[i], values_);
    });
  }
  void End(Out& out) {
    std::vector<std::string> types;
    for (const expr::TypeFinder& type : types_) types.push_back(type.Encode());
    out.Emit("the lines", CsvLine(parser_->columns(), DialectOf(context().config())));
    out.Emit("", EncodeTexts(types));
  }

 private:
  std::unique_ptr<LineParser> parser_;
  expr::Values values_;
  std::vector<expr::TypeFinder> types_;
  CsvRow row_;
};

class ParseLines : public BlockMapper<Text, Text> {
 public:
  using MorePorts = Ports<Records<Text, Text>>;

  void Open() {
    const Config config = context().config();
    parser_ = LineParser::Make(LineFormat::Of(config));
    output_ = TableOutput(config);
    options_ = RowOptionsOf(config);
    names_ = parser_->columns();
  }
  void Map(const Block& block, Out& out) {
    output_.Header(names_, out);
    const uint64_t file = HashBytes(context().input_file());
    ForEachLine(TextOf(block), [&](std::string_view line) {
      if (!parser_->Parse(WithoutCr(line), &row_)) {
        ++unmatched_;
        if (!std::exchange(shown_, true)) Show(block, line);
        return out.Port(1).Line(line);
      }
      ++matched_;
      const CsvRow* row = &row_;
      if (rows_ && !Transform(block, file, line, &row)) return;
      try {
        output_.Row(*row, std::nullopt, out);
      } catch (const BadRecord& bad) {
        Skip(block, line, bad.what());
      }
    });
  }
  void End(Out& out) { output_.Header(names_, out); }

 protected:
  void UseColumns(std::string_view found) {
    const std::string wrong = rows_.emplace().Compile(options_, DecodeColumns(found).columns, ConstantsOf(context()));
    if (!wrong.empty()) throw FinalError("parse: " + wrong);
    names_ = rows_->names();
  }

 private:
  bool Transform(const Block& block, uint64_t file, std::string_view line, const CsvRow** row) {
    std::string why;
    const auto result = rows_->Apply(row_, file + OffsetOf(block, line), row, &why);
    if (result == expr::RowTransform::Result::kBad) Skip(block, line, why);
    return result == expr::RowTransform::Result::kKeep;
  }
  static uint64_t OffsetOf(const Block& block, std::string_view line) {
    return block.offset + static_cast<uint64_t>(line.data() - block.text.data());
  }
  void Skip(const Block& block, std::string_view line, const std::string& why) {
    const std::string place = context().input_file() + ", byte " + std::to_string(OffsetOf(block, line));
    context().FailedIn(place);
    context().SkipRecords(1, line.size() + 1, "parse: " + place + ": " + why);
  }

  // Logs the first line that does not match. mrctl finds it by its prefix (jobs/mrctl/local_end.cc).
  void Show(const Block& block, std::string_view line) {
    constexpr size_t kShownBytes = 100;
    const std::string text = "unmatched line: " + context().input_file() + ", byte " +
                             std::to_string(OffsetOf(block, line)) + ": " + std::string(line.substr(0, kShownBytes)) +
                             "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
  }

  std::unique_ptr<LineParser> parser_;
  bool shown_ = false;  // an unmatched line
  TableOutput output_;
  expr::RowOptions options_;
  std::optional<expr::RowTransform> rows_;
  std::vector<std::string> names_;
  CsvRow row_;
  Counter& matched_ = counter("lines");
  Counter& unmatched_ = counter("unmatched lines");
};

// The same with expressions, whose columns come from a side input.
class ParseRows : public ParseLines, public SideInput<std::string, std::string> {
 public:
  void Side(std::string_view, std::string_view found) { UseColumns(found); }
};

void PlanParse(const std::vector<std::string>& argv, JobPlan& plan) {
  TableFormat format;
  LineFormat lines;
  Args args("parse");
  lines.AddTo(&args);
  format.AddTo(&args);
  args.Parse(argv);
  format.Check(args);
  lines.Check(args);
  if (format.format != "csv")
    args.Refuse("--format is of tables; the lines have the form that --json or another option names");
  Config config;
  lines.AddTo(&config);
  format.AddTo(config);
  AddRowOptions(format.rows, &config);
  JobPlan::Stage* columns = nullptr;
  if (format.rows.any()) {
    // Names and syntax are checked here; comparisons of types, when the types are known.
    const auto parser = LineParser::Make(lines);
    std::vector<expr::Column> known;
    for (const std::string& name : parser->columns()) known.push_back({name, expr::Type::kInt, false, ""});
    std::string names;
    for (const expr::Column& column : known) names += (names.empty() ? "; the columns are: " : ", ") + column.name;
    expr::RowTransform rows;
    if (const std::string wrong = rows.Compile(format.rows, known, {}, names); !wrong.empty()) args.Refuse(wrong);
    auto& sample = plan.Map("sample", "parse.sample")
                       .Configure(config)
                       .ReadFiles(JobPlan::Stage::kAllInputs, {.sample_bytes = kTypeSampleBytes})
                       .Shuffle({.sorted = false});
    Config found = config;
    found.Set("job", "parse").Set("header", true).Set("sides", EncodeTexts({""})).Set("columns0", EncodeTexts({}));
    found.Set("joined", 0).Set("hidden", EncodeTexts({}));
    columns = &plan.Map("columns", "table.find")
                   .Tasks(1)
                   .Configure(found)
                   .Read(Edge::kManyToOne, sample)
                   .Shuffle({.sorted = false});
  }
  auto& rows = plan.Map("rows", columns != nullptr ? "parse.rows" : "parse.lines").Configure(config).ReadFiles();
  if (columns != nullptr) rows.Read(Edge::kBroadcast, *columns);
  rows.WriteFiles(format.OutputFormat()).Named("_unmatched");
}

}  // namespace

void AddParse(Library& library) {
  library.Add<SampleOfLines>("parse.sample", kPure)
      .Add<ParseLines>("parse.lines", kPure)
      .Add<ParseRows>("parse.rows", kPure)
      .AddJob<PlanParse>(
          "parse", "turn lines of text into a table\n" MR_LINE_FORMAT_HELP
                   "lines without this form are written to _unmatched-* beside the parts, and counted. Jobs\n"
                   "that read the directory skip them. No step of a job file can read the table: submit parse by\n"
                   "itself, and give OUTPUT to the next job\n"
                   "options of the table:\n" MR_TABLE_FORMAT_HELP("line of an input is a line like the others",
                                                                  "those of the form, or of --select"));
}

}  // namespace mr::builtin
