// join: two CSV inputs on a column, as SQL has it: inner, left, right, full, semi, anti. Each output line has the
// column, then the other fields of the left row, then those of the right one; semi and anti have the left row's alone.
// Where a side has no row, its fields are empty.
#include <algorithm>
#include <array>
#include <tuple>

#include "jobs/builtin/table.h"

namespace mr::builtin {
namespace {

enum class JoinKind { kInner, kLeft, kRight, kFull, kSemi, kAnti };
constexpr std::pair<const char*, JoinKind> kKinds[] = {{"inner", JoinKind::kInner}, {"left", JoinKind::kLeft},
                                                       {"right", JoinKind::kRight}, {"full", JoinKind::kFull},
                                                       {"semi", JoinKind::kSemi},   {"anti", JoinKind::kAnti}};
constexpr const char* kSides[] = {"left", "right"};

// (column, ",field,field..." of the others) of each row.
class ReadRows : public RowMapper<std::string, std::string> {
 public:
  void Map(const Block& block, Out& out) {
    ForEachRow(block, [&](const CsvRow& row) {
      const uint32_t on = column(0);
      rest_.clear();
      for (uint32_t i = 0; i < row.size(); ++i) {
        if (i == on) continue;
        rest_ += separator();
        AppendCsvField(row[i], &rest_, separator());
      }
      out.EmitRaw(row[on], rest_);
    });
  }

 private:
  std::string rest_;
};

class JoinRows : public Joiner<std::string, std::string, std::string, Text, Text>,
                 public SideInput<std::string, std::string> {
 public:
  void Open() {
    const Config config = context().config();
    kind_ = kKinds[static_cast<size_t>(config.Int("kind"))].second;
    separator_ = config.Text("separator")[0];
  }
  void Side(std::string_view side, std::string_view found) {
    nothing_[side == kSides[0] ? 0 : 1].assign(DecodeColumns(found).names.size() - 1, separator_);
  }
  void Join(std::string_view key, const std::vector<std::string>& left, Values<std::string>& right, Out& out) {
    key_.clear();
    AppendCsvField(key, &key_, separator_);
    const bool any_right = !right.empty();
    if (kind_ == JoinKind::kSemi || kind_ == JoinKind::kAnti) {
      if (any_right != (kind_ == JoinKind::kSemi)) return;
      for (const std::string& row : left) Line(row, {}, out);
    } else if (!any_right) {
      if (kind_ != JoinKind::kLeft && kind_ != JoinKind::kFull) return;
      for (const std::string& row : left) Line(row, nothing_[1], out);
    } else if (left.empty()) {
      if (kind_ != JoinKind::kRight && kind_ != JoinKind::kFull) return;
      for (std::string_view row : right) Line(nothing_[0], row, out);
    } else {
      for (std::string_view row : right) {
        for (const std::string& other : left) Line(other, row, out);
      }
    }
  }

 private:
  void Line(std::string_view left, std::string_view right, Out& out) {
    line_.assign(key_).append(left).append(right);
    out.Line(line_);
  }

  JoinKind kind_ = JoinKind::kInner;
  char separator_ = ',';
  std::array<std::string, 2> nothing_;  // the separators of a row that is not there
  std::string key_, line_;
};

size_t KindNamed(const Args& args, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, kind] : kKinds) {
    if (name == known) return static_cast<size_t>(kind);
    names.push_back(known);
  }
  args.Refuse("--type '" + name + "' is none" + Suggest(name, names) + "; there are inner, left, right, full, semi and anti");
}

void PlanJoin(const std::vector<std::string>& argv, JobPlan& plan) {
  TableFormat format;
  std::array<TableSide, 2> sides;
  std::string on, columns[2], type = "inner";
  Args args("join");
  args.Add("--left", &sides[0].uris).Add("--right", &sides[1].uris).Add("--on", &on);
  args.Add("--left-on", &columns[0]).Add("--right-on", &columns[1]).Add("--type", &type);
  format.AddTo(&args);
  args.Parse(argv);
  format.Check(args);
  const size_t kind = KindNamed(args, type);
  for (size_t side = 0; side < 2; ++side) {
    sides[side].name = kSides[side];
    const std::string option = std::string("--") + kSides[side];
    if (sides[side].uris.empty()) args.Refuse("give the " + option.substr(2) + " CSV input: " + option + " URI");
    if (columns[side].empty()) columns[side] = on;
    if (columns[side].empty()) args.Refuse("give the column to join on: --on COLUMN, or " + option + "-on");
    sides[side].columns = {columns[side]};
  }
  auto& found = FindColumns("join", format, {sides[0], sides[1]}, &plan);
  JobPlan::Stage* rows[2];
  for (size_t side = 0; side < 2; ++side) {
    rows[side] = &plan.Map(kSides[side], "join.rows")
                      .Configure(RowsConfig("join", format, sides[side]))
                      .ReadUris(sides[side].uris, {.format = "csv"})
                      .Read(Edge::kBroadcast, found)
                      .Shuffle();
  }
  plan.Join("join", "join.join")
      .Configure(Config().Set("kind", kind).Set("separator", format.separator))
      .Group(*rows[0])
      .Group(*rows[1])
      .Read(Edge::kBroadcast, found)
      .WriteFiles();
}

}  // namespace

void AddJoin(Library& library) {
  library.Add<ReadRows>("join.rows", kPure)
      .Add<JoinRows>("join.join", kPure)
      .AddJob<PlanJoin>("join",
                    "join two CSV inputs whose first lines name the columns\n"
                    "  --left URI             the left input, the smaller one if there is a choice\n"
                    "  --right URI            the right input\n"
                    "  --on COLUMN            the column that both have\n"
                    "  --left-on COLUMN, --right-on COLUMN   where the names differ\n"
                    "  --type TYPE            inner (the default), left, right, full; semi: left rows with a partner,\n"
                    "                         anti: those without\n"
                    "  --separator C          between fields (default ','; \\t for a tab)\n"
                    "  --no-header            the first lines are rows; columns are named 1, 2, 3, ...");
}

}  // namespace mr::builtin
