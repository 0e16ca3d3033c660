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

#include "paceline/hash.h"

namespace mr::builtin {

class WordTable {
 public:
  // Most bytes of a table: half a million words, and 16 MiB for those that are long (measured: beyond about 32 MiB of
  // slots the cache misses of the table cost more than repeated words).
  static constexpr size_t kMostBytes = 48u << 20;

  // A table of about `bytes` of memory.
  explicit WordTable(size_t bytes = kMostBytes) : WordTable(bytes / 96, bytes / 3) {}
  WordTable(size_t max_words, size_t max_bytes) : max_words_(max_words), max_bytes_(max_bytes), slots_(kFirstSlots) {}

  // Counts the word, some words later: until Settle() its bytes must stay. If there is no room for a new one, calls
  // flush(word, count) for all words. Bytes up to `readable` may be read, so that short words are loaded whole, which
  // gives most of the speed. Requires: a word that is not empty and ends at or before `readable`.
  template <class Flush>
  void Count(std::string_view word, const char* readable, Flush&& flush) {
    Pending& pending = pending_[next_ % kAhead];
    if (next_ >= kAhead) Add(pending, flush);
    pending = {MakeProbe(word, readable), word};
    __builtin_prefetch(&slots_[pending.probe.hash & (slots_.size() - 1)], 1);
    ++next_;
  }
  // Counts the words that are pending.
  template <class Flush>
  void Settle(Flush&& flush) {
    for (size_t i = next_ < kAhead ? 0 : next_ - kAhead; i < next_; ++i) Add(pending_[i % kAhead], flush);
    next_ = 0;
  }

  // Calls flush for all words, and removes them. Requires: Settle() was called since the last Count().
  template <class Flush>
  void Drain(Flush&& flush) {
    for (size_t i = 0; i < order_.size(); ++i) {
      if (i + kAhead < order_.size()) __builtin_prefetch(&slots_[order_[i + kAhead]], 1);
      Slot& slot = slots_[order_[i]];
      flush(std::string_view(bytes_).substr(slot.offset, slot.length), slot.count);
      slot.count = 0;
    }
    order_.clear();
    bytes_.clear();
  }

 private:
  // Words of up to kInline bytes are compared as two numbers. Longer words are compared by hash, then by bytes.
  static constexpr size_t kInline = 16;
  static constexpr size_t kFirstSlots = 1u << 12;
  // A word's slot is prefetched so many words before it is read (measured: .6 of the time of a count without it; 32
  // gives the same).
  static constexpr size_t kAhead = 16;

  struct Slot {
    uint64_t low = 0, high = 0;
    int64_t count = 0;  // 0: the slot is free
    uint32_t offset = 0, length = 0;
  };
  struct Probe {
    uint64_t low, high, hash;
  };
  struct Pending {
    Probe probe;
    std::string_view word;
  };

  static uint64_t Hash(uint64_t low, uint64_t high, size_t n) {
    return sdk::MixBits(low ^ 0x9e3779b97f4a7c15, high ^ 0xd6e8feb86659fd93 ^ n);
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
      for (; i + 8 <= n; i += 8) low = sdk::MixBits(low ^ sdk::Load64(p + i), 0xa0761d6478bd642f);
      low = sdk::MixBits(low ^ sdk::Load64(p + n - 8), 0xe7037ed1a0b428db);
      high = 0;
    } else if (readable - p >= static_cast<ptrdiff_t>(kInline)) {
      const auto* mask = reinterpret_cast<const char*>(kMask.data()) + kInline - n;
      low = sdk::Load64(p) & sdk::Load64(mask);
      high = sdk::Load64(p + 8) & sdk::Load64(mask + 8);
    } else {
      char padded[kInline] = {};
      std::memcpy(padded, p, n);
      low = sdk::Load64(padded);
      high = sdk::Load64(padded + 8);
    }
    return {low, high, Hash(low, high, n)};
  }

  template <class Flush>
  void Add(const Pending& pending, Flush&& flush) {
    const auto& [probe, word] = pending;
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
    if (order_.size() == max_words_ || bytes_.size() + length > max_bytes_) {
      Drain(flush);
      at = probe.hash & (slots_.size() - 1);
    }
    slots_[at] = {probe.low, probe.high, 1, static_cast<uint32_t>(bytes_.size()), length};
    bytes_.append(word);
    order_.push_back(static_cast<uint32_t>(at));
    if (order_.size() * 2 > slots_.size()) Grow();
  }

  void Grow() {
    // Four times as many: a growing table is filled again less often.
    std::vector<Slot> old(slots_.size() * 4);
    old.swap(slots_);
    for (size_t i = 0; i < order_.size(); ++i) {
      if (i + kAhead < order_.size()) __builtin_prefetch(&old[order_[i + kAhead]]);
      const Slot& slot = old[order_[i]];
      size_t at = Hash(slot.low, slot.high, slot.length) & (slots_.size() - 1);
      while (slots_[at].count != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
      order_[i] = static_cast<uint32_t>(at);
    }
  }

  const size_t max_words_, max_bytes_;
  std::array<Pending, kAhead> pending_;  // a ring
  size_t next_ = 0;
  std::vector<Slot> slots_;      // a power of two, at most half full
  std::vector<uint32_t> order_;  // places of the words, by first sight
  std::string bytes_;
};

}  // namespace mr::builtin
