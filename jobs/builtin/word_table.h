// Counts words on the map side of wordcount: an open-addressing hash table with bounded memory. A full table emits its
// words in the order in which they were first seen. That order depends only on the input, so two attempts of a task
// emit the same bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/builtin/word_key.h"
#include "paceline/text.h"

namespace mr::builtin {

class WordTable {
 public:
  // Most bytes of a table: half a million words, and 16 MiB for those that are long (measured: beyond about 32 MiB of
  // slots the cache misses of the table cost more than repeated words).
  static constexpr size_t kMostBytes = 48u << 20;

  // A table of about `bytes` of memory.
  explicit WordTable(size_t bytes = kMostBytes) : WordTable(bytes / 96, bytes / 3) {}
  // max_bytes: of words that are longer than a key.
  WordTable(size_t max_words, size_t max_bytes) : max_words_(max_words), max_bytes_(max_bytes), slots_(kFirstSlots) {}

  // Counts the words of the text: maximal runs of bytes that are not ASCII white space. If there is no room for a new
  // one, calls flush(word, count) for all words. Requires: a text of less than 4 GiB.
  template <class Flush>
  void Count(std::string_view text, Flush&& flush) {
#if defined(__x86_64__)
    static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                            __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    if (has) return CountByNewInstructions(text, flush);
#endif
    CountBlocks(text, flush);
  }

  // Calls flush for all words, and removes them.
  template <class Flush>
  void Drain(Flush&& flush) {
    for (size_t i = 0; i < order_.size(); ++i) {
      if (i + kAhead < order_.size()) __builtin_prefetch(&slots_[order_[i + kAhead]], 1);
      Slot& slot = slots_[order_[i]];
      char bytes[WordKey::kBytes];
      slot.key.Write(bytes);
      const std::string_view word = slot.length <= WordKey::kBytes
                                        ? std::string_view(bytes, slot.length)
                                        : std::string_view(bytes_).substr(slot.offset, slot.length);
      flush(word, slot.count);
      slot = {};
    }
    order_.clear();
    bytes_.clear();
  }

 private:
  static constexpr size_t kFirstSlots = 1u << 12;
  // Words of so many bytes of text are found, then hashed, then looked up: no loop has branches that cannot be
  // predicted, and the slots arrive in the cache meanwhile (measured: 1024 is no faster).
  static constexpr size_t kBlock = 512;
  static constexpr size_t kChunk = 64;
  // Borders of words that are stored per chunk without a look at their number (measured: 8 and 24 are no faster).
  static constexpr size_t kStored = 20;
  static constexpr size_t kAhead = 16;  // slots of a list are prefetched so many words before they are read (guess)

  struct Slot {
    WordKey key{};      // of zeros: the slot is free
    int64_t count = 0;  // 0: the slot is free
    uint32_t offset = 0, length = 0;
  };

#if defined(__x86_64__)
  template <class Flush>
  __attribute__((target("avx2,bmi,bmi2,popcnt"))) void CountByNewInstructions(std::string_view text, Flush&& flush) {
    CountBlocks(text, flush);
  }
#endif

  // The functions below are inlined, so that each caller compiles them for the instructions that it may use.

  // Stores the places of the set bits, plus `base`, and returns the end of these.
  [[gnu::always_inline]] static inline uint32_t* Store(uint64_t bits, size_t base, uint32_t* to) {
    uint32_t* const end = to + std::popcount(bits);
    const auto take = [&] {
      const auto place = static_cast<uint32_t>(std::countr_zero(bits));
      bits &= bits - 1;
      return static_cast<uint32_t>(base) + place;
    };
    for (size_t i = 0; i < kStored; ++i) to[i] = take();
    for (to += kStored; to < end; ++to) *to = take();
    return end;
  }

  [[gnu::always_inline]] static inline WordKey KeyOf(const char* word, size_t n, const char* end_of_text) {
    if (__builtin_expect(n > WordKey::kBytes, 0)) return WordKey::OfLong(word, n);
    char padded[WordKey::kBytes] = {};
    if (__builtin_expect(end_of_text - word < static_cast<ptrdiff_t>(WordKey::kBytes), 0)) {
      std::memcpy(padded, word, n);
      word = padded;
    }
    return {word, n};
  }

  template <class Flush>
  [[gnu::always_inline]] inline void CountBlocks(std::string_view text, Flush&& flush) {
    // Two per word: where it begins, and where it ends.
    uint32_t borders[kBlock + kStored + 2];
    const char* const end = text.data() + text.size();
    uint64_t before = 1;  // the byte before is white space
    size_t stored = 0;
    for (size_t from = 0; from < text.size(); from += kBlock) {
      const size_t to = std::min(text.size(), from + kBlock);
      uint32_t* border = borders + stored;
      for (size_t at = from; at < to; at += kChunk) {
        uint64_t space;
        if (to - at >= kChunk) {
          space = sdk::SpaceMask64(text.data() + at);
        } else {
          char last[kChunk];
          std::memset(last, ' ', sizeof last);
          std::memcpy(last, text.data() + at, to - at);
          space = sdk::SpaceMask64(last);
        }
        border = Store(space ^ (space << 1 | before), at, border);
        before = space >> 63;
      }
      stored = static_cast<size_t>(border - borders);
      if (to == text.size() && stored % 2 != 0) borders[stored++] = static_cast<uint32_t>(text.size());
      AddWords(text.data(), end, borders, stored / 2, flush);
      // A word may end in the next block.
      borders[0] = borders[stored / 2 * 2];
      stored %= 2;
    }
  }

  template <class Flush>
  [[gnu::always_inline]] inline void AddWords(const char* text, const char* end_of_text, const uint32_t* borders,
                                              size_t n, Flush&& flush) {
    WordKey keys[kBlock / 2 + 1];
    uint32_t hashes[kBlock / 2 + 1];
    Slot* slots = slots_.data();
    size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < n; ++i) {
      keys[i] = KeyOf(text + borders[2 * i], borders[2 * i + 1] - borders[2 * i], end_of_text);
      hashes[i] = static_cast<uint32_t>(keys[i].hash());
      __builtin_prefetch(slots + (hashes[i] & mask), 1);
    }
    for (size_t i = 0; i < n; ++i) {
      const std::string_view word(text + borders[2 * i], borders[2 * i + 1] - borders[2 * i]);
      for (size_t at = hashes[i] & mask;; at = (at + 1) & mask) {
        Slot& slot = slots[at];
        if (__builtin_expect(slot.key == keys[i], 1)) {
          if (__builtin_expect(word.size() > WordKey::kBytes, 0) && !Same(slot, word)) continue;
          ++slot.count;
          break;
        }
        if (slot.count == 0) {
          Insert(keys[i], word, at, flush);
          slots = slots_.data();
          mask = slots_.size() - 1;
          break;
        }
      }
    }
  }

  bool Same(const Slot& slot, std::string_view word) const {
    return std::string_view(bytes_).substr(slot.offset, slot.length) == word;
  }

  // at: the free slot where the search for the word ended.
  template <class Flush>
  [[gnu::noinline]] void Insert(WordKey key, std::string_view word, size_t at, Flush&& flush) {
    const bool is_long = word.size() > WordKey::kBytes;
    if (order_.size() == max_words_ || (is_long && bytes_.size() + word.size() > max_bytes_)) {
      Drain(flush);
      at = key.hash() & (slots_.size() - 1);
    }
    slots_[at] = {key, 1, static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(word.size())};
    if (is_long) bytes_.append(word);
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
      size_t at = slot.key.hash() & (slots_.size() - 1);
      while (slots_[at].count != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
      order_[i] = static_cast<uint32_t>(at);
    }
  }

  const size_t max_words_, max_bytes_;
  std::vector<Slot> slots_;      // a power of two, at most half full
  std::vector<uint32_t> order_;  // places of the words, by first sight
  std::string bytes_;            // of the words that are longer than a key
};

}  // namespace mr::builtin
