#include "jobs/builtin/aggregate/fold_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/digest.h"
#include "jobs/builtin/aggregate/hyperloglog.h"
#include "jobs/builtin/aggregate/moments.h"
#include "jobs/builtin/aggregate/value_list.h"
#include "paceline/emitter.h"

namespace mr::builtin {
namespace {

bool TakesSmallest(Fold fold) { return fold == Fold::kMin || fold == Fold::kMinBy; }

// Returns the compared value of a state of kMin, kMax, kMinBy or kMaxBy.
std::string_view ComparedValue(Fold fold, std::string_view text) {
  return IsExtreme(fold) ? text : sdk::Take(&text, sdk::TakeVarint(&text), "a compared value");
}

// Orders numbers by value before all texts, and texts by bytes. Numbers of one value are equal.
int CompareToState(Fold fold, std::string_view value, bool is_number, const Decimal& number, const FoldState& state) {
  if (is_number != state.is_number) return is_number ? -1 : 1;
  if (is_number) return number.Compare(state.number);
  return value.compare(ComparedValue(fold, state.text));
}

// Replaces the extreme if the compared value is better. Of equal ones, min and max keep the one with the smaller or
// larger bytes; the others keep the first in the order of the input. text(): sets FoldState::text. Returns the bytes by
// which its memory has grown.
template <class Text>
size_t TakeIfBetter(Fold fold, std::string_view compared, FoldState* state, Text&& text) {
  Decimal number;
  const bool is_number = Decimal::Parse(compared, &number);
  if (state->any) {
    int c = CompareToState(fold, compared, is_number, number, *state);
    if (c == 0 && IsExtreme(fold)) c = compared.compare(state->text);
    if (TakesSmallest(fold) ? c >= 0 : c <= 0) return 0;
  }
  const size_t room = state->text.capacity();
  text(&state->text);
  state->number = number;
  state->is_number = is_number;
  state->any = true;
  return state->text.capacity() - std::min(room, state->text.capacity());
}

void AppendPair(std::string_view by, std::string_view value, std::string* out) {
  sdk::AppendVarint(by.size(), out);
  out->append(by).append(value);
}

bool IsSum(Fold fold) { return fold == Fold::kSum || fold == Fold::kAvg; }
bool IsVariance(Fold fold) { return fold >= Fold::kStddev && fold <= Fold::kVariancePop; }

std::string VarianceText(Fold fold, const FoldState& state) {
  const bool root = fold == Fold::kStddev || fold == Fold::kStddevPop;
  const bool sample = fold == Fold::kStddev || fold == Fold::kVariance;
  if (state.count <= (sample ? 1u : 0u)) return "";  // one value has no sample variance
  std::string text;
  AppendText(Moments::Variance(state.text, state.count, state.count - (sample ? 1 : 0), root), &text);
  return text;
}

}  // namespace

size_t fold_state::TakeOther(const Measure& measure, std::string_view value, std::string_view by, const Decimal& number,
                             FoldState* state) {
  const size_t room = state->text.capacity();
  switch (measure.fold) {
    case Fold::kMin:
    case Fold::kMax:
      ++state->count;
      return TakeIfBetter(measure.fold, value, state, [&](std::string* text) { text->assign(value); });
    case Fold::kMinBy:
    case Fold::kMaxBy:
      ++state->count;
      return TakeIfBetter(measure.fold, by, state, [&](std::string* text) {
        text->clear();
        AppendPair(by, value, text);
      });
    case Fold::kFirst:
      if (std::exchange(state->any, true)) return 0;
      state->text.assign(value);
      break;
    case Fold::kLast:
      state->any = true;
      state->text.assign(value);
      break;
    case Fold::kList:
      if (state->count == measure.number) return 0;
      AppendListValue(value, &state->text);
      break;
    case Fold::kApproxDistinct: HyperLogLog::Add(Hash64(value), &state->text); break;
    default: Moments::Add(number, &state->text); break;
  }
  ++state->count;
  return state->text.capacity() - std::min(room, state->text.capacity());
}

void AppendState(const Measure& measure, FoldState* state, std::string* out) {
  sdk::AppendVarint(state->count, out);
  if (measure.fold == Fold::kCount || measure.stream >= 0) return;
  if (measure.fold == Fold::kApproxDistinct) HyperLogLog::Pack(&state->text);
  if (IsSum(measure.fold)) {
    const __int128 units = state->number.units();
    out->append(reinterpret_cast<const char*>(&units), sizeof units);
  } else {
    out->push_back(state->any ? 1 : 0);
  }
  sdk::AppendVarint(state->text.size(), out);
  out->append(state->text);
}

void MergeState(const Measure& measure, std::string_view* bytes, FoldState* state) {
  const uint64_t count = sdk::TakeVarint(bytes);
  if (measure.fold != Fold::kList) state->count += count;
  if (IsSum(measure.fold)) {
    __int128 units;
    std::memcpy(&units, sdk::Take(bytes, sizeof units, "a sum").data(), sizeof units);
    WideSum::Add(Decimal::FromUnits(units), &state->number, &state->text);
    return WideSum::Merge(sdk::Take(bytes, sdk::TakeVarint(bytes), "a sum"), &state->text);
  }
  if (measure.fold == Fold::kCount || measure.stream >= 0) return;
  const bool any = sdk::Take(bytes, 1, "a state")[0] != 0;
  const std::string_view text = sdk::Take(bytes, sdk::TakeVarint(bytes), "a state");
  if (IsExtreme(measure.fold) || IsExtremeBy(measure.fold)) {
    if (!any) return;
    TakeIfBetter(measure.fold, ComparedValue(measure.fold, text), state, [&](std::string* to) { to->assign(text); });
  } else if (measure.fold == Fold::kFirst || measure.fold == Fold::kLast) {
    if (!any || (measure.fold == Fold::kFirst && state->any)) return;
    state->any = true;
    state->text.assign(text);
  } else if (measure.fold == Fold::kList) {
    state->count += AppendList(text, count, measure.number - state->count, &state->text);
  } else if (measure.fold == Fold::kApproxDistinct) {
    HyperLogLog::Merge(text, &state->text);
  } else {
    Moments::Merge(text, &state->text);
  }
}

std::string StateText(const Measure& measure, FoldState* state) {
  switch (measure.fold) {
    case Fold::kSum: return WideSum::Total(state->number, state->text).Text();
    case Fold::kAvg: {
      std::string text;
      const double sum = WideSum::Total(state->number, state->text).AsDouble();
      if (state->count != 0) AppendText(sum / static_cast<double>(state->count), &text);
      return text;
    }
    case Fold::kMin:
    case Fold::kMax:
    case Fold::kFirst:
    case Fold::kLast: return state->text;
    case Fold::kMinBy:
    case Fold::kMaxBy: {
      std::string_view text = state->text;
      if (state->any) sdk::Take(&text, sdk::TakeVarint(&text), "a compared value");
      return std::string(text);
    }
    case Fold::kList: return ListText(state->text);
    case Fold::kApproxDistinct:
      HyperLogLog::Pack(&state->text);
      return std::to_string(HyperLogLog::Estimate(state->text));
    default: return IsVariance(measure.fold) ? VarianceText(measure.fold, *state) : std::to_string(state->count);
  }
}

}  // namespace mr::builtin
