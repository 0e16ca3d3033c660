// Counts words on the map side of wordcount: an open-addressing hash table with bounded memory. A full table emits its
// words in the order in which they were first seen. That order depends only on the input, so two attempts of a task
// emit the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/builtin/hash.h"

namespace mr::builtin {

class WordTable {
 public:
  // Bounds (measured: beyond about 32 MiB the cache misses of the table cost more than repeated words).
  static constexpr size_t kMaxWords = 1u << 19;
  static constexpr size_t kMaxBytes = 16u << 20;

  explicit WordTable(size_t max_words = kMaxWords, size_t max_bytes = kMaxBytes)
      : max_words_(max_words), max_bytes_(max_bytes), slots_(kFirstSlots) {}

  // Counts the word. If there is no room for a new one, calls flush(word, count) for all words. Bytes up to `readable`
  // may be read, so that short words are loaded whole, which gives most of the speed. Requires: a word that is not
  // empty and ends at or before `readable`.
  template <class Flush>
  void Count(std::string_view word, const char* readable, Flush&& flush) {
    const Probe probe = MakeProbe(word, readable);
    const auto length = static_cast<uint32_t>(word.size());
    size_t at = probe.hash & (slots_.size() - 1);
    for (; slots_[at].count != 0; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.low == probe.low && slot.high == probe.high && slot.length == length &&
          (length <= kInline || std::memcmp(bytes_.data() + slot.offset, word.data(), length) == 0)) {
        ++slot.count;
        return;
      }
    }
    Insert(probe, at, word, flush);
  }

  template <class Flush>
  void Drain(Flush&& flush) {
    for (const uint32_t at : order_) {
      const Slot& slot = slots_[at];
      flush(std::string_view(bytes_).substr(slot.offset, slot.length), slot.count);
    }
    for (const uint32_t at : order_) slots_[at].count = 0;
    order_.clear();
    bytes_.clear();
  }

 private:
  // Words of up to kInline bytes are compared as two numbers. Longer words are compared by hash, then by bytes.
  static constexpr size_t kInline = 16;
  static constexpr size_t kFirstSlots = 1u << 12;

  struct Slot {
    uint64_t low = 0, high = 0;
    int64_t count = 0;  // 0: the slot is free
    uint32_t offset = 0, length = 0;
  };
  struct Probe {
    uint64_t low, high, hash;
  };

  static uint64_t Load(const char* p) {
    uint64_t v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static uint64_t Hash(uint64_t low, uint64_t high, size_t n) {
    return Mix(low ^ 0x9e3779b97f4a7c15, high ^ 0xd6e8feb86659fd93 ^ n);
  }

  static Probe MakeProbe(std::string_view word, const char* readable) {
    // Mask of the bytes that belong to a word of n, of 16 bytes loaded: kMask[16 - n .. 32 - n).
    static constexpr auto kMask = [] {
      std::array<uint8_t, 2 * kInline> mask{};
      for (size_t i = 0; i < kInline; ++i) mask[i] = 0xff;
      return mask;
    }();
    const char* p = word.data();
    const size_t n = word.size();
    uint64_t low, high;
    if (n > kInline) {
      low = n;
      size_t i = 0;
      for (; i + 8 <= n; i += 8) low = Mix(low ^ Load(p + i), 0xa0761d6478bd642f);
      low = Mix(low ^ Load(p + n - 8), 0xe7037ed1a0b428db);
      high = 0;
    } else if (readable - p >= static_cast<ptrdiff_t>(kInline)) {
      const auto* mask = reinterpret_cast<const char*>(kMask.data()) + kInline - n;
      low = Load(p) & Load(mask);
      high = Load(p + 8) & Load(mask + 8);
    } else {
      char padded[kInline] = {};
      std::memcpy(padded, p, n);
      low = Load(padded);
      high = Load(padded + 8);
    }
    return {low, high, Hash(low, high, n)};
  }

  template <class Flush>
  void Insert(const Probe& probe, size_t at, std::string_view word, Flush&& flush) {
    if (order_.size() == max_words_ || bytes_.size() + word.size() > max_bytes_) {
      Drain(flush);
      at = probe.hash & (slots_.size() - 1);
    }
    slots_[at] = {probe.low, probe.high, 1, static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(word.size())};
    bytes_.append(word);
    order_.push_back(static_cast<uint32_t>(at));
    if (order_.size() * 2 > slots_.size()) Grow();
  }

  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (uint32_t& place : order_) {
      const Slot& slot = old[place];
      size_t at = Hash(slot.low, slot.high, slot.length) & (slots_.size() - 1);
      while (slots_[at].count != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
      place = static_cast<uint32_t>(at);
    }
  }

  const size_t max_words_, max_bytes_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::vector<uint32_t> order_;
  std::string bytes_;
};

}  // namespace mr::builtin
