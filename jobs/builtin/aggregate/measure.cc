#include "jobs/builtin/aggregate/measure.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace mr::builtin {
namespace {

constexpr uint32_t kMostListValues = 10'000;  // guess: a list is one field of a row

enum class FoldArguments { kNoneOrColumn, kColumn, kColumnAndRank, kColumnAndNumber, kTwoColumns };

struct KnownFold {
  const char* name;
  Fold fold;
  FoldArguments arguments;
  uint32_t number;
};
constexpr KnownFold kKnownFolds[] = {{"count", Fold::kCount, FoldArguments::kNoneOrColumn, 0},
                                     {"sum", Fold::kSum, FoldArguments::kColumn, 0},
                                     {"avg", Fold::kAvg, FoldArguments::kColumn, 0},
                                     {"min", Fold::kMin, FoldArguments::kColumn, 0},
                                     {"max", Fold::kMax, FoldArguments::kColumn, 0},
                                     {"distinct", Fold::kDistinct, FoldArguments::kColumn, 0},
                                     {"approx_distinct", Fold::kApproxDistinct, FoldArguments::kColumn, 0},
                                     {"median", Fold::kQuantile, FoldArguments::kColumn, kRankUnits / 2},
                                     {"quantile", Fold::kQuantile, FoldArguments::kColumnAndRank, 0},
                                     {"stddev", Fold::kStddev, FoldArguments::kColumn, 0},
                                     {"stddev_pop", Fold::kStddevPop, FoldArguments::kColumn, 0},
                                     {"variance", Fold::kVariance, FoldArguments::kColumn, 0},
                                     {"variance_pop", Fold::kVariancePop, FoldArguments::kColumn, 0},
                                     {"min_by", Fold::kMinBy, FoldArguments::kTwoColumns, 0},
                                     {"max_by", Fold::kMaxBy, FoldArguments::kTwoColumns, 0},
                                     {"first", Fold::kFirst, FoldArguments::kColumn, 0},
                                     {"last", Fold::kLast, FoldArguments::kColumn, 0},
                                     {"list", Fold::kList, FoldArguments::kColumnAndNumber, 0}};

const char* FoldUsage(FoldArguments arguments) {
  switch (arguments) {
    case FoldArguments::kNoneOrColumn:
    case FoldArguments::kColumn: return "(COLUMN)";
    case FoldArguments::kColumnAndRank: return "(COLUMN, Q) with Q from 0 to 1, such as 0.9";
    case FoldArguments::kColumnAndNumber: return "(COLUMN, N) with N from 1 to 10000";
    case FoldArguments::kTwoColumns: return "(COLUMN, BY)";
  }
  return "";
}

std::string_view TrimmedPart(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Removes the quotes around a name: "a,b" is a,b, and a doubled quote within is one.
std::string UnquotedName(std::string_view name) {
  if (name.size() < 2 || name.front() != '"' || name.back() != '"') return std::string(name);
  std::string text;
  for (size_t i = 1; i + 1 < name.size(); ++i) {
    if (name[i] == '"' && name[i + 1] == '"' && i + 2 < name.size()) ++i;
    text += name[i];
  }
  return text;
}

// Reads a decimal from 0 to 1 with up to 9 digits after the point, in units of 1e-9. percent: from 0 to 100.
bool ParseRank(std::string_view text, bool percent, uint32_t* rank) {
  size_t digits = 0, behind = 0, most = percent ? 7 : 9;
  uint64_t value = 0;
  bool point = false;
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9' && ++digits <= 12) {
      value = value * 10 + static_cast<uint64_t>(c - '0');
      if (point) ++behind;
    } else {
      return false;
    }
  }
  if (digits == 0 || behind > most) return false;
  for (; behind < most; ++behind) value *= 10;
  if (value > kRankUnits) return false;
  *rank = static_cast<uint32_t>(value);
  return true;
}

// Finds the aggregate with a name. p50, p99.9 and the like are quantiles.
bool FindFold(std::string_view name, KnownFold* found) {
  const auto* known = std::find_if(std::begin(kKnownFolds), std::end(kKnownFolds),
                                   [&](const KnownFold& fold) { return name == fold.name; });
  if (known != std::end(kKnownFolds)) {
    *found = *known;
    return true;
  }
  *found = {"", Fold::kQuantile, FoldArguments::kColumn, 0};
  return name.size() > 1 && name[0] == 'p' && ParseRank(name.substr(1), true, &found->number);
}

[[noreturn]] void RefuseFold(const Args& args, const std::string& word, const std::string& name) {
  std::vector<std::string> known = {"p50", "p90", "p99"};
  std::string list = "count, count(COLUMN)";
  for (const KnownFold& fold : kKnownFolds) {
    known.emplace_back(fold.name);
    if (fold.arguments != FoldArguments::kNoneOrColumn) list += std::string(", ") + fold.name;
  }
  args.Refuse("--agg has '" + word + "'" + Suggest(name, known) + "; there are " + list + " and p50, p90, p99");
}

int IndexOfColumn(const std::string& column, std::vector<std::string>* columns) {
  const auto at = std::find(columns->begin(), columns->end(), column);
  if (at != columns->end()) return static_cast<int>(at - columns->begin());
  columns->push_back(column);
  return static_cast<int>(columns->size() - 1);
}

Measure ParseMeasure(const Args& args, const std::string& word, std::vector<std::string>* columns) {
  const size_t open = word.find('(');
  const std::string name(TrimmedPart(std::string_view(word).substr(0, open)));
  KnownFold known;
  if (!FindFold(name, &known)) RefuseFold(args, word, name);
  Measure measure;
  measure.fold = known.fold;
  measure.number = known.number;
  if (open == word.npos && known.arguments == FoldArguments::kNoneOrColumn) return measure;
  const auto refuse = [&] {
    args.Refuse("--agg has '" + word + "'; write it as " + name + FoldUsage(known.arguments));
  };
  if (open == word.npos || word.back() != ')' || TrimmedPart(word.substr(open + 1, word.size() - open - 2)).empty())
    refuse();
  const std::string inside(TrimmedPart(word.substr(open + 1, word.size() - open - 2)));
  if (measure.fold == Fold::kCount && inside == "*") return measure;
  if (constexpr std::string_view kDistinct = "distinct "; inside.size() > kDistinct.size()) {
    std::string start = inside.substr(0, kDistinct.size());
    for (char& c : start) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    if (measure.fold == Fold::kCount && start == kDistinct) {
      args.Refuse("--agg has '" + word + "'; write it as distinct(" + inside.substr(kDistinct.size()) + ")");
    }
  }
  const std::vector<std::string> arguments = SplitCalls(args, "--agg", word.substr(open + 1, word.size() - open - 2));
  const bool two = known.arguments >= FoldArguments::kColumnAndRank;
  if (arguments.size() != (two ? 2u : 1u)) {
    args.Refuse("--agg has '" + word + "'; write it as " + name + FoldUsage(known.arguments) +
                (arguments.size() > 1 ? "; the name of a column with a comma needs quotes: \"a,b\"" : ""));
  }
  measure.column = IndexOfColumn(UnquotedName(arguments[0]), columns);
  if (known.arguments == FoldArguments::kTwoColumns) measure.by = IndexOfColumn(UnquotedName(arguments[1]), columns);
  if (known.arguments == FoldArguments::kColumnAndRank && !ParseRank(arguments[1], false, &measure.number)) refuse();
  if (known.arguments == FoldArguments::kColumnAndNumber) {
    const char* const end = arguments[1].data() + arguments[1].size();
    const auto [at, error] = std::from_chars(arguments[1].data(), end, measure.number);
    if (error != std::errc() || at != end || measure.number < 1 || measure.number > kMostListValues) refuse();
  }
  return measure;
}

// Gives measures of one column and kind the same stream.
void AssignStreams(std::vector<Measure>* measures) {
  std::vector<ValueStream> streams;
  for (Measure& m : *measures) {
    if (m.fold != Fold::kDistinct && m.fold != Fold::kQuantile) continue;
    const bool numbers = m.fold == Fold::kQuantile;
    const auto at = std::find_if(streams.begin(), streams.end(),
                                 [&](const ValueStream& s) { return s.column == m.column && s.numbers == numbers; });
    m.stream = static_cast<int>(at - streams.begin());
    if (at == streams.end()) streams.push_back({m.column, numbers});
  }
}

}  // namespace

std::vector<ValueStream> Streams(const std::vector<Measure>& measures) {
  std::vector<ValueStream> streams;
  for (const Measure& m : measures) {
    if (m.stream < 0) continue;
    const auto at = static_cast<size_t>(m.stream);
    if (streams.size() <= at) streams.resize(at + 1);
    streams[at] = {m.column, m.fold == Fold::kQuantile};
  }
  return streams;
}

std::vector<std::string> SplitCalls(const Args& args, const std::string& option, const std::string& list) {
  std::vector<std::string> parts;
  int depth = 0;
  bool quoted = false, fresh = true;  // fresh: a quote here would open a name
  size_t from = 0;
  const auto add = [&](size_t to) {
    parts.emplace_back(TrimmedPart(std::string_view(list).substr(from, to - from)));
    if (parts.back().empty()) args.Refuse(option + " '" + list + "' has an empty name in it");
    from = to + 1;
  };
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (quoted) {
      quoted = c != '"';
      continue;
    }
    if (c == '"' && (fresh || (i > 0 && list[i - 1] == '"'))) {  // the second of a doubled quote goes on
      quoted = true;
      fresh = false;
      continue;
    }
    if (c == ')' && depth > 0) --depth;
    if (c == ',' && depth == 0) add(i);
    fresh = c == '(' || c == ',' || c == ' ';
    if (c == '(') ++depth;
  }
  if (depth > 0 || quoted) {
    args.Refuse(option + " '" + list + "' has " + (quoted ? "a quote" : "a parenthesis") + " that does not end");
  }
  add(list.size());
  return parts;
}

std::string TakeAlias(const Args& args, const std::string& option, std::string* part) {
  // The last " as " that no parenthesis follows; a name of columns may have blanks.
  for (size_t at = part->size(); at-- > 1;) {
    if (at + 4 > part->size() || (*part)[at] != ' ' || (*part)[at + 3] != ' ') continue;
    if (((*part)[at + 1] | 0x20) != 'a' || ((*part)[at + 2] | 0x20) != 's') continue;
    const std::string_view name = TrimmedPart(std::string_view(*part).substr(at + 4));
    const bool quoted = name.size() > 1 && name.front() == '"' && name.back() == '"';
    if (!quoted && name.find_first_of("()\"") != name.npos) return "";
    std::string alias = UnquotedName(name);
    if (alias.empty()) args.Refuse(option + " has '" + *part + "' without a name after AS");
    *part = TrimmedPart(std::string_view(*part).substr(0, at));
    return alias;
  }
  return "";
}

MeasureList ParseMeasures(const Args& args, const std::string& list) {
  MeasureList parsed;
  for (std::string word : SplitCalls(args, "--agg", list)) {
    const std::string alias = TakeAlias(args, "--agg", &word);
    parsed.measures.push_back(ParseMeasure(args, word, &parsed.columns));
    parsed.names.push_back(alias.empty() ? word : alias);
  }
  if (parsed.measures.size() > 200) args.Refuse("--agg has more than 200 parts");
  AssignStreams(&parsed.measures);
  return parsed;
}

std::string EncodeMeasures(const std::vector<Measure>& measures) {
  std::string text;
  for (const Measure& m : measures) {
    text += std::to_string(static_cast<int>(m.fold)) + ":" + std::to_string(m.column) + ":" + std::to_string(m.by) +
            ":" + std::to_string(m.number) + ":" + std::to_string(m.stream) + " ";
  }
  return text;
}

std::vector<Measure> DecodeMeasures(const std::string& text) {
  std::vector<Measure> measures;
  for (const char* at = text.c_str(); *at != '\0'; ++at) {
    const auto next = [&at] {
      char* end = nullptr;
      const long long number = std::strtoll(at, &end, 10);
      if (end == at || (*end != ':' && *end != ' ')) throw JobError("the stage's config has malformed measures");
      at = *end == ':' ? end + 1 : end;
      return number;
    };
    Measure m;
    m.fold = static_cast<Fold>(next());
    m.column = static_cast<int>(next());
    m.by = static_cast<int>(next());
    m.number = static_cast<uint32_t>(next());
    m.stream = static_cast<int>(next());
    measures.push_back(m);
  }
  return measures;
}

}  // namespace mr::builtin
