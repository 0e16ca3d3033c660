#include "jobs/builtin/aggregate/write_groups.h"

#include "jobs/builtin/aggregate/group_key.h"
#include "jobs/builtin/number_key.h"

namespace mr::builtin {

void WriteGroups::Open() {
  const Config config = context().config();
  groups_ = static_cast<size_t>(config.Int("groups"));
  dialect_ = DialectOf(config);
  output_ = TableOutput(config);
  names_ = DecodeTexts(config.Text("names"));
  measures_ = DecodeMeasures(config.Text("measures"));
  streams_ = Streams(measures_);
}

void WriteGroups::Fold(std::string& total, std::string_view value) {
  if (value.empty()) return;  // a text of a stream
  if (value[0] == group_key::kTimes) {
    std::string_view a = std::string_view(total).substr(1), b = value.substr(1);
    const uint64_t times = sdk::TakeVarint(&a) + sdk::TakeVarint(&b);
    total.assign(1, group_key::kTimes);
    sdk::AppendVarint(times, &total);
    return;
  }
  folded_.assign(measures_.size(), {});
  for (std::string_view bytes : {std::string_view(total).substr(1), value.substr(1)}) {
    for (size_t m = 0; m < folded_.size(); ++m) MergeState(measures_[m], &bytes, &folded_[m]);
  }
  total.assign(1, group_key::kStates);
  for (size_t m = 0; m < folded_.size(); ++m) AppendState(measures_[m], &folded_[m], &total);
}

void WriteGroups::Reduce(std::string_view key, const std::string& total, Out& out) {
  const size_t n = group_key::GroupBytes(key, groups_);
  if (!open_ || key.substr(0, n) != group_) Begin(key.substr(0, n), out);
  if (const auto tag = static_cast<size_t>(static_cast<uint8_t>(key[n])); tag != 0) {
    return AddStreamValue(tag - 1, key.substr(n + 1), total);
  }
  std::string_view bytes = std::string_view(total).substr(1);
  for (size_t m = 0; m < states_.size(); ++m) MergeState(measures_[m], &bytes, &states_[m]);
  for (size_t m = 0; m < states_.size(); ++m) {
    if (measures_[m].fold == Fold::kQuantile) quantiles_[m] = Quantile(states_[m].count, measures_[m].number);
  }
}

void WriteGroups::End(Out& out) {
  // Without group columns there is one output row even for no rows.
  if (!open_ && groups_ == 0) Begin({}, out);
  output_.Header(names_, out);
  Finish(out);
}

void WriteGroups::Begin(std::string_view group, Out& out) {
  Finish(out);
  group_.assign(group);
  states_.assign(measures_.size(), {});
  different_.assign(streams_.size(), 0);
  quantiles_.assign(measures_.size(), Quantile(0, 0));
  open_ = true;
}

// The states of a group come before the values of its streams, so the quantiles know their counts.
void WriteGroups::AddStreamValue(size_t stream, std::string_view value, std::string_view total) {
  if (!streams_.at(stream).numbers) {
    ++different_[stream];
    return;
  }
  const Decimal number = TakeNumberKey(&value);
  std::string_view times = total.substr(1);
  const uint64_t n = sdk::TakeVarint(&times);
  for (size_t m = 0; m < measures_.size(); ++m) {
    if (measures_[m].stream == static_cast<int>(stream)) quantiles_[m].Add(number, n);
  }
}

std::string WriteGroups::FieldOf(size_t measure) {
  const Measure& m = measures_[measure];
  if (m.fold == Fold::kDistinct) return std::to_string(different_[static_cast<size_t>(m.stream)]);
  if (m.fold == Fold::kQuantile) return quantiles_[measure].Text();
  return StateText(m, &states_[measure]);
}

void WriteGroups::Finish(Out& out) {
  if (!open_) return;
  output_.Header(names_, out);
  fields_.clear();
  std::string_view rest = group_;
  for (size_t g = 0; g < groups_; ++g) fields_.emplace_back(KeyCodec<std::string>::TakePart(&rest));
  for (size_t m = 0; m < measures_.size(); ++m) fields_.emplace_back(FieldOf(m));
  output_.Made([&](std::string* line) { AppendRow(fields_, dialect_, line); }, context(), out);
}

}  // namespace mr::builtin
