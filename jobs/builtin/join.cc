// join: two CSV inputs on a column, as SQL has it: inner, left, right, full, semi, anti. Each output line has the
// column, then the other fields of the left row, then those of the right one; semi and anti have the left row's alone.
// Where a side has no row, its fields are empty.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "jobs/builtin/row_files.h"
#include "jobs/builtin/row_table.h"
#include "jobs/builtin/table.h"

namespace mr::builtin {
namespace {

enum class JoinKind { kInner, kLeft, kRight, kFull, kSemi, kAnti };
constexpr std::pair<const char*, JoinKind> kKinds[] = {{"inner", JoinKind::kInner}, {"left", JoinKind::kLeft},
                                                       {"right", JoinKind::kRight}, {"full", JoinKind::kFull},
                                                       {"semi", JoinKind::kSemi},   {"anti", JoinKind::kAnti}};
// Rows of both sides for a task (guess: a table of a 64th of them, several times as large, fits in a core's cache).
constexpr uint64_t kTaskBytes = 16u << 20;

constexpr const char* kSides[] = {"left", "right"};

// (column, ",field,field..." of the others) of each row.
class ReadRows : public RowMapper<std::string, std::string> {
 public:
  void Map(const Block& block, Out& out) {
    ForEachRow(block, [&](const CsvRow& row) {
      const uint32_t on = column(0);
      rest_.Clear();
      for (uint32_t i = 0; i < row.size(); ++i) {
        if (i == on) continue;
        std::string_view field = row[i];
        if (NeedsQuotes(field, separator())) {
          quoted_.clear();
          AppendCsvField(field, &quoted_, separator());
          field = quoted_;
        }
        char* to = rest_.Extend(1 + field.size());
        *to = separator();
        CopyShort(to + 1, field.data(), field.size());
      }
      out.EmitRaw(row[on], rest_.view());
    });
  }

 private:
  std::string quoted_;
  GrowingBytes rest_;
};

// Inputs 0 and 1 are the sides, the last the columns. Both sides are dealt out by hash first, so that the left rows of
// each part make a table that fits in the cache; then part after part is joined (a radix join). Sides that do not fit in
// memory wait in files.
class JoinRows : public RawOperator<Text, Text>, public SideInput<std::string, std::string> {
 public:
  void Open() {
    const Config config = context().config();
    kind_ = kKinds[static_cast<size_t>(config.Int("kind"))].second;
    separator_ = config.Text("separator")[0];
    // A quarter for each side's buffers, which are twice what they hold, and half for a table, which may be so, too.
    size_t memory = static_cast<size_t>(config.Int("left_bytes"));
    if (const uint64_t limit = context().memory_limit(); limit != 0) memory = std::min<size_t>(memory, limit / 3);
    for (auto& side : sides_) side = std::make_unique<RowFiles>(memory / 8);
    most_bytes_ = memory / 4;
  }
  void Side(std::string_view side, std::string_view found) {
    nothing_[side == kSides[0] ? 0 : 1].assign(DecodeColumns(found).names.size() - 1, separator_);
  }

  void Batch(const mr_batch& in, const BatchView& view, Out&) {
    RowFiles& side = *sides_[in.input];
    for (uint32_t i = 0; i < view.size(); ++i) side.Add(HashBytes(view.key(i)), view.key(i), view.value(i));
    context().Taken(view.key_bytes() + view.value_bytes());
  }

  void End(Out& out) {
    for (size_t file = 0; file < RowFiles::kFiles; ++file) JoinFile(file, out);
    if (sides_[0]->written() || sides_[1]->written()) ++counter("joined by way of files");
  }

 private:
  // Where the left rows of a part are too many for the memory, as where one key has them all, they come in turns, each
  // of which reads the right rows anew.
  void JoinFile(size_t file, Out& out) {
    std::string_view key, rest;
    std::vector<bool> matched;  // of right rows, in turns before the last
    RowFiles::Reader left(sides_[0].get(), file);
    for (bool last = false; !last;) {
      table_.Clear(std::min(sides_[0]->rows(file), most_bytes_ / 64));
      do {
        last = !left.Next(&key, &rest);
        if (last) break;
        if (sides_[0]->written()) {
          table_.AddCopy(HashBytes(key), key, rest);
        } else {
          table_.Add(HashBytes(key), key.data(), key.size(), rest.size());
        }
      } while (table_.bytes() <= most_bytes_);
      RowFiles::Reader right(sides_[1].get(), file);
      for (size_t row = 0; right.Next(&key, &rest); ++row) {
        if (!last && row == matched.size()) matched.push_back(false);
        const bool before = row < matched.size() && matched[row];
        const bool found = Probe(HashBytes(key), key, rest, out) || before;
        if (!last) matched[row] = found;
        if (last && !found) RightAlone(key, rest, out);
      }
      LeftAlone(out);
    }
  }

  // A right row with its partners; false where there is none.
  bool Probe(uint64_t hash, std::string_view key, std::string_view rest, Out& out) {
    const uint32_t first = table_.Find(hash, key);
    if (first == RowTable::kNone) return false;
    if (kind_ != JoinKind::kInner && kind_ != JoinKind::kRight) table_.Mark(first);
    if (kind_ == JoinKind::kSemi || kind_ == JoinKind::kAnti) return true;
    for (uint32_t row = first; row != RowTable::kNone; row = table_.next(row)) Line(key, table_.rest(row), rest, out);
    return true;
  }
  void RightAlone(std::string_view key, std::string_view rest, Out& out) {
    if (kind_ == JoinKind::kRight || kind_ == JoinKind::kFull) Line(key, nothing_[0], rest, out);
  }

  // What is known of left rows when all right ones have been seen.
  void LeftAlone(Out& out) {
    if (kind_ == JoinKind::kInner || kind_ == JoinKind::kRight) return;
    for (uint32_t row = 0; row < table_.size(); ++row) {
      if (table_.marked(row) != (kind_ == JoinKind::kSemi)) continue;
      const bool alone = kind_ == JoinKind::kSemi || kind_ == JoinKind::kAnti;
      Line(table_.key(row), table_.rest(row), alone ? std::string_view() : nothing_[1], out);
    }
  }

  void Line(std::string_view key, std::string_view left, std::string_view right, Out& out) {
    if (NeedsQuotes(key, separator_)) {
      quoted_.clear();
      AppendCsvField(key, &quoted_, separator_);
      key = quoted_;
    }
    line_.Clear();
    char* to = line_.Extend(key.size() + left.size() + right.size());
    CopyShort(to, key.data(), key.size());
    CopyShort(to + key.size(), left.data(), left.size());
    CopyShort(to + key.size() + left.size(), right.data(), right.size());
    out.Line(line_.view());
  }

  JoinKind kind_ = JoinKind::kInner;
  char separator_ = ',';
  size_t most_bytes_ = 0;  // of a table
  std::array<std::string, 2> nothing_;  // the separators of a row that is not there
  std::string quoted_;
  GrowingBytes line_;
  RowTable table_;
  std::array<std::unique_ptr<RowFiles>, 2> sides_;
};

// Whether tasks may share the rows of a key on that side, each with all rows of the other one: what becomes of a row
// must not depend on others of its side, and nothing be said of the other side's rows without a partner.
bool InParts(JoinKind kind, size_t side) {
  if (kind == JoinKind::kInner) return true;
  return side == 0 ? kind != JoinKind::kRight && kind != JoinKind::kFull : kind == JoinKind::kRight;
}

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
  // Memory for the rows of a task (guess: half of what a slot has on a small machine).
  int64_t left_bytes = 512 << 20;
  args.Add("--left-bytes", &left_bytes, 1, int64_t{1} << 40);
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
                      .Shuffle({.sorted = false});
  }
  JobPlan::Stage& join = plan.Map("join", "join.join").TaskBytes(kTaskBytes);
  join.Configure(Config().Set("kind", kind).Set("separator", format.separator).Set("left_bytes", left_bytes));
  for (size_t side = 0; side < 2; ++side) {
    if (InParts(kKinds[kind].second, side)) {
      join.ReadInParts(*rows[side]);
    } else {
      join.Read(Edge::kAllToAll, *rows[side]);
    }
  }
  join.Read(Edge::kBroadcast, found).WriteFiles();
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
                    "  --left-bytes N         memory for the rows of a task; more of them are joined by way of files\n"
                    "                         (default 536870912)\n"
                    "  --separator C          between fields (default ','; \\t for a tab)\n"
                    "  --no-header            the first lines are rows; columns are named 1, 2, 3, ...");
}

}  // namespace mr::builtin
