// Sorts keys by their bytes (memcmp, the shorter of two with a common prefix first): a radix sort by 8 bytes at a time.
// It reads a key's memory only where the 8 bytes before are equal to another key's. For a million words it takes half
// of the time of std::sort (measured).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "paceline/hash.h"

namespace mr::sdk {

struct KeyItem {
  uint64_t prefix = 0;  // KeyPrefix of the key; the sort overwrites it
  uint32_t number = 0;  // of the key
};

// Keys: key(number) returns the bytes of a key. Prefetch(number) is called some keys before PrefetchKey(number, depth),
// which prefetches the bytes from `depth` on, and that some keys before key(number).
template <class Keys>
class KeySort {
 public:
  // Sorts items with different keys, in place.
  static void Sort(const Keys& keys, std::span<KeyItem> items) {
    KeySort(keys, items.data()).Level({0, items.size()}, 0, 0);
  }

 private:
  struct Range {
    size_t from, to;
    size_t size() const { return to - from; }
  };
  // Ranges of this size or less are compared directly (guess).
  static constexpr size_t kSmall = 48;
  // Nested levels of 8 bytes at most, for the sake of the stack; keys that need more are compared directly.
  static constexpr int kDeepest = 32;
  static constexpr size_t kAhead = 16;  // prefetch distance in keys (guess)

  KeySort(const Keys& keys, KeyItem* items) : keys_(keys), items_(items) {}

  // Sorts a range by the prefixes, which hold the bytes from `depth` on, and then by what follows them.
  void Level(Range range, size_t depth, int nested) {
    if (nested == kDeepest) return Directly(range);
    if (range.size() > kSmall) return ByByte(range, 56, depth, nested);
    std::sort(items_ + range.from, items_ + range.to, ByPrefix);
    for (size_t from = range.from, to; from < range.to; from = to) {
      for (to = from + 1; to < range.to && items_[to].prefix == items_[from].prefix;) ++to;
      if (to - from > 1) Equal({from, to}, depth, nested);
    }
  }
  static bool ByPrefix(const KeyItem& a, const KeyItem& b) { return a.prefix < b.prefix; }
  void Directly(Range range) {
    std::sort(items_ + range.from, items_ + range.to,
              [this](const KeyItem& a, const KeyItem& b) { return keys_.key(a.number) < keys_.key(b.number); });
  }

  void ByByte(Range range, int shift, size_t depth, int nested) {
    if (range.size() <= kSmall) return Level(range, depth, nested);
    std::array<uint32_t, 256> count{};
    for (;; shift -= 8) {
      if (shift < 0) return Equal(range, depth, nested);
      count = {};
      for (size_t i = range.from; i < range.to; ++i) ++count[items_[i].prefix >> shift & 255];
      if (count[items_[range.from].prefix >> shift & 255] != range.size()) break;  // else all have the same byte
    }
    // Moves each item to its bucket in place, along the cycles of the permutation.
    std::array<uint32_t, 256> at, end;
    size_t next = range.from;
    for (size_t b = 0; b < 256; ++b) {
      at[b] = static_cast<uint32_t>(next);
      next += count[b];
      end[b] = static_cast<uint32_t>(next);
    }
    for (size_t b = 0; b < 256; ++b) {
      while (at[b] != end[b]) {
        KeyItem item = items_[at[b]];
        for (size_t to; (to = item.prefix >> shift & 255) != b;) std::swap(item, items_[at[to]++]);
        items_[at[b]++] = item;
      }
    }
    next = range.from;
    for (size_t b = 0; b < 256; ++b) {
      const Range part{next, next + count[b]};
      next = part.to;
      if (part.size() < 2) continue;
      if (shift > 0) {
        ByByte(part, shift - 8, depth, nested);
      } else {
        Equal(part, depth, nested);
      }
    }
  }

  // Sorts a range with equal prefixes.
  void Equal(Range range, size_t depth, int nested) {
    for (;;) {
      depth += 8;
      for (size_t i = range.from; i < std::min(range.from + 2 * kAhead, range.to); ++i)
        keys_.Prefetch(items_[i].number);
      for (size_t i = range.from; i < std::min(range.from + kAhead, range.to); ++i) Bytes(i, depth);
      // Keys that have ended go first, by length: each is the next one without some zeros at its end.
      const size_t first = range.from;
      uint64_t differ = 0;
      for (size_t i = first; i < range.to; ++i) {
        if (i + 2 * kAhead < range.to) keys_.Prefetch(items_[i + 2 * kAhead].number);
        if (i + kAhead < range.to) Bytes(i + kAhead, depth);
        const std::string_view key = keys_.key(items_[i].number);
        if (key.size() > depth) {
          items_[i].prefix = KeyPrefix(key, depth);
          differ |= items_[i].prefix ^ items_[range.from].prefix;
          continue;
        }
        items_[i].prefix = key.size();
        std::swap(items_[i], items_[range.from++]);
        if (i + 1 < range.to) differ = 1;  // the range begins with another item, which was not compared
      }
      std::sort(items_ + first, items_ + range.from, ByPrefix);
      if (range.size() < 2) return;
      if (differ != 0) return Level(range, depth, nested + 1);
    }
  }
  void Bytes(size_t item, size_t depth) const { keys_.PrefetchKey(items_[item].number, depth); }

  const Keys& keys_;
  KeyItem* const items_;
};

}  // namespace mr::sdk
