// join: joins two CSV inputs on a column, with SQL's types: inner, left, right, full, semi, anti. An output line has
// the left row, and the right row without the column of the join; semi and anti output only the left row.
// Fields of a missing row are empty. A small side is sent to all tasks (join_broadcast.h). This file joins two large
// sides.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "jobs/builtin/join_broadcast.h"
#include "jobs/builtin/join_output.h"
#include "jobs/builtin/join_rows.h"
#include "jobs/builtin/table.h"

namespace mr::builtin {
namespace {

constexpr std::pair<const char*, JoinKind> kKinds[] = {{"inner", JoinKind::kInner}, {"left", JoinKind::kLeft},
                                                       {"right", JoinKind::kRight}, {"full", JoinKind::kFull},
                                                       {"semi", JoinKind::kSemi},   {"anti", JoinKind::kAnti}};
// Bytes of both sides' rows per task (guess: a table of a 64th of them, several times as large, fits into a core's
// cache).
constexpr uint64_t kTaskBytes = 16u << 20;

// Emits (column, ",field,field..." of the others) for each row.
class ReadRows : public RowMapper<std::string, std::string> {
 public:
  void Map(const Block& block, Out& out) {
    ForEachRow(block, [&](const CsvRow& row) { out.EmitRaw(row[column(0)], fields_.Of(row, column(0), dialect())); });
  }

 private:
  OtherFields fields_;
};

// Joins two shuffled sides. Inputs 0 and 1 are the sides; the last input has the columns. Both sides are first divided
// by hash, so that the table of a part's left rows fits into the cache; then the parts are joined in turn (a radix
// join). Sides that exceed the memory are kept in files.
class JoinRows : public RawOperator<Text, Text>, public SideInput<std::string, std::string> {
 public:
  void Open() {
    const Config config = context().config();
    kind_ = kKinds[static_cast<size_t>(config.Int("kind"))].second;
    output_ = JoinOutput(config);
    // A quarter for each side's buffers, which take twice their rows, and half for a table, which may take twice its
    // rows.
    size_t memory = static_cast<size_t>(config.Int("left_bytes"));
    if (const uint64_t limit = context().memory_limit(); limit != 0)
      memory = std::min<size_t>(memory, limit / kRowsPart);
    for (auto& side : sides_) side = std::make_unique<RowFiles>(memory / 8);
    most_bytes_ = memory / 4;
  }
  void Side(std::string_view side, std::string_view found) {
    const size_t index = side == kJoinSides[0] ? 0 : 1;
    columns_[index] = DecodeColumns(found);
    nothing_[index] = output_.Missing(columns_[index].columns.size() - 1);
  }

  void Batch(const mr_batch& in, const BatchView& view, Out&) {
    RowFiles& side = *sides_[in.input];
    for (uint32_t i = 0; i < view.size(); ++i) side.Add(HashBytes(view.key(i)), view.key(i), view.value(i));
    context().Taken(view.key_bytes() + view.value_bytes());
  }

  void End(Out& out) {
    output_.SetSides(kind_, columns_[0], columns_[1], context());
    output_.Header(out);
    for (size_t part = 0; part < RowFiles::kFiles; ++part) {
      JoinPart(
          sides_[0].get(), sides_[1].get(), part, most_bytes_, &table_,
          [&](std::string_view key, std::string_view rest, bool before, bool last) {
            const bool found = Probe(HashBytes(key), key, rest, out) || before;
            if (last && !found) RightAlone(key, rest, out);
            return found;
          },
          [&] { LeftAlone(out); });
    }
    if (sides_[0]->written() || sides_[1]->written()) ++counter("joined by way of files");
  }

 private:
  // Emits a right row with its partners. Returns false if it has none.
  bool Probe(uint64_t hash, std::string_view key, std::string_view rest, Out& out) {
    const uint32_t first = output_.IsNull(key) ? RowTable::kNone : table_.Find(hash, key);
    if (first == RowTable::kNone) return false;
    if (kind_ != JoinKind::kInner && kind_ != JoinKind::kRight) table_.Mark(first);
    if (kind_ == JoinKind::kSemi || kind_ == JoinKind::kAnti) return true;
    for (uint32_t row = first; row != RowTable::kNone; row = table_.next(row))
      output_.Write(key, table_.rest(row), rest, context(), out);
    return true;
  }
  void RightAlone(std::string_view key, std::string_view rest, Out& out) {
    if (kind_ == JoinKind::kRight || kind_ == JoinKind::kFull) output_.Write(key, nothing_[0], rest, context(), out);
  }

  // Emits left rows by whether they had a partner, after all right rows have been seen.
  void LeftAlone(Out& out) {
    if (kind_ == JoinKind::kInner || kind_ == JoinKind::kRight) return;
    for (uint32_t row = 0; row < table_.size(); ++row) {
      if (table_.marked(row) != (kind_ == JoinKind::kSemi)) continue;
      const bool alone = kind_ == JoinKind::kSemi || kind_ == JoinKind::kAnti;
      output_.Write(table_.key(row), table_.rest(row), alone ? std::string_view() : nothing_[1], context(), out);
    }
  }

  JoinKind kind_ = JoinKind::kInner;
  JoinOutput output_;
  size_t most_bytes_ = 0;                // of a table
  std::array<ColumnsFound, 2> columns_;  // of the sides
  std::array<std::string, 2> nothing_;   // separators of a missing row
  RowTable table_;
  std::array<std::unique_ptr<RowFiles>, 2> sides_;
};

size_t KindNamed(const Args& args, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, kind] : kKinds) {
    if (name == known) return static_cast<size_t>(kind);
    names.push_back(known);
  }
  args.Refuse("--type '" + name + "' is unknown" + Suggest(name, names) +
              "; use inner, left, right, full, semi or anti");
}

void PlanJoin(const std::vector<std::string>& argv, JobPlan& plan) {
  TableFormat format;
  std::array<TableSide, 2> sides;
  std::string on, columns[2], type = "inner";
  Args args("join");
  args.Add("--left", &sides[0].uris).Add("--right", &sides[1].uris).Add("--on", &on);
  args.Add("--left-on", &columns[0]).Add("--right-on", &columns[1]).Add("--type", &type);
  // Memory for the rows of a task (guess: half of a slot's memory on a small machine).
  int64_t left_bytes = 512 << 20, broadcast_bytes = -1;
  args.AddBytes("--left-bytes", &left_bytes, 1, int64_t{1} << 40);
  args.AddBytes("--broadcast-bytes", &broadcast_bytes, 0, int64_t{1} << 40);
  format.AddTo(&args);
  args.Parse(argv);
  format.Check(args);
  const size_t kind = KindNamed(args, type);
  for (size_t side = 0; side < 2; ++side) {
    sides[side].name = kJoinSides[side];
    const std::string option = std::string("--") + kJoinSides[side];
    if (sides[side].uris.empty()) args.Refuse("give the " + option.substr(2) + " CSV input: " + option + " URI");
    if (columns[side].empty()) columns[side] = on;
    if (columns[side].empty()) args.Refuse("give the column to join on: --on COLUMN, or " + option + "-on");
    sides[side].columns = {columns[side]};
    sides[side].transformed = false;
  }
  const JoinedTables joined = JoinedTablesOf(kKinds[kind].second, columns[1]);
  auto& found = FindColumns("join", format, {sides[0], sides[1]}, &plan, joined);
  BroadcastLimits limits{{}, static_cast<uint64_t>(left_bytes), plan.memory_bytes()};
  if (broadcast_bytes >= 0) limits.most = static_cast<uint64_t>(broadcast_bytes);
  std::array<std::optional<uint64_t>, 2> bytes;
  if (MayBroadcast(kKinds[kind].second, limits)) {
    for (size_t side = 0; side < 2; ++side) bytes[side] = plan.InputBytes(sides[side].uris);
  }
  const BroadcastChoice choice = ChooseBroadcast(kKinds[kind].second, bytes, limits);
  plan.Note(choice.why);
  if (choice.side) {
    return PlanBroadcastJoin(kKinds[kind].second, *choice.side, format, sides, left_bytes, found, &plan);
  }
  JobPlan::Stage* rows[2];
  for (size_t side = 0; side < 2; ++side) {
    rows[side] = &plan.Map(kJoinSides[side], "join.read")
                      .Configure(RowsConfig("join", format, sides[side]))
                      .ReadUris(sides[side].uris, format.Files())
                      .Read(Edge::kBroadcast, found)
                      .Shuffle({.sorted = false});
  }
  JobPlan::Stage& join = plan.Map("join", "join.match").TaskBytes(kTaskBytes);
  Config config;
  join.Configure(AddJoinOutput(format, config.Set("kind", kind).Set("left_bytes", left_bytes)));
  for (size_t side = 0; side < 2; ++side) {
    // Tasks may share the rows of one key, each with all rows of the other side.
    if (MayBeWhole(kKinds[kind].second, 1 - side)) {
      join.ReadInParts(*rows[side]);
    } else {
      join.Read(Edge::kAllToAll, *rows[side]);
    }
  }
  join.Read(Edge::kBroadcast, found).WriteFiles(format.OutputFormat());
}

}  // namespace

void AddJoin(Library& library) {
  AddBroadcastJoin(library);
  library.Add<ReadRows>("join.read", kPure)
      .Add<JoinRows>("join.match", kPure)
      .AddJob<PlanJoin>(
          "join",
          "join two CSV inputs on a column; their first lines name the columns\n"
          "  --left URI             left input\n"
          "  --right URI            right input\n"
          "  --on COLUMN            column that both inputs have\n"
          "  --left-on COLUMN, --right-on COLUMN   columns with different names\n"
          "  --type TYPE            inner (the default), left, right, full, semi (left rows with a partner) or anti\n"
          "                         (left rows without one). A missing key (an empty field, or --null) has no "
          "partner,\n"
          "                         as in SQL\n"
          "  --broadcast-bytes SIZE largest side that is sent to all tasks (.gz and .zst count four times); the other\n"
          "                         side is then not shuffled, and submit's --reduces has no effect. 0: never.\n"
          "                         Never used with --type full, or where the type outputs that side's rows without\n"
          "                         a partner. `mrctl explain` shows the choice\n"
          "                         (default 32m, and above 2m at most an eighth of the other side)\n"
          "  --left-bytes SIZE      memory for the rows of a task; beyond it they are joined through files\n"
          "                         (default 512m)\n" MR_TABLE_FORMAT_HELP(
              "lines are rows",
              "those of the left side, then those of the right side without the column of the join\n"
              "(not for semi and anti). A right column whose name is taken gets the prefix right_. --where and\n"
              "--select apply to the joined rows, with these names"));
}

}  // namespace mr::builtin
