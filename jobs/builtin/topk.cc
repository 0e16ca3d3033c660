// topk: outputs the rows of CSV inputs with the largest numbers in a column, in descending order. Rows with equal
// numbers are sorted by their bytes.
#include <algorithm>
#include <optional>

#include "jobs/builtin/decimal.h"
#include "jobs/builtin/table.h"

namespace mr::builtin {
namespace {

// Keeps the n best rows that it receives, in memory for about 2n.
class BestRows {
 public:
  explicit BestRows(const Config& config)
      : n_(static_cast<size_t>(config.Int("n"))), smallest_(config.Bool("smallest")) {}

  void Add(const Decimal& value, std::string_view row) {
    if (rows_.size() >= n_ && sorted_ == rows_.size() && Better(rows_[n_ - 1], value, row)) return;
    rows_.push_back({value, std::string(row)});
    if (rows_.size() >= 2 * n_ + 64) Keep();
  }
  template <class F>
  void ForEach(F&& f) {
    Keep();
    for (const Row& row : rows_) f(row.value, row.text);
  }

 private:
  struct Row {
    Decimal value;
    std::string text;
  };
  bool Better(const Row& a, const Decimal& value, std::string_view text) const {
    const int c = a.value.Compare(value);
    return c != 0 ? (smallest_ ? c < 0 : c > 0) : a.text <= text;
  }
  void Keep() {
    std::sort(rows_.begin(), rows_.end(), [this](const Row& a, const Row& b) {
      const int c = a.value.Compare(b.value);
      return c != 0 ? (smallest_ ? c < 0 : c > 0) : a.text < b.text;
    });
    if (rows_.size() > n_) rows_.resize(n_);
    sorted_ = rows_.size();
  }
  size_t n_;
  bool smallest_;
  size_t sorted_ = 0;  // rows that are sorted
  std::vector<Row> rows_;
};

class BestOfSplit : public RowMapper<std::string, std::string> {
 public:
  void Map(const Block& block, Out&) {
    if (!best_) best_.emplace(context().config());
    ForEachRow(block, [&](const CsvRow& row) {
      const std::string_view field = row[column(0)];
      if (field.empty()) return;  // an empty field has no value
      Decimal value;
      if (!Decimal::Parse(field, &value)) RefuseField(column(0), "number");
      text_.clear();
      for (size_t i = 0; i < row.size(); ++i) {
        if (i > 0) text_ += separator();
        AppendCsvField(row[i], &text_, dialect());
      }
      best_->Add(value, text_);
    });
  }
  void End(Out& out) {
    if (!best_) return;
    best_->ForEach([&](const Decimal& value, const std::string& row) {
      text_.clear();
      value.Encode(&text_);
      out.EmitRaw(text_, row);
    });
  }

 private:
  std::optional<BestRows> best_;
  std::string text_;
};

class BestOfAll : public Mapper<std::string, std::string, Text, Text>, public SideInput<std::string, std::string> {
 public:
  void Open() { header_ = OutputHeader(context().config()); }
  void Side(std::string_view, std::string_view found) { names_ = DecodeColumns(found).names; }
  void Map(std::string_view value, std::string_view row, Out&) {
    if (!best_) best_.emplace(context().config());
    if (value.size() != Decimal::kEncodedBytes) throw JobError("topk: a value cannot be decoded");
    best_->Add(Decimal::Decode(value.data()), row);
  }
  void End(Out& out) {
    header_.Emit(names_, out);
    if (best_) best_->ForEach([&](const Decimal&, const std::string& row) { out.Line(row); });
  }

 private:
  OutputHeader header_;
  std::vector<std::string> names_;
  std::optional<BestRows> best_;
};

void PlanTopK(const std::vector<std::string>& argv, JobPlan& plan) {
  TableFormat format;
  TableSide side;
  std::string by;
  int64_t n = 10;
  bool smallest = false;
  Args args("topk");
  args.Add("--by", &by).Add("-n", &n, 1, 1'000'000).Add("--smallest", &smallest);
  format.AddTo(&args);
  args.Parse(argv);
  format.Check(args);
  if (by.empty()) args.Refuse("give the column to compare: --by COLUMN");
  side.columns = {by};
  auto& columns = FindColumns("topk", format, {side}, &plan);
  const Config config = RowsConfig("topk", format, side).Set("n", n).Set("smallest", smallest);
  auto& rows = plan.Map("rows", "topk.rows")
                   .Configure(config)
                   .ReadFiles(JobPlan::Stage::kAllInputs, format.Files())
                   .Read(Edge::kBroadcast, columns)
                   .Shuffle({.sorted = false});
  plan.Map("best", "topk.best")
      .Tasks(1)
      .Configure(config)
      .Read(Edge::kManyToOne, rows)
      .Read(Edge::kBroadcast, columns)
      .WriteFiles(format.OutputFormat());
}

}  // namespace

void AddTopK(Library& library) {
  library.Add<BestOfSplit>("topk.rows", kPure)
      .Add<BestOfAll>("topk.best", kPure)
      .AddJob<PlanTopK>("topk",
                        "the rows of CSV inputs with the largest numbers in a column\n"
                        "  --by COLUMN            column of the numbers\n"
                        "  -n N                   number of rows (default 10)\n"
                        "  --smallest             the smallest numbers, in ascending order\n" MR_TABLE_FORMAT_HELP(
                            "line is a row", "those of the input"));
}

}  // namespace mr::builtin
