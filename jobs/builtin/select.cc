// select: outputs rows of CSV inputs: those for which --where is true, with the columns of --select; a sample of them
// (--sample), the first ones (--limit).
#include <charconv>
#include <cmath>

#include "jobs/builtin/table.h"

namespace mr::builtin {
namespace {

// Returns whether a row is in the sample: a hash of its position, so that all attempts agree.
class Sample {
 public:
  Sample() = default;
  Sample(double part, uint64_t seed)
      : seed_(seed), all_(part >= 1), below_(static_cast<uint64_t>(std::ldexp(part, 64))) {}
  bool Has(uint64_t position) const {
    if (all_) return true;
    const uint64_t place[] = {seed_, position};
    return HashBytes({reinterpret_cast<const char*>(place), sizeof place}) < below_;
  }

 private:
  uint64_t seed_ = 0;
  bool all_ = true;
  uint64_t below_ = 0;
};

Sample SampleOf(const Config& config) {
  double part = 1;
  const std::string& text = config.Text("sample");
  std::from_chars(text.data(), text.data() + text.size(), part);
  return {part, static_cast<uint64_t>(config.Int("seed"))};
}

template <class KOut, class VOut>
class SelectedRows : public RowMapper<KOut, VOut> {
 public:
  void Open() {
    RowMapper<KOut, VOut>::Open();
    sample_ = SampleOf(this->context().config());
  }

 protected:
  // Calls f with each row of the sample.
  template <class F>
  void ForEachSampled(const Block& block, F&& f) {
    this->ForEachRow(block, [&](const CsvRow& row) {
      if (sample_.Has(this->position())) f(row);
    });
  }

 private:
  Sample sample_;
};

class WriteSelected : public SelectedRows<Text, Text> {
 public:
  void Open() {
    SelectedRows::Open();
    output_ = TableOutput(context().config());
  }
  void Map(const Block& block, Out& out) {
    ForEachSampled(block, [&](const CsvRow& row) {
      output_.Header(found().names, out);
      output_.Row(row, unchanged_record(), out);
    });
  }
  void End(Out& out) { output_.Header(found().names, out); }

 private:
  TableOutput output_;
};

// Emits the first rows of a task, each under a key that orders it among all.
class FirstOfSplit : public SelectedRows<std::pair<uint32_t, uint64_t>, std::string> {
 public:
  void Open() {
    SelectedRows::Open();
    limit_ = static_cast<uint64_t>(context().config().Int("limit"));
  }
  void Map(const Block& block, Out& out) {
    if (rows_ == limit_) return;
    ForEachSampled(block, [&](const CsvRow& row) {
      if (rows_ == limit_) return;
      std::optional<std::string_view> line = unchanged_record();
      if (!line) {
        line_.clear();
        AppendRow(row, dialect(), &line_);
        line = line_;
      }
      out.Emit({context().task(), rows_++}, *line);
    });
  }

 private:
  uint64_t limit_ = 0, rows_ = 0;
  std::string line_;
};

class FirstOfAll : public Reducer<std::pair<uint32_t, uint64_t>, std::string, Text, Text>,
                   public SideInput<std::string, std::string> {
 public:
  void Open() {
    output_ = TableOutput(context().config());
    left_ = context().config().Int("limit");
  }
  void Side(std::string_view, std::string_view found) { names_ = DecodeColumns(found).names; }
  void Reduce(const KeyView<std::pair<uint32_t, uint64_t>>&, Values<std::string>& lines, Out& out) {
    output_.Header(names_, out);
    for (const std::string_view line : lines) {
      if (left_-- > 0) output_.Line(line, context(), out);
    }
  }
  void End(Out& out) { output_.Header(names_, out); }

 private:
  TableOutput output_;
  std::vector<std::string> names_;
  int64_t left_ = 0;
};

// Returns the part that a text such as 0.01 or 1% names.
double ParsePart(const Args& args, const std::string& text) {
  const bool percent = !text.empty() && text.back() == '%';
  const char* const end = text.data() + text.size() - (percent ? 1 : 0);
  double part = 0;
  const auto [at, error] = std::from_chars(text.data(), end, part);
  if (percent) part /= 100;
  if (error != std::errc() || at != end || !(part > 0) || part > 1) {
    args.Refuse("--sample '" + text + "' is no part of the rows; give one such as 0.01 or 1%, up to 1");
  }
  return part;
}

void PlanSelect(const std::vector<std::string>& argv, JobPlan& plan) {
  TableFormat format;
  std::string sample;
  int64_t limit = -1, seed = 0;
  Args args("select");
  args.Add("--limit", &limit, 0, int64_t{1} << 40).Add("--sample", &sample).Add("--seed", &seed);
  format.AddTo(&args);
  args.Parse(argv);
  format.Check(args);
  std::string part = "1";
  if (!sample.empty()) {
    char text[40];
    part.assign(text, std::to_chars(text, text + sizeof text, ParsePart(args, sample)).ptr);
  }
  const TableSide side;
  auto& columns = FindColumns("select", format, {side}, &plan);
  const Config config = RowsConfig("select", format, side).Set("sample", part).Set("seed", seed).Set("limit", limit);
  auto& rows = plan.Map("rows", limit < 0 ? "select.rows" : "select.first")
                   .Configure(config)
                   .ReadFiles(JobPlan::Stage::kAllInputs, format.Files())
                   .Read(Edge::kBroadcast, columns);
  if (limit < 0) {
    rows.WriteFiles(format.OutputFormat());
    return;
  }
  rows.Shuffle();
  plan.Reduce("limit", "select.limit")
      .Tasks(1)
      .Configure(config)
      .Group(rows)
      .Read(Edge::kBroadcast, columns)
      .WriteFiles(format.OutputFormat());
}

}  // namespace

void AddSelect(Library& library) {
  library.Add<WriteSelected>("select.rows", kPure)
      .Add<FirstOfSplit>("select.first", kPure)
      .Add<FirstOfAll>("select.limit", kPure)
      .AddJob<PlanSelect>("select",
                          "rows of CSV inputs that meet a condition, with chosen, renamed or computed columns\n"
                          "  --limit N              at most N rows: the first ones in the order of the inputs\n"
                          "  --sample PART          a random part of the rows, such as 0.01 or 1%\n"
                          "  --seed N               choose another sample (default 0)\n" MR_TABLE_FORMAT_HELP(
                              "line is a row", "those of --select; without it, those of the input"));
}

}  // namespace mr::builtin
