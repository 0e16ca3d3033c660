// The state of one measure in one group: values are added to it, states are merged and sent, and the last one becomes
// the text of a field. Merging is associative, and the left state has the earlier values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jobs/builtin/aggregate/measure.h"
#include "jobs/builtin/aggregate/wide_sum.h"
#include "jobs/expressions/decimal.h"

namespace mr::builtin {

using expr::Decimal;

struct FoldState {
  uint64_t count = 0;  // of values; kList: of the values in `text`
  // kSum, kAvg: the sum, which is exact; the rest is in `text`. Extremes: the compared value, if it is a number.
  Decimal number;
  bool any = false;        // of kFirst, kLast and extremes: there is a value
  bool is_number = false;  // of extremes: `number` is set
  // kMin, kMax, kFirst, kLast: the value. kMinBy, kMaxBy: the length of the compared value, that value, and the
  // reported one. kList: values after their lengths. kSum, kAvg: a WideSum. Variances: Moments. kApproxDistinct: a
  // HyperLogLog.
  std::string text;
};

namespace fold_state {
// TakeValue for the folds that are not in line.
size_t TakeOther(const Measure& measure, std::string_view value, std::string_view by, const Decimal& number,
                 FoldState* state);
}  // namespace fold_state

// Adds a value that is not empty, of kMinBy and kMaxBy with the compared value. number: the value as a number, if the
// fold takes numbers. Values of streams are counted only. Returns the bytes by which the state's memory has grown.
inline size_t TakeValue(const Measure& measure, std::string_view value, std::string_view by, const Decimal& number,
                        FoldState* state) {
  if (measure.fold == Fold::kSum || measure.fold == Fold::kAvg) {
    WideSum::Add(number, &state->number, &state->text);
  } else if (measure.fold != Fold::kCount && measure.stream < 0) {
    return fold_state::TakeOther(measure, value, by, number, state);
  }
  ++state->count;
  return 0;
}

// Encodes a state. It may bring it into another form with the same meaning.
void AppendState(const Measure& measure, FoldState* state, std::string* out);

// Adds the encoded state at the front of *bytes, and removes it there. Errors: FinalError if a list gets too long.
void MergeState(const Measure& measure, std::string_view* bytes, FoldState* state);

// Returns the measure's field, which is empty if there is no value; a count is 0, and a list []. For distinct and
// quantiles, the number of values.
std::string StateText(const Measure& measure, FoldState* state);

}  // namespace mr::builtin
