// topk: outputs the rows of CSV inputs with the largest numbers in a column, in descending order: of the whole input,
// or of each group. Rows with equal numbers are sorted by their bytes.
//
// Whole input:  rows --many_to_one--> best (one task)
// Groups:       rows --by hash of the group, sorted by (group, number, row)--> best of each group
#include <algorithm>
#include <optional>

#include "jobs/builtin/best_rows.h"
#include "jobs/builtin/group_table.h"
#include "jobs/builtin/number_key.h"
#include "jobs/builtin/table.h"

namespace mr::builtin {
namespace {

BestRows BestRowsOf(const Config& config) { return {static_cast<size_t>(config.Int("n")), config.Bool("smallest")}; }

// Base of the operators that read rows. Their wanted columns are that of the numbers, then those of the group.
template <class KOut, class VOut>
class NumberedRows : public RowMapper<KOut, VOut> {
 protected:
  // Calls f(number, row, text) for each row with a number; text: the row as it is written.
  template <class F>
  void ForEachNumber(const Block& block, F&& f) {
    this->ForEachRow(block, [&](const CsvRow& row) {
      const std::string_view field = row[this->column(0)];
      if (this->IsNull(field)) return;
      Decimal value;
      if (!Decimal::Parse(field, &value)) this->RefuseField(this->column(0), "number");
      text_.clear();
      for (size_t i = 0; i < row.size(); ++i) {
        if (i > 0) text_ += this->separator();
        AppendField(row[i], &text_, this->dialect());
      }
      f(value, row, std::string_view(text_));
    });
  }

 private:
  std::string text_;
};

class BestOfSplit : public NumberedRows<std::string, std::string> {
 public:
  void Map(const Block& block, Out&) {
    if (!best_) best_.emplace(BestRowsOf(context().config()));
    ForEachNumber(block, [&](const Decimal& value, const CsvRow&, std::string_view text) { best_->Add(value, text); });
  }
  void End(Out& out) {
    if (!best_) return;
    best_->ForEach([&](const Decimal& value, const std::string& row) {
      key_.clear();
      value.Encode(&key_);
      out.EmitRaw(key_, row);
    });
  }

 private:
  std::optional<BestRows> best_;
  std::string key_;
};

class BestOfAll : public Mapper<std::string, std::string, Text, Text>, public SideInput<std::string, std::string> {
 public:
  void Open() { output_ = TableOutput(context().config()); }
  void Side(std::string_view, std::string_view found) { names_ = DecodeColumns(found).names; }
  void Map(std::string_view value, std::string_view row, Out&) {
    if (!best_) best_.emplace(BestRowsOf(context().config()));
    if (value.size() != Decimal::kEncodedBytes) throw JobError("topk: a value cannot be decoded");
    best_->Add(Decimal::Decode(value.data()), row);
  }
  void End(Out& out) {
    output_.Header(names_, out);
    if (best_) best_->ForEach([&](const Decimal&, const std::string& row) { output_.Line(row, context(), out); });
  }

 private:
  TableOutput output_;
  std::vector<std::string> names_;
  std::optional<BestRows> best_;
};

// A group is a text of its encoded columns. The second part of a key orders the rows of a group: the number (inverted,
// if the largest come first), then the row. So the value is empty.
using GroupedRow = std::pair<std::string, std::string>;

// Emits the best rows that it sees of each group. A group's rows are emitted again after its table was full.
class BestOfGroups : public NumberedRows<GroupedRow, Nothing>, public ByFirst<std::string, std::string> {
 public:
  void Open() {
    NumberedRows::Open();
    const Config config = context().config();
    groups_ = static_cast<size_t>(config.Int("groups"));
    n_ = static_cast<size_t>(config.Int("n"));
    smallest_ = config.Bool("smallest");
  }
  void Map(const Block& block, Out& out) {
    ForEachNumber(block, [&](const Decimal& value, const CsvRow& row, std::string_view text) {
      group_.clear();
      for (size_t g = 0; g < groups_; ++g) KeyCodec<std::string>::AppendPart(row[column(1 + g)], &group_);
      bool added = false;
      const uint32_t number = table_.Find(group_, &added);
      if (added) best_.emplace_back(n_, smallest_);
      const size_t grown = best_[number].Add(value, text);
      rows_bytes_ += grown;
      if (grown != 0 && rows_bytes_ + table_.bytes() + best_.size() * sizeof(BestRows) > most_bytes_) Flush(out);
    });
  }
  void End(Out& out) { Flush(out); }

 private:
  void Flush(Out& out) {
    for (uint32_t number = 0; number < table_.size(); ++number) {
      best_[number].ForEach([&](const Decimal& value, const std::string& row) {
        order_.clear();
        AppendNumberKey(value, &order_);
        for (char& c : order_) c = smallest_ ? c : static_cast<char>(~c);
        order_.append(row);
        out.Emit(std::pair(table_.Key(number), std::string_view(order_)), Nothing());
      });
    }
    table_.Clear();
    best_.clear();
    rows_bytes_ = 0;
  }

  const size_t most_bytes_ = TableBytes(24u << 20);  // guess: as in aggregate
  size_t groups_ = 0, n_ = 0;
  bool smallest_ = false;
  GroupTable table_;
  std::vector<BestRows> best_;  // by number of the group
  size_t rows_bytes_ = 0;
  std::string group_, order_;
};

class BestOfEachGroup : public SortedReducer<std::string, std::string, Nothing, Text, Text>,
                        public SideInput<std::string, std::string> {
 public:
  void Open() {
    const Config config = context().config();
    n_ = config.Int("n");
    smallest_ = config.Bool("smallest");
    output_ = TableOutput(config);
  }
  void Side(std::string_view, std::string_view found) { names_ = DecodeColumns(found).names; }
  void Reduce(std::string_view, SortedValues<std::string, std::string, Nothing>& rows, Out& out) {
    output_.Header(names_, out);
    int64_t left = n_;
    for (auto [order, nothing] : rows) {
      if (left-- == 0) break;
      output_.Line(std::string_view(order).substr(NumberBytes(order)), context(), out);
    }
  }
  void End(Out& out) { output_.Header(names_, out); }

 private:
  // Returns the bytes of the number at the front.
  size_t NumberBytes(const std::string& order) {
    number_.assign(order, 0, number_key::kMostBytes);
    for (char& c : number_) c = smallest_ ? c : static_cast<char>(~c);
    std::string_view rest = number_;
    TakeNumberKey(&rest);
    return number_.size() - rest.size();
  }

  int64_t n_ = 0;
  bool smallest_ = false;
  TableOutput output_;
  std::vector<std::string> names_;
  std::string number_;
};

void PlanTopK(const std::vector<std::string>& argv, JobPlan& plan) {
  TableFormat format;
  TableSide side;
  std::string by;
  std::vector<std::string> per_lists;
  int64_t n = 10;
  bool smallest = false;
  Args args("topk");
  args.Add("--by", &by).Add("--per", &per_lists).Add("-n", &n, 1, 1'000'000).Add("--smallest", &smallest);
  format.AddTo(&args);
  args.Parse(argv);
  format.Check(args);
  if (by.empty()) args.Refuse("give the column to compare: --by COLUMN");
  side.columns = {by};
  if (!per_lists.empty()) {
    const std::vector<std::string> per = SplitNames(args, "--per", JoinLists(per_lists));
    side.columns.insert(side.columns.end(), per.begin(), per.end());
  }
  const size_t groups = side.columns.size() - 1;
  auto& columns = FindColumns("topk", format, {side}, &plan);
  const Config config = RowsConfig("topk", format, side).Set("n", n).Set("smallest", smallest).Set("groups", groups);
  auto& rows = plan.Map("rows", groups == 0 ? "topk.split" : "topk.group_rows")
                   .Configure(config)
                   .ReadFiles(JobPlan::Stage::kAllInputs, format.Files())
                   .Read(Edge::kBroadcast, columns)
                   .Shuffle({.sorted = groups != 0, .custom_partition = groups != 0});
  auto& best = groups == 0 ? plan.Map("best", "topk.all").Tasks(1).Configure(config).Read(Edge::kManyToOne, rows)
                           : plan.Reduce("best", "topk.group_best").Configure(config).Group(rows);
  best.Read(Edge::kBroadcast, columns).WriteFiles(format.OutputFormat());
}

}  // namespace

void AddTopK(Library& library) {
  library.Add<BestOfSplit>("topk.split", kPure)
      .Add<BestOfAll>("topk.all", kPure)
      .Add<BestOfGroups>("topk.group_rows", kPure)
      .Add<BestOfEachGroup>("topk.group_best", kPure)
      .AddJob<PlanTopK>("topk",
                        "the rows of CSV inputs with the largest numbers in a column\n"
                        "  --by COLUMN            column of the numbers; rows with equal numbers are ordered by\n"
                        "                         their bytes, and rows without one are left out\n"
                        "  --per COLUMN,...       find the rows of each group: rows with equal values in these\n"
                        "                         columns (default: of the whole input)\n"
                        "  -n N                   number of rows (default 10), with --per of each group\n"
                        "  --smallest             the smallest numbers, in ascending order\n" MR_TABLE_FORMAT_HELP(
                            "line is a row", "those of the input"));
}

}  // namespace mr::builtin
