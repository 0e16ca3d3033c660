// The aggregates of job aggregate: the elements of --agg, and how they are passed to its operators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "paceline/args.h"

namespace mr::builtin {

enum class Fold : uint8_t {
  kCount,
  kSum,
  kAvg,
  kMin,
  kMax,
  kDistinct,
  kApproxDistinct,
  kQuantile,
  kStddev,
  kStddevPop,
  kVariance,
  kVariancePop,
  kMinBy,
  kMaxBy,
  kFirst,
  kLast,
  kList,
};

struct Measure {
  Fold fold = Fold::kCount;
  int column = -1;      // index among the aggregated columns; -1: rows are counted
  int by = -1;          // of kMinBy and kMaxBy: index of the compared column
  uint32_t number = 0;  // kQuantile: its rank in units of 1e-9; kList: the most values
  int stream = -1;      // of kDistinct and kQuantile: index in Streams()
};

// Ranks of quantiles are in units of 1 / kRankUnits.
inline constexpr uint32_t kRankUnits = 1'000'000'000;

// Returns whether the fold takes numbers only.
inline bool TakesNumbers(Fold fold) {
  return fold == Fold::kSum || fold == Fold::kAvg || (fold >= Fold::kQuantile && fold <= Fold::kVariancePop);
}
inline bool IsExtreme(Fold fold) { return fold == Fold::kMin || fold == Fold::kMax; }
inline bool IsExtremeBy(Fold fold) { return fold == Fold::kMinBy || fold == Fold::kMaxBy; }

// The values of a column that are sent one by one, because they are counted or sorted.
struct ValueStream {
  int column = -1;
  bool numbers = false;  // numbers with their multiplicity, in order; else texts
};
// Returns the streams of the measures, by Measure::stream.
std::vector<ValueStream> Streams(const std::vector<Measure>& measures);

// The parsed value of --agg.
struct MeasureList {
  std::vector<Measure> measures;
  std::vector<std::string> columns;  // the aggregated columns, each once
  std::vector<std::string> names;    // of the output columns: as written, or as renamed
};
// Parses "count, sum(amount) as total, quantile(amount, 0.9)". Errors: refuses unknown aggregates and arguments.
MeasureList ParseMeasures(const Args& args, const std::string& list);

// Splits "a, f(b, c) as d" at the commas outside of parentheses and quotes, without blanks at the ends of the parts.
std::vector<std::string> SplitCalls(const Args& args, const std::string& option, const std::string& list);
// Removes " as NAME" from the end of a part, in any case, and returns NAME, or "" if it has none.
std::string TakeAlias(const Args& args, const std::string& option, std::string* part);

// Encodes the measures for the config of a stage, and decodes them.
std::string EncodeMeasures(const std::vector<Measure>& measures);
std::vector<Measure> DecodeMeasures(const std::string& text);

}  // namespace mr::builtin
