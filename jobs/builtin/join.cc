// join: two CSV inputs on a column, as SQL has it: inner, left, right, full, semi, anti. Each output line has the
// column, then the other fields of the left row, then those of the right one; semi and anti have the left row's alone.
// Where a side has no row, its fields are empty.
#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "jobs/builtin/row_files.h"
#include "jobs/builtin/row_table.h"
#include "jobs/builtin/table.h"

namespace mr::builtin {
namespace {

enum class JoinKind { kInner, kLeft, kRight, kFull, kSemi, kAnti };
constexpr std::pair<const char*, JoinKind> kKinds[] = {{"inner", JoinKind::kInner}, {"left", JoinKind::kLeft},
                                                       {"right", JoinKind::kRight}, {"full", JoinKind::kFull},
                                                       {"semi", JoinKind::kSemi},   {"anti", JoinKind::kAnti}};
// Rows of both sides for a task (measured: the table of the left ones, several times as large, stays in the cache).
constexpr uint64_t kTaskBytes = 8u << 20;

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

// Input 0 is the left side, all of which comes first; input 1 the right one; the last the columns. The left side is kept
// in memory by key, or, where it is too large, both sides are dealt out to files first, and each pair of them is joined
// in its turn.
class JoinRows : public RawOperator<Text, Text>, public SideInput<std::string, std::string> {
 public:
  void Open() {
    const Config config = context().config();
    kind_ = kKinds[static_cast<size_t>(config.Int("kind"))].second;
    separator_ = config.Text("separator")[0];
    most_bytes_ = static_cast<size_t>(config.Int("left_bytes"));
  }
  void Side(std::string_view side, std::string_view found) {
    nothing_[side == kSides[0] ? 0 : 1].assign(DecodeColumns(found).names.size() - 1, separator_);
  }

  void Batch(const mr_batch& in, const BatchView& view, Out& out) {
    for (uint32_t from = 0; from < view.size(); from += kAhead) {
      const uint32_t to = std::min(from + kAhead, view.size());
      uint64_t hashes[kAhead];
      for (uint32_t i = from; i < to; ++i) {
        hashes[i - from] = HashBytes(view.key(i));
        table_.Prefetch(hashes[i - from]);
      }
      if (in.input == 1 && !spilled_) Fetch({hashes, to - from});
      for (uint32_t i = from; i < to; ++i) {
        const std::string_view key = view.key(i), rest = view.value(i);
        if (in.input == 0) {
          Keep(hashes[i - from], key, rest);
        } else if (spilled_) {
          right_->Add(hashes[i - from], key, rest);
        } else {
          if (!Probe(hashes[i - from], key, rest, out)) RightAlone(key, rest, out);
        }
      }
    }
    context().Taken(view.key_bytes() + view.value_bytes());
  }

  void End(Out& out) {
    if (!spilled_) return LeftAlone(out);
    for (size_t file = 0; file < RowFiles::kFiles; ++file) JoinFile(file, out);
    ++counter("joined in parts");
  }

 private:
  static constexpr uint32_t kAhead = 32;  // rows whose places in the table are fetched at a time (guess)

  void Fetch(std::span<const uint64_t> hashes) const {
    uint32_t rows[kAhead];
    for (size_t i = 0; i < hashes.size(); ++i) {
      rows[i] = table_.Likely(hashes[i]);
      if (rows[i] != RowTable::kNone) table_.PrefetchRow(rows[i]);
    }
    for (size_t i = 0; i < hashes.size(); ++i) {
      if (rows[i] != RowTable::kNone) table_.PrefetchKey(rows[i]);
    }
  }

  void Keep(uint64_t hash, std::string_view key, std::string_view rest) {
    if (spilled_) return left_->Add(hash, key, rest);
    table_.Add(hash, key, rest);
    if (table_.bytes() <= most_bytes_) return;
    spilled_ = true;
    left_ = std::make_unique<RowFiles>();
    right_ = std::make_unique<RowFiles>();
    for (uint32_t row = 0; row < table_.size(); ++row) left_->Add(HashBytes(table_.key(row)), table_.key(row), table_.rest(row));
    table_.Clear();
  }

  // The left rows of a file that are too many, as where one key has them all, come in turns, each of which reads the
  // right rows anew.
  void JoinFile(size_t file, Out& out) {
    std::string_view key, rest;
    std::vector<bool> matched;  // of right rows, in turns before the last
    RowFiles::Reader left(left_.get(), file);
    for (bool last = false; !last;) {
      do {
        last = !left.Next(&key, &rest);
        if (!last) table_.Add(HashBytes(key), key, rest);
      } while (!last && table_.bytes() <= most_bytes_);
      RowFiles::Reader right(right_.get(), file);
      for (size_t row = 0; right.Next(&key, &rest); ++row) {
        if (!last && row == matched.size()) matched.push_back(false);
        const bool before = row < matched.size() && matched[row];
        const bool found = Probe(HashBytes(key), key, rest, out) || before;
        if (!last) matched[row] = found;
        if (last && !found) RightAlone(key, rest, out);
      }
      LeftAlone(out);
      table_.Clear();
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
    line_.clear();
    AppendCsvField(key, &line_, separator_);
    line_.append(left).append(right);
    out.Line(line_);
  }

  JoinKind kind_ = JoinKind::kInner;
  char separator_ = ',';
  size_t most_bytes_ = 0;
  std::array<std::string, 2> nothing_;  // the separators of a row that is not there
  std::string line_;
  RowTable table_;
  bool spilled_ = false;
  std::unique_ptr<RowFiles> left_, right_;
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
  // Memory for the left side of a task (guess: half of what a slot has on a small machine).
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
  plan.Map("join", "join.join")
      .TaskBytes(kTaskBytes)
      .Configure(Config().Set("kind", kind).Set("separator", format.separator).Set("left_bytes", left_bytes))
      .Read(Edge::kAllToAll, *rows[0])
      .Read(Edge::kAllToAll, *rows[1])
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
                    "  --left-bytes N         memory for the left rows of a task; more of them are joined by way of files\n"
                    "                         (default 536870912)\n"
                    "  --separator C          between fields (default ','; \\t for a tab)\n"
                    "  --no-header            the first lines are rows; columns are named 1, 2, 3, ...");
}

}  // namespace mr::builtin
