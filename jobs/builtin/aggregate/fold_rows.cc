#include "jobs/builtin/aggregate/fold_rows.h"

#include <algorithm>
#include <cstring>

#include "jobs/builtin/aggregate/group_key.h"
#include "jobs/builtin/number_key.h"

namespace mr::builtin {

void FoldRows::Open() {
  RowMapper::Open();
  const Config config = context().config();
  groups_ = static_cast<size_t>(config.Int("groups"));
  measures_ = DecodeMeasures(config.Text("measures"));
  streams_ = Streams(measures_);
  std::string wrong;
  for (const std::string& text : DecodeTexts(config.Text("buckets"))) {
    const auto width = BucketWidth::Parse(text);
    const auto format = expr::TimeFormat::Parse(config.Text("time_format"), &wrong);
    if (!width || !format) throw JobError("the stage's config has malformed buckets");
    buckets_.emplace_back(*width, *format);
  }
  bucket_fields_.resize(buckets_.size());
  int columns = 0, streams = 0;
  for (const Measure& m : measures_) {
    feeds_.push_back(m.stream == streams);
    streams += feeds_.back() ? 1 : 0;
    columns = std::max({columns, m.column + 1, m.by + 1});
    if (!TakesNumbers(m.fold)) continue;
    if (std::find(number_columns_.begin(), number_columns_.end(), m.column) == number_columns_.end())
      number_columns_.push_back(m.column);
  }
  numbers_.resize(static_cast<size_t>(columns));
}

void FoldRows::Map(const Block& block, Out& out) {
  const bool plain = groups_ == 1 && buckets_.empty();
  ForEachRow(block, [&](const CsvRow& row) {
    ParseNumbers(row);
    if (!buckets_.empty()) ParseBuckets(row);
    const uint32_t number = table_.Find(plain ? row[column(0)] : GroupOf(row), &grown_);
    if (grown_) states_.resize(states_.size() + measures_.size());
    FoldState* states = states_.data() + number * measures_.size();
    for (const Measure& m : measures_) {
      FoldState* const state = states++;
      if (m.column < 0) {
        ++state->count;
        continue;
      }
      const std::string_view value = row[ColumnOf(m.column)];
      if (IsNull(value)) continue;
      const std::string_view by = m.by < 0 ? std::string_view() : row[ColumnOf(m.by)];
      if (m.by >= 0 && IsNull(by)) continue;
      if (m.stream >= 0 && feeds_[static_cast<size_t>(&m - measures_.data())]) AddToStream(number, m, value);
      if (const size_t grown = TakeValue(m, value, by, numbers_[static_cast<size_t>(m.column)], state); grown != 0) {
        heap_ += grown;
        grown_ = true;
      }
    }
    if (grown_ && table_.bytes() + states_.size() * sizeof(FoldState) + values_.bytes() +
                          times_.size() * sizeof(uint64_t) + heap_ >
                      most_bytes_) {
      Flush(out);
    }
  });
}

uint32_t FoldRows::Partition(std::string_view key, uint32_t partitions) {
  return PartitionOf(key.substr(0, group_key::GroupBytes(key, groups_)), partitions);
}

// Returns the group's key in table_: the field of its only column, which is a bucket, else all fields, each after its
// length. Emitted keys are made of it when the table is flushed.
std::string_view FoldRows::GroupOf(const CsvRow& row) {
  const size_t plain = groups_ - buckets_.size();
  if (groups_ == 1) return bucket_fields_[0];  // Map does not ask for a plain column
  key_.clear();
  for (size_t g = 0; g < groups_; ++g) {
    const std::string_view field = g < plain ? row[column(g)] : bucket_fields_[g - plain];
    const auto length = static_cast<uint32_t>(field.size());
    key_.append(reinterpret_cast<const char*>(&length), sizeof length).append(field);
  }
  return key_;
}

void FoldRows::AppendGroup(std::string_view group, std::string* key) const {
  if (groups_ == 1) return KeyCodec<std::string>::AppendPart(group, key);
  while (!group.empty()) {
    uint32_t length;
    std::memcpy(&length, group.data(), sizeof length);
    KeyCodec<std::string>::AppendPart(group.substr(sizeof length, length), key);
    group.remove_prefix(sizeof length + length);
  }
}

// Parses all numbers before the row is used: it may be a bad one.
void FoldRows::ParseNumbers(const CsvRow& row) {
  for (const int aggregated : number_columns_) {
    const uint32_t at = ColumnOf(aggregated);
    if (!IsNull(row[at]) && !Decimal::Parse(row[at], &numbers_[static_cast<size_t>(aggregated)]))
      RefuseField(at, "number");
  }
}

void FoldRows::ParseBuckets(const CsvRow& row) {
  for (size_t b = 0; b < buckets_.size(); ++b) {
    const uint32_t at = column(groups_ - buckets_.size() + b);
    if (!buckets_[b].Of(IsNull(row[at]) ? std::string_view() : row[at], &bucket_fields_[b]))
      RefuseField(at, "time: " + buckets_[b].format().Wanted());
  }
}

void FoldRows::AddToStream(uint32_t group, const Measure& measure, std::string_view value) {
  value_key_.assign(reinterpret_cast<const char*>(&group), sizeof group);
  value_key_.push_back(static_cast<char>(1 + measure.stream));
  if (streams_[static_cast<size_t>(measure.stream)].numbers) {
    AppendNumberKey(numbers_[static_cast<size_t>(measure.column)], &value_key_);
  } else {
    value_key_.append(value);
  }
  bool added = false;
  const uint32_t number = values_.Find(value_key_, &added);
  if (added) times_.push_back(0);
  ++times_[number];
  grown_ |= added;
}

void FoldRows::Flush(Out& out) {
  for (uint32_t number = 0; number < table_.size(); ++number) {
    value_.assign(1, group_key::kStates);
    for (size_t m = 0; m < measures_.size(); ++m) {
      AppendState(measures_[m], &states_[number * measures_.size() + m], &value_);
    }
    key_.clear();
    AppendGroup(table_.Key(number), &key_);
    key_.push_back('\0');
    out.EmitRaw(key_, value_);
  }
  for (uint32_t number = 0; number < values_.size(); ++number) {
    const std::string_view key = values_.Key(number);
    uint32_t group;
    std::memcpy(&group, key.data(), sizeof group);
    key_.clear();
    AppendGroup(table_.Key(group), &key_);
    key_.append(key.substr(sizeof group));
    value_.clear();
    if (streams_[static_cast<uint8_t>(key[sizeof group]) - size_t{1}].numbers) {
      value_.push_back(group_key::kTimes);
      sdk::AppendVarint(times_[number], &value_);
    }
    out.EmitRaw(key_, value_);
  }
  table_.Clear();
  states_.clear();
  values_.Clear();
  times_.clear();
  heap_ = 0;
}

}  // namespace mr::builtin
