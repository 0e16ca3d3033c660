// Counts of words, for the map side of wordcount: an open-addressing hash table whose memory is
// bounded. It empties itself, in the order in which words were first seen, when it is full; that
// depends on the input alone, so two attempts of a task emit the same bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace mr::builtin {

class WordTable {
 public:
  // Bounds (measured: beyond about 32 MiB the misses of the table cost more than repeated words).
  static constexpr size_t kMaxWords = 1u << 19;
  static constexpr size_t kMaxBytes = 16u << 20;

  explicit WordTable(size_t max_words = kMaxWords, size_t max_bytes = kMaxBytes)
      : max_words_(max_words), max_bytes_(max_bytes), slots_(kFirstSlots) {}

  // flush(word, count) is called for all words if there is no room for a new one.
  template <class Flush>
  void Count(std::string_view word, Flush&& flush) {
    const uint64_t hash = Hash(word);
    size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].count != 0; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.hash == hash && slot.length == word.size() &&
          std::memcmp(bytes_.data() + slot.offset, word.data(), word.size()) == 0) {
        ++slot.count;
        return;
      }
    }
    Insert(hash, at, word, flush);
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
  struct Slot {
    uint64_t hash = 0;
    int64_t count = 0;  // 0: free
    uint32_t offset = 0, length = 0;
  };
  static constexpr size_t kFirstSlots = 1u << 12;

  static uint64_t Load(const char* p, size_t n) {
    uint64_t v = 0;
    std::memcpy(&v, p, n);
    return v;
  }
  static uint64_t Mix(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  // Only for this table: the engine's partitions do not depend on it.
  static uint64_t Hash(std::string_view w) {
    constexpr uint64_t kA = 0x9e3779b97f4a7c15, kB = 0xd6e8feb86659fd93;
    const char* p = w.data();
    size_t n = w.size();
    uint64_t h = n * kA;
    for (; n > 16; n -= 16, p += 16) h = Mix(h ^ Load(p, 8) ^ kA, Load(p + 8, 8) ^ kB);
    uint64_t a, b;  // the last 1 to 16 bytes, overlapping where they can
    if (n >= 8) {
      a = Load(p, 8);
      b = Load(p + n - 8, 8);
    } else if (n >= 4) {
      a = Load(p, 4);
      b = Load(p + n - 4, 4);
    } else {
      a = static_cast<uint8_t>(p[0]) | uint64_t{static_cast<uint8_t>(p[n / 2])} << 8 |
          uint64_t{static_cast<uint8_t>(p[n - 1])} << 16;
      b = 0;
    }
    return Mix(h ^ a ^ kA, b ^ kB);
  }

  template <class Flush>
  void Insert(uint64_t hash, size_t at, std::string_view word, Flush&& flush) {
    if (order_.size() == max_words_ || bytes_.size() + word.size() > max_bytes_) {
      Drain(flush);
      at = hash & (slots_.size() - 1);
    }
    slots_[at] = {hash, 1, static_cast<uint32_t>(bytes_.size()),
                  static_cast<uint32_t>(word.size())};
    bytes_.append(word);
    order_.push_back(static_cast<uint32_t>(at));
    if (order_.size() * 2 > slots_.size()) Grow();
  }

  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (uint32_t& place : order_) {
      const Slot& slot = old[place];
      size_t at = slot.hash & (slots_.size() - 1);
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
