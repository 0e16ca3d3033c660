#include "jobs/builtin/join_broadcast.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "jobs/builtin/join_output.h"

namespace mr::builtin {
namespace {

// Tags of keys that the small side's tasks emit: followed by the row's column, or by the name of a side.
constexpr char kRowTag = 'r', kColumnsTag = 'c';

// Emits ("r" column, ",field,field..." of the others) for each row, and the columns found of both sides. A stage has
// only one side input, so both are sent by it.
class SmallRows : public RowMapper<std::string, std::string> {
 public:
  void Open() {
    RowMapper::Open();
    keys_only_ = context().config().Bool("keys_only");
  }
  void Side(std::string_view side, std::string_view found) {
    RowMapper::Side(side, found);
    columns_.emplace_back(kColumnsTag + std::string(side), found);
  }
  void Map(const Block& block, Out& out) {
    ForEachRow(block, [&](const CsvRow& row) {
      key_.assign(1, kRowTag).append(row[column(0)]);
      out.EmitRaw(key_, keys_only_ ? std::string_view() : fields_.Of(row, column(0), dialect()));
    });
  }
  void End(Out& out) {
    for (const auto& [key, found] : columns_) out.EmitRaw(key, found);
  }

 private:
  bool keys_only_ = false;
  std::string key_;
  OtherFields fields_;
  std::vector<std::pair<std::string, std::string>> columns_;
};

// Joins rows of the large side with a table of the small one. If the table outgrows its memory, which may happen with
// estimated sizes, both sides are written to files by hash and joined part by part at the end.
class ProbeRows : public RowMapper<Text, Text> {
 public:
  void Open() {
    RowMapper::Open();
    const Config config = context().config();
    kind_ = static_cast<JoinKind>(config.Int("kind"));
    small_ = static_cast<size_t>(config.Int("small"));
    memory_ = static_cast<size_t>(config.Int("left_bytes"));
    if (const uint64_t limit = context().memory_limit(); limit != 0)
      memory_ = std::min<size_t>(memory_, limit / kRowsPart);
    output_ = JoinOutput(config);
    partner_lines_ = kind_ != JoinKind::kSemi && kind_ != JoinKind::kAnti;
    alone_lines_ = kind_ != JoinKind::kSemi && kind_ != JoinKind::kInner;
  }

  void Side(std::string_view key, std::string_view value) {
    const char tag = key.front();
    key.remove_prefix(1);
    if (tag == kColumnsTag) {
      RowMapper::Side(key, value);
      if (key != kJoinSides[small_]) return;
      small_columns_ = DecodeColumns(value);
      nothing_ = output_.Missing(small_columns_.columns.size() - 1);
      return;
    }
    if (output_.IsNull(key)) return;  // the rows of the small side without partners are not written
    const uint64_t hash = HashBytes(key);
    if (held_ != nullptr) return held_->Add(hash, key, value);
    if (!partner_lines_ && table_.Find(hash, key) != RowTable::kNone) return;
    table_.AddCopy(hash, key, value);
    if (table_.bytes() > memory_ / 2) GiveUpTable();
  }

  void Map(const Block& block, Out& out) {
    EmitHeader(out);
    ForEachRow(block, [&](const CsvRow& row) {
      const std::string_view key = row[column(0)];
      const uint64_t hash = HashBytes(key);
      if (held_ != nullptr) return waiting_->Add(hash, key, fields_.Of(row, column(0), dialect()));
      const uint32_t first = table_.Find(hash, key);
      if (first == RowTable::kNone ? alone_lines_ : kind_ != JoinKind::kAnti) {
        Lines(first, key, fields_.Of(row, column(0), dialect()), false, true, out);
      }
    });
  }

  void End(Out& out) {
    EmitHeader(out);
    if (held_ == nullptr) return;
    for (size_t part = 0; part < RowFiles::kFiles; ++part) {
      JoinPart(
          held_.get(), waiting_.get(), part, memory_ / 4, &table_,
          [&](std::string_view key, std::string_view rest, bool before, bool last) {
            const uint32_t first = table_.Find(HashBytes(key), key);
            Lines(first, key, rest, before, last, out);
            return before || first != RowTable::kNone;
          },
          [] {});
    }
    if (held_->written() || waiting_->written()) ++counter("joined by way of files");
  }

 private:
  void EmitHeader(Out& out) {
    if (std::exchange(begun_, true)) return;
    output_.SetSides(kind_, small_ == 0 ? small_columns_ : found(), small_ == 0 ? found() : small_columns_, context());
    output_.Header(out);
  }
  void GiveUpTable() {
    held_ = std::make_unique<RowFiles>(memory_ / 8);
    waiting_ = std::make_unique<RowFiles>(memory_ / 8);
    for (uint32_t row = 0; row < table_.size(); ++row)
      held_->Add(HashBytes(table_.key(row)), table_.key(row), table_.rest(row));
    table_ = RowTable();
  }

  // Emits the lines of a row of the large side. first: its first partner in the table. before: it had partners in
  // earlier tables. last: this is the last table.
  void Lines(uint32_t first, std::string_view key, std::string_view rest, bool before, bool last, Out& out) {
    if (first != RowTable::kNone) {
      if (kind_ == JoinKind::kSemi && !before) output_.Write(key, rest, {}, context(), out);
      if (!partner_lines_) return;
      for (uint32_t row = first; row != RowTable::kNone; row = table_.next(row)) {
        output_.Write(key, small_ == 0 ? table_.rest(row) : rest, small_ == 0 ? rest : table_.rest(row), context(),
                      out);
      }
    } else if (alone_lines_ && last && !before) {
      const std::string_view nothing = partner_lines_ ? std::string_view(nothing_) : std::string_view();
      output_.Write(key, small_ == 0 ? nothing : rest, small_ == 0 ? rest : nothing, context(), out);
    }
  }

  JoinKind kind_ = JoinKind::kInner;
  size_t small_ = 0;           // index in kJoinSides
  bool partner_lines_ = true;  // a line per partner
  bool alone_lines_ = false;   // a line for rows without partners
  size_t memory_ = 0;
  std::string nothing_;  // separators of a missing row of the small side
  ColumnsFound small_columns_;
  JoinOutput output_;
  bool begun_ = false;
  OtherFields fields_;
  RowTable table_;
  std::unique_ptr<RowFiles> held_, waiting_;  // the small and the large side, if the table was given up
};

// Formats a size as mrctl does.
std::string SizeText(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  int unit = -1;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  char text[32];
  const bool round = value >= 10 || value == static_cast<double>(static_cast<uint64_t>(value));
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  std::snprintf(text, sizeof text, "%.*f %s", round ? 0 : 1, value, kUnits[unit]);
  return text;
}

struct Limit {
  uint64_t bytes;
  std::string of;  // the reason of the limit, or ""
};
Limit LimitOf(size_t side, const std::array<std::optional<uint64_t>, 2>& bytes, const BroadcastLimits& limits) {
  Limit limit{limits.most.value_or(kBroadcastBytes), limits.most ? " of --broadcast-bytes" : ""};
  const auto lower = [&limit](uint64_t to, const std::string& of) {
    if (to < limit.bytes) limit = {to, of};
  };
  lower(limits.left_bytes / kTableGrowth, " by --left-bytes");
  if (limits.memory_bytes != 0) lower(limits.memory_bytes / kRowsPart / kTableGrowth, " by --memory");
  if (const auto& other = bytes[1 - side]; other && !limits.most) {
    const uint64_t part = *other / kBroadcastPart;
    const std::string of = ", an eighth of the " + std::string(kJoinSides[1 - side]) + " side";
    lower(std::max(kAlwaysBroadcast, part), part < kAlwaysBroadcast ? "" : of);
  }
  return limit;
}

}  // namespace

bool MayBeWhole(JoinKind kind, size_t side) {
  if (kind == JoinKind::kInner) return true;
  if (side == 0) return kind == JoinKind::kRight;
  return kind == JoinKind::kLeft || kind == JoinKind::kSemi || kind == JoinKind::kAnti;
}

bool MayBroadcast(JoinKind kind, const BroadcastLimits& limits) { return kind != JoinKind::kFull && limits.most != 0u; }

BroadcastChoice ChooseBroadcast(JoinKind kind, const std::array<std::optional<uint64_t>, 2>& bytes,
                                const BroadcastLimits& limits) {
  if (kind == JoinKind::kFull) return {{}, "--type full: both sides are shuffled"};
  if (limits.most == 0u) return {{}, "--broadcast-bytes 0: both sides are shuffled"};
  BroadcastChoice choice;
  std::string against;
  for (const size_t side : {1, 0}) {
    if (!MayBeWhole(kind, side)) continue;
    const std::string name = std::string(kJoinSides[side]) + " side ";
    const Limit limit = LimitOf(side, bytes, limits);
    if (bytes[side] && *bytes[side] <= limit.bytes) {
      if (choice.side && *bytes[*choice.side] <= *bytes[side]) continue;
      choice = {side, name + SizeText(*bytes[side]) + " <= " + SizeText(limit.bytes) + limit.of +
                          ": broadcast, no shuffle of the " + kJoinSides[1 - side] + " side"};
    } else {
      against += (against.empty() ? "" : ", ") + name +
                 (bytes[side] ? SizeText(*bytes[side]) + " > " + SizeText(limit.bytes) + limit.of : "of unknown size");
    }
  }
  if (!choice.side) choice.why = against + ": both sides are shuffled";
  return choice;
}

void PlanBroadcastJoin(JoinKind kind, size_t small, const TableFormat& format, const std::array<TableSide, 2>& sides,
                       int64_t left_bytes, const JobPlan::Stage& found, JobPlan* plan) {
  const TableSide& large = sides[1 - small];
  const bool keys_only = kind == JoinKind::kSemi || kind == JoinKind::kAnti;
  auto& rows = plan->Map(kJoinSides[small], "join.table")
                   .Configure(RowsConfig("join", format, sides[small]).Set("keys_only", keys_only))
                   .ReadUris(sides[small].uris, format.Files())
                   .Read(Edge::kBroadcast, found)
                   .Shuffle({.sorted = false});
  Config config = RowsConfig("join", format, large);
  config.Set("kind", static_cast<size_t>(kind)).Set("small", small).Set("left_bytes", left_bytes);
  plan->Map("join", "join.lookup")
      .Configure(AddJoinOutput(format, config))
      .ReadUris(large.uris, format.Files())
      .Read(Edge::kBroadcast, rows)
      .WriteFiles(format.OutputFormat());
}

void AddBroadcastJoin(Library& library) {
  library.Add<SmallRows>("join.table", kPure).Add<ProbeRows>("join.lookup", kPure);
}

}  // namespace mr::builtin
