// Writes batches of records whose places are known: each byte is copied once, to where it is needed. BatchBuilder, for
// records that come one by one, copies twice. Both write the same bytes for the same records.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/abi/batch.h"

namespace mr::task {

// The sizes of a batch.
class BatchShape {
 public:
  void Add(uint64_t key, uint64_t value) {
    if (n_ == 0) {
      key_ = key;
      value_ = value;
    }
    fixed_keys_ &= key == key_;
    fixed_values_ &= value == value_;
    ++n_;
    key_bytes_ += key;
    value_bytes_ += value;
  }
  // Adds n records of the same lengths.
  void AddEqual(uint32_t n, uint64_t key, uint64_t value) {
    if (n == 0) return;
    Add(key, value);
    n_ += n - 1;
    key_bytes_ += (n - 1) * key;
    value_bytes_ += (n - 1) * value;
  }
  uint32_t n() const { return n_; }
  // Returns the upper bound that BatchBuilder::bytes() gives, by which batches are cut.
  uint64_t bound(bool tagged = false) const {
    return sizeof(BatchHeader) + (tagged ? 9 : 8) * uint64_t{n_} + key_bytes_ + value_bytes_ + 3;
  }
  // Returns the bytes of the batch.
  uint64_t size(bool tagged = false) const {
    return sizeof(BatchHeader) + (fixed_keys_ ? 0 : 4 * uint64_t{n_}) + (fixed_values_ ? 0 : 4 * uint64_t{n_}) +
           (tagged ? (uint64_t{n_} + 3) / 4 * 4 : 0) + key_bytes_ + value_bytes_;
  }

 private:
  template <class RecordAt, class TagAt>
  friend void WriteBatch(const BatchShape& shape, uint16_t flags, RecordAt at, TagAt tag_at, char* to);

  uint32_t n_ = 0;
  uint64_t key_ = 0, value_ = 0;  // of the first record
  bool fixed_keys_ = true, fixed_values_ = true;
  uint64_t key_bytes_ = 0, value_bytes_ = 0;
};

struct RecordRef {
  std::string_view key, value;
};

// Writes shape.size() bytes to `to`, which is 4-byte aligned. at(i): the i-th record that was added to the shape.
// tag_at(i): its tag, or null if the batch has none. Requires: key and value bytes below 4 GiB.
template <class RecordAt, class TagAt>
void WriteBatch(const BatchShape& shape, uint16_t flags, RecordAt at, TagAt tag_at, char* to) {
  constexpr bool tagged = !std::is_null_pointer_v<TagAt>;
  BatchHeader h{};
  h.magic = kBatchMagic;
  h.version = kBatchVersion;
  h.n = shape.n_;
  h.key_bytes = static_cast<uint32_t>(shape.key_bytes_);
  h.value_bytes = static_cast<uint32_t>(shape.value_bytes_);
  h.flags = flags;
  if (shape.fixed_keys_) {
    h.flags |= kFixedKeys;
    h.fixed_key = static_cast<uint32_t>(shape.key_);
  }
  if (shape.fixed_values_) {
    h.flags |= kFixedValues;
    h.fixed_value = static_cast<uint32_t>(shape.value_);
  }
  if (tagged) h.flags |= kTagged;
  std::memcpy(to, &h, sizeof h);
  char* ends = to + sizeof h;
  char* key_end = shape.fixed_keys_ ? nullptr : ends;
  if (key_end != nullptr) ends += 4 * uint64_t{shape.n_};
  char* value_end = shape.fixed_values_ ? nullptr : ends;
  if (value_end != nullptr) ends += 4 * uint64_t{shape.n_};
  char* tags = ends;
  if (tagged) {
    ends += (uint64_t{shape.n_} + 3) / 4 * 4;
    std::memset(ends - 4, 0, shape.n_ == 0 ? 0 : 4);
  }
  char* const keys = ends;
  char* key_to = keys;
  char* const values = keys + shape.key_bytes_;
  char* value_to = values;
  for (uint32_t i = 0; i < shape.n_; ++i) {
    const RecordRef record = at(i);
    CopyShort(key_to, record.key.data(), record.key.size());
    CopyShort(value_to, record.value.data(), record.value.size());
    key_to += record.key.size();
    value_to += record.value.size();
    if (key_end != nullptr) {
      const auto end = static_cast<uint32_t>(key_to - keys);
      std::memcpy(key_end + 4 * uint64_t{i}, &end, sizeof end);
    }
    if (value_end != nullptr) {
      const auto end = static_cast<uint32_t>(value_to - values);
      std::memcpy(value_end + 4 * uint64_t{i}, &end, sizeof end);
    }
    if constexpr (tagged) tags[i] = static_cast<char>(tag_at(i));
  }
}

}  // namespace mr::task
