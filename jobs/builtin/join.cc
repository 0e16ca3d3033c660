// join: two CSV inputs with headers, inner join on a named column. Each output line has the column,
// then the other fields of the left row, then those of the right one.
//
// A split knows nothing of its file's header, so the headers travel first:
//   left_header, right_header --many_to_one--> headers --broadcast--> left, right
//   left, right --all_to_all, grouped--> join
#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "jobs/builtin/builtin.h"
#include "paceline/args.h"
#include "paceline/csv.h"
#include "paceline/text.h"

namespace mr::builtin {
namespace {

constexpr const char* kSides[] = {"left", "right"};
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// (file, its first line) of each file.
class ReadHeader : public BlockMapper<std::string, std::string> {
 public:
  void Map(const Block& block, Out& out) {
    if (block.offset != 0) return;
    out.Emit(context().input_file(), block.text.substr(0, block.text.find('\n')));
  }
};

// One task: finds the columns, or says what is wrong before any real work is done. Emits, for each
// side, (index of the column, number of fields).
class CheckHeaders : public RawOperator<std::string, std::tuple<uint32_t, uint32_t>> {
 public:
  void Batch(const mr_batch& in, const BatchView& view, Out&) {
    for (uint32_t i = 0; i < view.size(); ++i) {
      std::string_view line = view.value(i);
      if (line.substr(0, 3) == kByteOrderMark) line.remove_prefix(3);
      Header header{std::string(view.key(i)), {}};
      if (const char* wrong = ParseCsvLine(line, &header.fields)) {
        throw JobError("join: the header of " + header.file + ": " + wrong);
      }
      auto& first = sides_.at(in.input);
      if (!first) {
        first = std::move(header);
      } else if (first->fields != header.fields) {
        throw JobError("join: " + first->file + " and " + header.file +
                       " are read together, but their headers differ");
      }
    }
  }

  void End(Out& out) {
    const Config config = context().config();
    for (size_t side = 0; side < 2; ++side) {
      if (!sides_[side]) {
        throw JobError(std::string("join: the ") + kSides[side] +
                       " input is empty; its first line must name the columns");
      }
      const auto& fields = sides_[side]->fields;
      const std::string& on = config.Text(kSides[side]);
      const auto at = std::find(fields.begin(), fields.end(), on);
      if (at == fields.end()) {
        std::string names;
        for (const auto& name : fields) names += (names.empty() ? "" : ", ") + name;
        throw JobError("join: " + sides_[side]->file + " has no column '" + on + "'" +
                       Suggest(on, fields) + "; its header names: " + names);
      }
      out.Emit(kSides[side], std::tuple(static_cast<uint32_t>(at - fields.begin()),
                                        static_cast<uint32_t>(fields.size())));
    }
  }

 private:
  struct Header {
    std::string file;
    std::vector<std::string> fields;
  };
  std::array<std::optional<Header>, 2> sides_;
};

// (column, ",field,field..." of the others) of each row.
class ReadRows : public BlockMapper<std::string, std::string>,
                 public SideInput<std::string, std::tuple<uint32_t, uint32_t>> {
 public:
  void Open() { side_ = context().config().Text("side"); }
  void Side(std::string_view side, const std::tuple<uint32_t, uint32_t>& column) {
    if (side == side_) std::tie(column_, columns_) = column;
  }
  void Map(const Block& block, Out& out) {
    const char* const begin = block.text.data();
    ForEachLine(block.text, [&](std::string_view line) {
      const uint64_t offset = block.offset + static_cast<uint64_t>(line.data() - begin);
      if (offset == 0 || line.empty() || line == "\r") return;  // header, blank lines
      Row(line, offset, out);
    });
  }

 private:
  void Row(std::string_view line, uint64_t offset, Out& out) {
    if (const char* wrong = ParseCsvLine(line, &fields_)) Refuse(offset, wrong);
    if (fields_.size() != columns_) {
      Refuse(offset, "the row has " + std::to_string(fields_.size()) + " fields, the header has " +
                         std::to_string(columns_));
    }
    rest_.clear();
    for (uint32_t i = 0; i < columns_; ++i) {
      if (i == column_) continue;
      rest_ += ',';
      AppendCsvField(fields_[i], &rest_);
    }
    out.Emit(fields_[column_], rest_);
  }
  [[noreturn]] void Refuse(uint64_t offset, const std::string& what) {
    throw JobError("join: " + context().input_file() + ", byte " + std::to_string(offset) + ": " +
                   what);
  }

  std::string side_, rest_;
  uint32_t column_ = 0, columns_ = 0;
  std::vector<std::string> fields_;
};

class JoinRows : public Joiner<std::string, std::string, std::string, Text, Text> {
 public:
  void Join(std::string_view key, const std::vector<std::string>& left, Values<std::string>& right,
            Out& out) {
    if (left.empty()) return;
    key_.clear();
    AppendCsvField(key, &key_);
    for (std::string_view row : right) {
      for (const std::string& other : left) {
        line_.assign(key_).append(other).append(row);
        out.Line(line_);
      }
    }
  }

 private:
  std::string key_, line_;
};

void PlanJoin(const std::vector<std::string>& argv, JobPlan& plan) {
  std::vector<std::string> uris[2];
  std::string on, columns[2];
  Args args("join");
  args.Add("--left", &uris[0]).Add("--right", &uris[1]).Add("--on", &on);
  args.Add("--left-on", &columns[0]).Add("--right-on", &columns[1]).Parse(argv);
  for (int side = 0; side < 2; ++side) {
    const std::string option = std::string("--") + kSides[side];
    if (uris[side].empty()) args.Refuse("give the " + option.substr(2) + " CSV input: " + option + " URI");
    if (columns[side].empty()) columns[side] = on;
    if (columns[side].empty()) args.Refuse("give the column to join on: --on COLUMN, or " + option + "-on");
  }
  JobPlan::Stage* headers[2];
  for (int side = 0; side < 2; ++side) {
    headers[side] = &plan.Map(std::string(kSides[side]) + "_header", "join.header")
                         .ReadUris(uris[side], {.sample_bytes = 1})
                         .Shuffle({.sorted = false});
  }
  auto& check = plan.Map("headers", "join.headers")
                    .Tasks(1)
                    .Configure(Config().Set("left", columns[0]).Set("right", columns[1]))
                    .Read(Edge::kManyToOne, *headers[0])
                    .Read(Edge::kManyToOne, *headers[1])
                    .Shuffle({.sorted = false});
  JobPlan::Stage* rows[2];
  for (int side = 0; side < 2; ++side) {
    rows[side] = &plan.Map(kSides[side], "join.rows")
                      .Configure(Config().Set("side", kSides[side]))
                      .ReadUris(uris[side])
                      .Read(Edge::kBroadcast, check)
                      .Shuffle();
  }
  plan.Join("join", "join.join").Group(*rows[0]).Group(*rows[1]).WriteFiles();
}

}  // namespace

void AddJoin(Library& library) {
  library.Add<ReadHeader>("join.header", kPure)
      .Add<CheckHeaders>("join.headers", kPure)
      .Add<ReadRows>("join.rows", kPure)
      .Add<JoinRows>("join.join", kPure)
      .AddJob<PlanJoin>("join",
                    "inner join of two CSV inputs whose first lines name the columns\n"
                    "  --left URI             the left input, the smaller one if there is a choice\n"
                    "  --right URI            the right input\n"
                    "  --on COLUMN            the column that both have\n"
                    "  --left-on COLUMN, --right-on COLUMN   where the names differ");
}

}  // namespace mr::builtin
