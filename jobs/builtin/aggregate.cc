// aggregate: groups the rows of CSV inputs by columns and aggregates others: count, sum, min, max, avg, distinct.
// Output rows have the columns of --by, then one column per element of --agg, named like it: sum(amount).
//
// Keys are (group, tag, value). Tag 0 marks aggregated values. Each distinct(...) has one record per value, so that a
// group's different values are reduced one after the other and counted without memory. All records of a group go to one
// partition.
#include <algorithm>
#include <cstring>
#include <optional>

#include "jobs/builtin/decimal.h"
#include "jobs/builtin/group_table.h"
#include "jobs/builtin/table.h"

namespace mr::builtin {
namespace {

enum class Fold { kCount, kSum, kMin, kMax, kAvg, kDistinct };
constexpr std::pair<const char*, Fold> kFolds[] = {{"count", Fold::kCount}, {"sum", Fold::kSum},
                                                   {"min", Fold::kMin},     {"max", Fold::kMax},
                                                   {"avg", Fold::kAvg},     {"distinct", Fold::kDistinct}};

struct Measure {
  Fold fold;
  int column;  // index among the aggregated columns; -1: count of rows
};

// Encodes the measures for the config of a stage: "sum:0 count:-1".
std::string EncodeMeasures(const std::vector<Measure>& measures) {
  std::string text;
  for (const Measure& m : measures) {
    text += static_cast<char>('a' + static_cast<int>(m.fold));
    text += std::to_string(m.column) + " ";
  }
  return text;
}
std::vector<Measure> DecodeMeasures(const std::string& text) {
  std::vector<Measure> measures;
  for (size_t at = 0; at < text.size(); at = text.find(' ', at) + 1) {
    measures.push_back({static_cast<Fold>(text[at] - 'a'), std::atoi(text.c_str() + at + 1)});
  }
  return measures;
}

// ---- The aggregates of a group: one State per measure -----------------------------------------------

struct State {
  uint64_t count = 0;
  Decimal sum;
  bool any = false;
  std::string extreme;  // min, max
};

// Orders numbers by value before all texts, and texts by bytes, so that equal columns have one order.
int CompareValues(std::string_view a, std::string_view b) {
  Decimal x, y;
  const bool is_x = Decimal::Parse(a, &x), is_y = Decimal::Parse(b, &y);
  if (is_x != is_y) return is_x ? -1 : 1;
  const int c = is_x ? x.Compare(y) : 0;
  return c != 0 ? c : a.compare(b);
}

void TakeExtreme(Fold fold, std::string_view value, State* state) {
  const int c = state->any ? CompareValues(value, state->extreme) : 0;
  if (!state->any || (fold == Fold::kMin ? c < 0 : c > 0)) state->extreme.assign(value);
  state->any = true;
}

bool TakesNumbers(Fold fold) { return fold == Fold::kSum || fold == Fold::kAvg; }

// Adds a value. number: the value as a number, if the fold takes numbers.
void Take(Fold fold, std::string_view value, const Decimal& number, State* state) {
  if (TakesNumbers(fold)) state->sum.Add(number);
  if (fold == Fold::kMin || fold == Fold::kMax) TakeExtreme(fold, value, state);
  ++state->count;
}

void Append(Fold fold, const State& state, std::string* out) {
  sdk::AppendVarint(state.count, out);
  if (fold == Fold::kSum || fold == Fold::kAvg) state.sum.Encode(out);
  if (fold == Fold::kMin || fold == Fold::kMax) {
    out->push_back(state.any ? 1 : 0);
    sdk::AppendVarint(state.extreme.size(), out);
    out->append(state.extreme);
  }
}

void Merge(Fold fold, std::string_view* bytes, State* state) {
  state->count += sdk::TakeVarint(bytes);
  if (fold == Fold::kSum || fold == Fold::kAvg) {
    state->sum.Add(Decimal::Decode(sdk::Take(bytes, Decimal::kEncodedBytes, "a sum").data()));
  }
  if (fold == Fold::kMin || fold == Fold::kMax) {
    const bool any = sdk::Take(bytes, 1, "an extreme")[0] != 0;
    const std::string_view extreme = sdk::Take(bytes, sdk::TakeVarint(bytes), "an extreme");
    if (any) TakeExtreme(fold, extreme, state);
  }
}

std::string FoldedText(Fold fold, const State& state) {
  switch (fold) {
    case Fold::kCount:
    case Fold::kDistinct: return std::to_string(state.count);
    case Fold::kSum: return state.sum.Text();
    case Fold::kMin:
    case Fold::kMax: return state.extreme;
    case Fold::kAvg: {
      std::string text;
      if (state.count != 0) AppendText(state.sum.AsDouble() / static_cast<double>(state.count), &text);
      return text;
    }
  }
  return "";
}

// ---- Keys ------------------------------------------------------------------------------------------

// Returns the bytes of the group within a key. Its columns are escaped and terminated like those of tuples (codec.h).
size_t GroupBytes(std::string_view key, size_t columns) {
  std::string_view rest = key;
  for (size_t i = 0; i < columns; ++i) {
    for (size_t zero; (zero = rest.find('\0')) != rest.npos && zero + 1 < rest.size();) {
      const bool end = rest[zero + 1] == '\0';
      rest.remove_prefix(zero + 2);
      if (end) break;
    }
  }
  return key.size() - rest.size();
}

class FoldRows : public RowMapper<std::string, std::string>, public Partitioner<std::string> {
 public:
  void Open() {
    RowMapper::Open();
    const Config config = context().config();
    groups_ = static_cast<size_t>(config.Int("groups"));
    measures_ = DecodeMeasures(config.Text("measures"));
    numbers_.resize(measures_.size());
  }

  void Map(const Block& block, Out& out) {
    ForEachRow(block, [&](const CsvRow& row) {
      ParseNumbers(row);
      bool added = false, grown = false;
      const uint32_t number = table_.Find(GroupOf(row), &added);
      if (added) states_.resize(states_.size() + measures_.size());
      State* states = states_.data() + number * measures_.size();
      for (size_t m = 0; m < measures_.size(); ++m) {
        const Measure& measure = measures_[m];
        const std::string_view value = measure.column < 0 ? std::string_view() : row[ColumnOf(measure)];
        if (measure.column >= 0 && value.empty()) continue;  // an empty field has no value
        if (measure.fold == Fold::kDistinct) {
          AddDistinct(number, m, value, &grown);
          added |= grown;
        } else {
          Take(measure.fold, value, numbers_[m], &states[m]);
        }
      }
      if (added && table_.bytes() + states_.size() * sizeof(State) + distinct_.bytes() > most_bytes_) Flush(out);
    });
  }
  void End(Out& out) { Flush(out); }

  uint32_t Partition(std::string_view key, uint32_t partitions) {
    return PartitionOf(key.substr(0, GroupBytes(key, groups_)), partitions);
  }

 private:
  // Memory for groups before they are emitted (guess: a third of the memory of a task's sort).
  const size_t most_bytes_ = TableBytes(24u << 20);

  // Returns the group's key in table_: the field of its only column, else all fields, each after its length. Emitted
  // keys are made of it when the table is flushed.
  std::string_view GroupOf(const CsvRow& row) {
    if (groups_ == 1) return row[column(0)];
    key_.clear();
    for (size_t g = 0; g < groups_; ++g) {
      const std::string_view field = row[column(g)];
      const auto length = static_cast<uint32_t>(field.size());
      key_.append(reinterpret_cast<const char*>(&length), sizeof length).append(field);
    }
    return key_;
  }
  void AppendGroup(std::string_view group, std::string* key) const {
    if (groups_ == 1) return KeyCodec<std::string>::AppendPart(group, key);
    while (!group.empty()) {
      uint32_t length;
      std::memcpy(&length, group.data(), sizeof length);
      KeyCodec<std::string>::AppendPart(group.substr(sizeof length, length), key);
      group.remove_prefix(sizeof length + length);
    }
  }
  // Adds a value of distinct(...) number m, with the number of its group.
  void AddDistinct(uint32_t group, size_t m, std::string_view value, bool* added) {
    distinct_key_.assign(reinterpret_cast<const char*>(&group), sizeof group);
    distinct_key_.push_back(static_cast<char>(1 + m));
    distinct_key_.append(value);
    distinct_.Find(distinct_key_, added);
  }

  uint32_t ColumnOf(const Measure& measure) const { return column(groups_ + static_cast<size_t>(measure.column)); }

  // Parses all numbers before the row is used: it may be a bad one.
  void ParseNumbers(const CsvRow& row) {
    for (size_t m = 0; m < measures_.size(); ++m) {
      if (!TakesNumbers(measures_[m].fold)) continue;
      const uint32_t at = ColumnOf(measures_[m]);
      if (!row[at].empty() && !Decimal::Parse(row[at], &numbers_[m])) RefuseField(at, "number");
    }
  }

  void Flush(Out& out) {
    for (uint32_t number = 0; number < table_.size(); ++number) {
      value_.clear();
      for (size_t m = 0; m < measures_.size(); ++m) {
        Append(measures_[m].fold, states_[number * measures_.size() + m], &value_);
      }
      key_.clear();
      AppendGroup(table_.Key(number), &key_);
      key_.push_back('\0');
      out.EmitRaw(key_, value_);
    }
    for (uint32_t number = 0; number < distinct_.size(); ++number) {
      const std::string_view key = distinct_.Key(number);
      uint32_t group;
      std::memcpy(&group, key.data(), sizeof group);
      key_.clear();
      AppendGroup(table_.Key(group), &key_);
      key_.append(key.substr(sizeof group));
      out.EmitRaw(key_, {});
    }
    table_.Clear();
    states_.clear();
    distinct_.Clear();
  }

  size_t groups_ = 0;
  std::vector<Measure> measures_;
  std::vector<Decimal> numbers_;  // of the current row, by measure
  GroupTable table_, distinct_;
  std::vector<State> states_;  // measures of group 0, of group 1, ...
  std::string key_, distinct_key_, value_;
};

class WriteGroups : public HashReducer<std::string, std::string, Text, Text> {
 public:
  void Open() {
    const Config config = context().config();
    groups_ = static_cast<size_t>(config.Int("groups"));
    dialect_ = DialectOf(config);
    header_ = OutputHeader(config);
    names_ = DecodeTexts(config.Text("names"));
    measures_ = DecodeMeasures(config.Text("measures"));
  }
  void Fold(std::string& total, std::string_view value) {
    if (value.empty()) return;  // of distinct(...)
    folded_.assign(measures_.size(), {});
    for (std::string_view bytes : {std::string_view(total), value}) {
      for (size_t m = 0; m < folded_.size(); ++m) Merge(measures_[m].fold, &bytes, &folded_[m]);
    }
    total.clear();
    for (size_t m = 0; m < folded_.size(); ++m) Append(measures_[m].fold, folded_[m], &total);
  }
  void Reduce(std::string_view key, const std::string& total, Out& out) {
    const size_t n = GroupBytes(key, groups_);
    if (!open_ || key.substr(0, n) != group_) Begin(key.substr(0, n), out);
    if (const auto tag = static_cast<size_t>(static_cast<uint8_t>(key[n])); tag != 0) {
      ++states_[tag - 1].count;
      return;
    }
    std::string_view bytes = total;
    for (size_t m = 0; m < states_.size(); ++m) Merge(measures_[m].fold, &bytes, &states_[m]);
  }
  void End(Out& out) {
    // Without --by there is one output row even for no rows.
    if (!open_ && groups_ == 0) Begin({}, out);
    header_.Emit(names_, out);
    Finish(out);
  }

 private:
  void Begin(std::string_view group, Out& out) {
    Finish(out);
    group_.assign(group);
    states_.assign(measures_.size(), {});
    open_ = true;
  }
  void Finish(Out& out) {
    if (!open_) return;
    header_.Emit(names_, out);
    line_.clear();
    std::string_view rest = group_;
    for (size_t g = 0; g < groups_; ++g) {
      if (g > 0) line_ += dialect_.separator;
      AppendCsvField(KeyCodec<std::string>::TakePart(&rest), &line_, dialect_);
    }
    for (size_t m = 0; m < measures_.size(); ++m) {
      if (groups_ + m > 0) line_ += dialect_.separator;
      AppendCsvField(FoldedText(measures_[m].fold, states_[m]), &line_, dialect_);
    }
    out.Line(line_);
  }

  size_t groups_ = 0;
  CsvDialect dialect_;
  OutputHeader header_;
  std::vector<std::string> names_;
  std::vector<Measure> measures_;
  bool open_ = false;
  std::string group_, line_;
  std::vector<State> states_, folded_;
};

// Parses "count,sum(amount)" into measures. Names of columns are added to `columns`, those of the output to `names`.
std::vector<Measure> ParseMeasures(const Args& args, const std::string& list, std::vector<std::string>* columns,
                                   std::vector<std::string>* names) {
  std::vector<Measure> measures;
  for (std::string word : SplitNames(args, "--agg", list)) {
    word.erase(0, word.find_first_not_of(' '));  // as in "count, sum(x)"
    names->push_back(word);
    const size_t open = word.find('(');
    const std::string name = word.substr(0, open);
    const auto fold =
        std::find_if(std::begin(kFolds), std::end(kFolds), [&](const auto& f) { return name == f.first; });
    if (fold == std::end(kFolds)) {
      std::vector<std::string> known;
      for (const auto& f : kFolds) known.push_back(f.first);
      args.Refuse("--agg has '" + word + "'" + Suggest(name, known) +
                  "; there are count, count(COLUMN), sum(COLUMN), min, max, avg and distinct");
    }
    if (open == word.npos && fold->second == Fold::kCount) {
      measures.push_back({Fold::kCount, -1});
      continue;
    }
    if (open == word.npos || word.back() != ')' || open + 2 > word.size() - 1) {
      args.Refuse("--agg has '" + word + "'; write it as " + name + "(COLUMN)");
    }
    const std::string column = word.substr(open + 1, word.size() - open - 2);
    auto at = std::find(columns->begin(), columns->end(), column);
    if (at == columns->end()) at = columns->insert(columns->end(), column);
    measures.push_back({fold->second, static_cast<int>(at - columns->begin())});
  }
  if (measures.size() > 200) args.Refuse("--agg has more than 200 parts");
  return measures;
}

void PlanAggregate(const std::vector<std::string>& argv, JobPlan& plan) {
  TableFormat format;
  std::vector<std::string> by_lists, agg_lists;
  Args args("aggregate");
  args.Add("--by", &by_lists).Add("--agg", &agg_lists);
  format.AddTo(&args);
  args.Parse(argv);
  format.Check(args);
  const std::string by = JoinLists(by_lists), agg = agg_lists.empty() ? "count" : JoinLists(agg_lists);
  TableSide side;
  if (!by.empty()) side.columns = SplitNames(args, "--by", by);
  const size_t groups = side.columns.size();
  std::vector<std::string> folded, names = side.columns;
  const std::vector<Measure> measures = ParseMeasures(args, agg, &folded, &names);
  side.columns.insert(side.columns.end(), folded.begin(), folded.end());
  auto& columns = FindColumns("aggregate", format, {side}, &plan);
  const bool distinct =
      std::any_of(measures.begin(), measures.end(), [](const Measure& m) { return m.fold == Fold::kDistinct; });
  auto& rows =
      plan.Map("rows", "aggregate.rows")
          .Configure(
              RowsConfig("aggregate", format, side).Set("groups", groups).Set("measures", EncodeMeasures(measures)))
          .ReadFiles(JobPlan::Stage::kAllInputs, format.Files())
          .Read(Edge::kBroadcast, columns)
          .Shuffle({.sorted = false, .custom_partition = distinct});
  Config write_config;
  write_config.Set("groups", groups).Set("measures", EncodeMeasures(measures)).Set("names", EncodeTexts(names));
  auto& write = plan.Reduce("groups", "aggregate.groups").Configure(format.AddTo(write_config)).GroupByHash(rows);
  if (groups == 0) write.Tasks(1);
  write.WriteFiles(format.OutputFormat());
}

}  // namespace

void AddAggregate(Library& library) {
  library.Add<FoldRows>("aggregate.rows", kPure)
      .Add<WriteGroups>("aggregate.groups", kPure)
      .AddJob<PlanAggregate>(
          "aggregate",
          "group the rows of CSV inputs by columns and aggregate others\n"
          "  --by COLUMN,...        columns of the groups (default: none, all rows are one group)\n"
          "  --agg LIST             aggregates, separated by commas: count, count(C), sum(C), min(C), max(C), avg(C),\n"
          "                         distinct(C) (default: count); empty fields are ignored\n"
          "                         A repeated --by or --agg adds to its list.\n" MR_TABLE_FORMAT_HELP(
              "line is a row", "those of --by, then the elements of --agg, named as you wrote them: sum(amount)"));
}

}  // namespace mr::builtin
