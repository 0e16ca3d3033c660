// Batch v1: many records in one block of bytes. Operators take and emit batches, a shuffle chunk holds
// one, and the arena carries them. Self-contained: the SDK includes it.
//
//   header (32 bytes, little-endian, see BatchHeader)
//   u32 key_end[n]     unless kFixedKeys    end offset of each key within the key bytes
//   u32 value_end[n]   unless kFixedValues
//   u8  tag[n]         only with kTagged, padded with zeros to a multiple of 4 bytes: the index of
//                      the stage input from which a record of a merged (grouped) batch came
//   key bytes, value bytes
//
// Keys are ordered by memcmp of their encoded bytes, the shorter of two with a common prefix first.
// A record (key + value) has at most kMaxRecordBytes. Bytes from a child, a peer or a disk go
// through BatchView::Parse, which checks every length once. After that access is unchecked.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi/growing_bytes.h"

namespace mr {

inline constexpr uint32_t kBatchMagic = 0x3142524d;  // "MRB1"
inline constexpr uint16_t kBatchVersion = 1;
inline constexpr uint32_t kMaxRecordBytes = 16u << 20;
// The size at which a builder is full. A chunk of the shuffle is one batch of about this size.
inline constexpr uint32_t kBatchTargetBytes = 1u << 20;
// The bytes that an emitting operator collects before it gives a batch to the host (guess: fits in L2).
inline constexpr uint32_t kEmitTargetBytes = 128u << 10;

enum BatchFlags : uint16_t {
  kSorted = 1,        // keys ascend
  kFixedKeys = 2,     // every key has fixed_key bytes
  kFixedValues = 4,   // every value has fixed_value bytes
  kContinuation = 8,  // the first record's key equals the last key of the batch before
  kTagged = 16,       // a tag array is there
};
inline constexpr uint16_t kKnownBatchFlags = 31;

struct BatchHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t flags;
  uint32_t n;
  uint32_t key_bytes;
  uint32_t value_bytes;
  uint32_t fixed_key;
  uint32_t fixed_value;
  uint32_t reserved;  // zero
};
static_assert(sizeof(BatchHeader) == 32);

// A checked, borrowed view of one batch. Valid as long as the bytes exist and nobody writes them.
// Requires: 4-byte aligned bytes (Parse refuses others).
class BatchView {
 public:
  BatchView() = default;

  // Checks a batch and sets *out. Returns null, or a static text with the error. ours: this process made the batch, so
  // its offsets are right; skips the pass over them, for callers that read few records.
  static const char* Parse(const void* data, uint64_t size, BatchView* out, bool ours = false) {
    if (reinterpret_cast<uintptr_t>(data) % 4 != 0) return "batch is not 4-byte aligned";
    if (size < sizeof(BatchHeader)) return "batch is shorter than its header";
    BatchHeader h;
    std::memcpy(&h, data, sizeof h);
    if (h.magic != kBatchMagic) return "batch has a wrong magic number";
    if (h.version != kBatchVersion) return "batch has an unknown version";
    if ((h.flags & ~kKnownBatchFlags) != 0 || h.reserved != 0) return "batch has unknown flags";
    const bool fixed_keys = (h.flags & kFixedKeys) != 0;
    const bool fixed_values = (h.flags & kFixedValues) != 0;
    if (!fixed_keys && h.fixed_key != 0) return "batch has a stray fixed key length";
    if (!fixed_values && h.fixed_value != 0) return "batch has a stray fixed value length";
    uint64_t need = sizeof(BatchHeader);
    if (!fixed_keys) need += uint64_t{4} * h.n;
    if (!fixed_values) need += uint64_t{4} * h.n;
    if (h.flags & kTagged) need += (uint64_t{h.n} + 3) / 4 * 4;
    need += uint64_t{h.key_bytes} + h.value_bytes;
    if (need != size) return "batch length differs from its header";
    BatchView v;
    v.header_ = h;
    const auto* at = static_cast<const uint8_t*>(data) + sizeof(BatchHeader);
    if (!fixed_keys) {
      v.key_end_ = reinterpret_cast<const uint32_t*>(at);
      at += uint64_t{4} * h.n;
    } else if (uint64_t{h.fixed_key} * h.n != h.key_bytes) {
      return "batch key bytes differ from n x fixed length";
    }
    if (!fixed_values) {
      v.value_end_ = reinterpret_cast<const uint32_t*>(at);
      at += uint64_t{4} * h.n;
    } else if (uint64_t{h.fixed_value} * h.n != h.value_bytes) {
      return "batch value bytes differ from n x fixed length";
    }
    if (h.flags & kTagged) {
      v.tag_ = at;
      at += (uint64_t{h.n} + 3) / 4 * 4;
    }
    v.keys_ = reinterpret_cast<const char*>(at);
    v.values_ = v.keys_ + h.key_bytes;
    if (ours) {
      *out = v;
      return nullptr;
    }
    if (!CheckEnds(v.key_end_, h.n, h.key_bytes)) return "batch key offsets do not ascend to the key bytes";
    if (!CheckEnds(v.value_end_, h.n, h.value_bytes)) return "batch value offsets do not ascend to the value bytes";
    for (uint32_t i = 0; i < h.n; ++i) {
      if (v.key(i).size() + v.value(i).size() > kMaxRecordBytes) return "batch has a record above 16 MiB";
    }
    *out = v;
    return nullptr;
  }

  uint32_t size() const { return header_.n; }
  uint16_t flags() const { return header_.flags; }
  bool sorted() const { return header_.flags & kSorted; }
  uint32_t key_bytes() const { return header_.key_bytes; }
  uint32_t value_bytes() const { return header_.value_bytes; }

  std::string_view key(uint32_t i) const {
    if (key_end_ == nullptr) return {keys_ + uint64_t{i} * header_.fixed_key, header_.fixed_key};
    const uint32_t from = i == 0 ? 0 : key_end_[i - 1];
    return {keys_ + from, key_end_[i] - from};
  }
  std::string_view value(uint32_t i) const {
    if (value_end_ == nullptr) return {values_ + uint64_t{i} * header_.fixed_value, header_.fixed_value};
    const uint32_t from = i == 0 ? 0 : value_end_[i - 1];
    return {values_ + from, value_end_[i] - from};
  }
  // Returns the index of the stage input; 0 where the batch is not tagged.
  uint8_t tag(uint32_t i) const { return tag_ == nullptr ? 0 : tag_[i]; }

 private:
  static bool CheckEnds(const uint32_t* end, uint32_t n, uint32_t total) {
    if (end == nullptr) return true;
    uint32_t last = 0;
    bool ascends = true;
    for (uint32_t i = 0; i < n; ++i) {
      ascends &= end[i] >= last;
      last = end[i];
    }
    return ascends && last == total;
  }

  BatchHeader header_{};
  const uint32_t* key_end_ = nullptr;
  const uint32_t* value_end_ = nullptr;
  const uint8_t* tag_ = nullptr;
  const char* keys_ = nullptr;
  const char* values_ = nullptr;
};

// Collects records and writes them as one batch. After Clear() it is reused without allocation.
class BatchBuilder {
 public:
  // Adds a record. Requires: key.size() + value.size() <= kMaxRecordBytes, and that the totals stay below 4 GiB.
  void Add(std::string_view key, std::string_view value) {
    keys_.Append(key);
    values_.Append(value);
    key_end_.push_back(static_cast<uint32_t>(keys_.size()));
    value_end_.push_back(static_cast<uint32_t>(values_.size()));
  }
  void AddTagged(std::string_view key, std::string_view value, uint8_t tag) {
    Add(key, value);
    tags_.push_back(tag);
  }

  bool empty() const { return key_end_.empty(); }
  uint32_t size() const { return static_cast<uint32_t>(key_end_.size()); }
  // Returns an upper bound of the bytes that Finish writes, at most 3 too many if neither keys nor values have a fixed
  // length.
  uint64_t bytes() const {
    return sizeof(BatchHeader) + 8 * key_end_.size() + keys_.size() + values_.size() + tags_.size() + 3;
  }
  bool Full(uint64_t target = kBatchTargetBytes) const { return bytes() >= target; }

  // Removes all records but the first n. Requires: n <= size(), and none was added with a tag.
  void Truncate(uint32_t n) {
    if (n == size()) return;
    key_end_.resize(n);
    value_end_.resize(n);
    keys_.Shrink(n == 0 ? 0 : key_end_.back());
    values_.Shrink(n == 0 ? 0 : value_end_.back());
  }
  // Moves all records but the first n to the end of `to`. Requires: as for Truncate.
  void MoveTail(uint32_t n, BatchBuilder* to) {
    for (uint32_t i = n; i < size(); ++i) {
      const uint32_t key = i == 0 ? 0 : key_end_[i - 1], value = i == 0 ? 0 : value_end_[i - 1];
      to->Add(keys_.view().substr(key, key_end_[i] - key), values_.view().substr(value, value_end_[i] - value));
    }
    Truncate(n);
  }

  void Clear() {
    keys_.Clear();
    values_.Clear();
    key_end_.clear();
    value_end_.clear();
    tags_.clear();
  }

  // Appends the batch to `out` and clears the builder. flags: kSorted and kContinuation as they
  // apply. The fixed-length and tag flags are set here, so the bytes depend on the records alone.
  void Finish(uint16_t flags, std::string* out) {
    BatchHeader h{};
    h.magic = kBatchMagic;
    h.version = kBatchVersion;
    h.n = size();
    h.key_bytes = static_cast<uint32_t>(keys_.size());
    h.value_bytes = static_cast<uint32_t>(values_.size());
    h.flags = flags;
    const bool fixed_keys = FixedLength(key_end_, &h.fixed_key);
    const bool fixed_values = FixedLength(value_end_, &h.fixed_value);
    if (fixed_keys) h.flags |= kFixedKeys;
    if (fixed_values) h.flags |= kFixedValues;
    if (!tags_.empty()) h.flags |= kTagged;
    out->append(reinterpret_cast<const char*>(&h), sizeof h);
    if (!fixed_keys) Append(out, key_end_.data(), key_end_.size() * 4);
    if (!fixed_values) Append(out, value_end_.data(), value_end_.size() * 4);
    if (!tags_.empty()) {
      tags_.resize((tags_.size() + 3) / 4 * 4);
      Append(out, tags_.data(), tags_.size());
    }
    out->append(keys_.view());
    out->append(values_.view());
    Clear();
  }

 private:
  static void Append(std::string* out, const void* data, size_t size) {
    out->append(static_cast<const char*>(data), size);
  }
  // Returns whether all lengths are equal, and the length (also where there is no record).
  static bool FixedLength(const std::vector<uint32_t>& end, uint32_t* length) {
    const uint32_t first = end.empty() ? 0 : end[0];
    uint32_t last = 0;
    for (uint32_t e : end) {
      if (e - last != first) {
        *length = 0;
        return false;
      }
      last = e;
    }
    *length = first;
    return true;
  }

  GrowingBytes keys_, values_;
  std::vector<uint32_t> key_end_, value_end_;
  std::vector<uint8_t> tags_;
};

}  // namespace mr
