// The limit for wordcount: two threads, without an engine. Each thread has tables of its own, small enough for prefetch
// to work well: one of words of up to 16 bytes in cache lines, one of longer words. Tables grow in place, and become
// sorted lists in place, because the first use of memory costs more than the work on it.
//   limit_wordcount INPUT OUTPUT     writes OUTPUT.0 and OUTPUT.1 with lines `word TAB count`, both sorted by word;
//                                    prints the time of the count
#include "tests/bench/limit.h"

namespace mr::bench::limit {
namespace {

constexpr size_t kLongest = (size_t{1} << 24) - 1;

bool Space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Returns which of 64 bytes are part of words.
uint64_t WordBytes(const char* p) {
  const auto half = [](const char* at) {
    const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    const __m256i d = _mm256_sub_epi8(c, _mm256_set1_epi8('\t'));
    const __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(d, _mm256_set1_epi8('\r' - '\t')), d);
    const __m256i space = _mm256_or_si256(control, _mm256_cmpeq_epi8(c, _mm256_set1_epi8(' ')));
    return ~static_cast<uint32_t>(_mm256_movemask_epi8(space));
  };
  return half(p) | static_cast<uint64_t>(half(p + 32)) << 32;
}

// ---- Tables. A place is a hash times the number of places: a table of any size is in the order of its hashes, and
// each word of a table that grows moves behind where it was, if the last moves first.

constexpr size_t kAddresses = size_t{1} << 36;  // per table; memory is taken where it is written
constexpr size_t kAside = 4096;                 // places that move last, and places for the chain of the last one
// Fuller tables have long chains, emptier ones take more memory (measured: .65 and .8 are no faster).
constexpr double kLoad = .7;

size_t Place(uint64_t hash, size_t places) {
  return static_cast<size_t>((static_cast<unsigned __int128>(hash) * places) >> 64);
}

// A word without zeroes, padded with zeroes: in the order of memcmp.
struct __attribute__((packed, aligned(4))) ShortWord {
  uint64_t high, low;
  uint32_t count;
  unsigned __int128 key() const { return static_cast<unsigned __int128>(high) << 64 | low; }
  bool operator<(const ShortWord& other) const { return key() < other.key(); }
};
// A word in the memory of its table. chunk: its hash while words are counted, then some of its bytes.
struct __attribute__((packed, aligned(4))) LongWord {
  uint64_t chunk, at : 40, length : 24;
  uint32_t count;
};

class Longs {
 public:
  Longs() : text_(Memory<char>(kAddresses)), slots_(Memory<LongWord>(kAddresses / sizeof(LongWord))) { Size(1u << 15); }
  void Prefetch(uint64_t hash) const { __builtin_prefetch(slots_ + Place(hash, places_), 1); }
  void PrefetchText(uint64_t hash) const {
    const LongWord& slot = slots_[Place(hash, places_)];
    if (slot.chunk == hash) __builtin_prefetch(text_ + slot.at);
  }
  // Requires: more than 16 bytes.
  void Add(const char* word, uint32_t length, uint64_t hash) {
    for (LongWord* slot = slots_ + Place(hash, places_);; ++slot) {
      if (slot->count == 0) {
        *slot = {hash, Keep(word, length), length, 1};
        ++used_;
        return;
      }
      if (slot->chunk == hash && slot->length == length && Same(text_ + slot->at, word, length)) {
        ++slot->count;
        return;
      }
    }
  }
  void GrowIfFull() {
    if (static_cast<double>(used_) < kLoad * static_cast<double>(places_)) return;
    const size_t old = places_ + kAside;
    Size(places_ + places_ / 2);
    std::vector<LongWord> aside(slots_, slots_ + kAside);
    std::memset(static_cast<void*>(slots_), 0, kAside * sizeof(LongWord));
    for (size_t i = old; i-- > kAside;) {
      if (slots_[i].count == 0) continue;
      const LongWord word = slots_[i];
      slots_[i] = {};
      Move(word);
    }
    for (const LongWord& word : aside) {
      if (word.count != 0) Move(word);
    }
  }
  // Makes the table a list. Nothing can be counted after it.
  void Pack() {
    constexpr size_t kAhead = 32;
    size_t n = 0;
    for (size_t i = 0; i < places_ + kAside; ++i) {
      __builtin_prefetch(text_ + slots_[i + kAhead].at);
      if (slots_[i].count != 0) slots_[n++] = slots_[i];
    }
    used_ = n;
  }
  // Requires: Pack().
  void Append(const char* word, size_t length, uint32_t count) {
    slots_[used_++] = {0, Keep(word, length), static_cast<uint32_t>(length), count};
  }
  void Sort() {
    Load(slots_, slots_ + used_, 0);
    Sort(slots_, slots_ + used_, 0);
  }
  const char* text() const { return text_; }
  const LongWord* begin() const { return slots_; }
  const LongWord* end() const { return slots_ + used_; }

 private:
  static bool Same(const char* a, const char* b, size_t n) {
    const auto differ = [](const char* p, const char* q) {
      return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)),
                                              _mm_loadu_si128(reinterpret_cast<const __m128i*>(q)))) != 0xffff;
    };
    for (size_t i = 0; i + kInline < n; i += kInline) {
      if (differ(a + i, b + i)) return false;
    }
    return !differ(a + n - kInline, b + n - kInline);
  }
  uint64_t Keep(const char* word, size_t length) {
    const uint64_t at = end_;
    for (size_t i = 0; i < length; i += kInline) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(text_ + at + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(word + i)));
    }
    end_ += length;
    return at;
  }
  void Move(const LongWord& word) {
    LongWord* slot = slots_ + Place(word.chunk, places_);
    while (slot->count != 0) ++slot;
    *slot = word;
  }
  void Size(size_t places) { places_ = places; }

  // The 8 bytes of words from `depth` on, as a number; bytes behind the end are zeroes.
  void Load(LongWord* from, LongWord* to, size_t depth) const {
    for (LongWord* w = from; w < to; ++w) __builtin_prefetch(text_ + w->at + depth);
    for (LongWord* w = from; w < to; ++w) {
      const size_t left = Left(*w, depth);
      const uint64_t bytes = __builtin_bswap64(Load64(text_ + w->at + depth));
      w->chunk = left >= 8 ? bytes : left == 0 ? 0 : bytes & ~uint64_t{0} << (64 - 8 * left);
    }
  }
  // Bytes from `depth` on; 9 if there are more than 8. Orders words that differ in zeroes at their ends.
  static size_t Left(const LongWord& w, size_t depth) { return std::min<size_t>(w.length - depth, 9); }
  // Sorts different words that are equal before `depth`.
  void Sort(LongWord* from, LongWord* to, size_t depth) const {
    std::sort(from, to, [depth](const LongWord& a, const LongWord& b) {
      return a.chunk != b.chunk ? a.chunk < b.chunk : Left(a, depth) < Left(b, depth);
    });
    for (LongWord *w = from, *end; w < to; w = end) {
      for (end = w + 1; end < to && end->chunk == w->chunk && Left(*end, depth) == Left(*w, depth);) ++end;
      if (end - w == 1) continue;
      Load(w, end, depth + 8);
      Sort(w, end, depth + 8);
    }
  }

  char* text_;  // on huge pages, unlike the input
  uint64_t end_ = 0;
  LongWord* slots_;
  size_t places_, used_ = 0;
};

class Shorts {
 public:
  Shorts() : lines_(Memory<Line>(kAddresses / sizeof(Line))) {}
  size_t LineOf(__m128i key) const { return Place(Hash(key), places_); }
  void Prefetch(size_t line) const { __builtin_prefetch(lines_ + line, 1); }
  // key: padded with spaces, so that no word equals an unused slot.
  void Add(__m128i key, size_t line, uint32_t n) {
    for (Line* l = lines_ + line;; ++l) {
      for (size_t i = 0; i < kSlots; ++i) {
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(l->key[i], key)) == 0xffff) {
          l->count[i] += n;
          return;
        }
      }
      for (size_t i = 0; i < kSlots; ++i) {
        if (l->count[i] != 0) continue;
        l->key[i] = key;
        l->count[i] = n;
        ++used_;
        return;
      }
    }
  }
  void GrowIfFull() {
    if (static_cast<double>(used_) < kLoad * kSlots * static_cast<double>(places_)) return;
    const size_t old = places_ + kAside;
    places_ += places_ / 2;
    used_ = 0;
    std::vector<Line> aside(lines_, lines_ + kAside);
    std::memset(static_cast<void*>(lines_), 0, kAside * sizeof(Line));
    for (size_t i = old; i-- > kAside;) {
      if (lines_[i].count[0] == 0) continue;
      const Line line = lines_[i];
      lines_[i] = {};
      Move(line);
    }
    for (const Line& line : aside) Move(line);
  }
  // Makes the table a list. Words with zeroes become long ones.
  void Pack(Longs* longs) {
    static_assert(kSlots * sizeof(ShortWord) <= sizeof(Line));  // the list never passes what is read
    auto* to = reinterpret_cast<ShortWord*>(lines_);
    for (size_t i = 0; i < places_ + kAside; ++i) {
      const Line line = lines_[i];
      for (size_t s = 0; s < kSlots && line.count[s] != 0; ++s) {
        const __m128i spaces = _mm_cmpeq_epi8(line.key[s], _mm_set1_epi8(' '));
        const __m128i key = _mm_andnot_si128(spaces, line.key[s]);
        const auto zeroes = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(key, _mm_setzero_si128())));
        if (zeroes != static_cast<uint32_t>(_mm_movemask_epi8(spaces))) {
          const uint32_t pads = static_cast<uint32_t>(_mm_movemask_epi8(spaces)) | 1u << kInline;
          longs->Append(reinterpret_cast<const char*>(&line.key[s]), static_cast<size_t>(__builtin_ctz(pads)),
                        line.count[s]);
          continue;
        }
        *to++ = {__builtin_bswap64(static_cast<uint64_t>(_mm_cvtsi128_si64(key))),
                 __builtin_bswap64(static_cast<uint64_t>(_mm_extract_epi64(key, 1))), line.count[s]};
      }
    }
    packed_ = to;
  }
  void Sort() { std::sort(reinterpret_cast<ShortWord*>(lines_), packed_); }
  const ShortWord* begin() const { return reinterpret_cast<const ShortWord*>(lines_); }
  const ShortWord* end() const { return packed_; }

 private:
  static constexpr size_t kSlots = 3;
  struct alignas(64) Line {
    __m128i key[kSlots];
    uint32_t count[kSlots], unused;
  };
  void Move(const Line& line) {
    for (size_t i = 0; i < kSlots && line.count[i] != 0; ++i) Add(line.key[i], LineOf(line.key[i]), line.count[i]);
  }
  Line* lines_;
  size_t places_ = 1u << 15, used_ = 0;
  ShortWord* packed_ = nullptr;
};

// ---- The count ---------------------------------------------------------------------------------------

// Counts words. Thread: one.
class Counter {
 public:
  // Requires: [text, text + size) begins and ends at the borders of words.
  void Count(const char* text, size_t size) {
    uint64_t before = 0;  // 1: the byte before is part of a word
    size_t kept = 0;
    for (size_t block = 0; block < size; block += kBlock) {
      uint32_t* edge = edges_ + kept;
      const size_t end = std::min(size, block + kBlock);
      for (size_t i = block; i < end; i += 64) {
        uint64_t words = WordBytes(text + i);
        if (end - i < 64) words &= ~uint64_t{0} >> (64 - (end - i));
        edge = Positions(words ^ (words << 1 | before), static_cast<uint32_t>(i), edge);
        before = words >> 63;
      }
      if (end == size && (edge - edges_) % 2 != 0) *edge++ = static_cast<uint32_t>(size);
      kept = static_cast<size_t>(edge - edges_) % 2;
      const size_t words = static_cast<size_t>(edge - edges_) / 2;
      CountWords(text, words);
      edges_[0] = edges_[2 * words];
    }
  }
  void Sort() {
    longs_.Pack();
    shorts_.Pack(&longs_);
    shorts_.Sort();
    longs_.Sort();
  }
  const Shorts& shorts() const { return shorts_; }
  const Longs& longs() const { return longs_; }

 private:
  // Words of a block: their slots stay in the cache between prefetch and use (measured: 1024 and 4096 are no faster).
  static constexpr size_t kBlock = 2048;

  void CountWords(const char* text, size_t words) {
    size_t shorts = 0, longs = 0;
    for (size_t i = 0; i < words; ++i) {
      const char* word = text + edges_[2 * i];
      const uint32_t length = edges_[2 * i + 1] - edges_[2 * i];
      if (__builtin_expect(length <= kInline, 1)) {
        const __m128i key = keys_[shorts] = Padded(word, length, ' ');
        const size_t line = lines_[shorts++] = shorts_.LineOf(key);
        shorts_.Prefetch(line);
      } else {
        if (length > kLongest) Refuse("a word is longer than 16 MiB");
        far_[longs] = {word, HashLong(word, length), length};
        longs_.Prefetch(far_[longs++].hash);
      }
    }
    for (size_t i = 0; i < longs; ++i) longs_.PrefetchText(far_[i].hash);
    for (size_t i = 0; i < shorts; ++i) shorts_.Add(keys_[i], lines_[i], 1);
    shorts_.GrowIfFull();
    for (size_t i = 0; i < longs; ++i) longs_.Add(far_[i].word, far_[i].length, far_[i].hash);
    longs_.GrowIfFull();
  }

  struct Far {
    const char* word;
    uint64_t hash;
    uint32_t length;
  };
  Shorts shorts_;
  Longs longs_;
  uint32_t edges_[kBlock + 80];
  __m128i keys_[kBlock / 2 + 2];
  size_t lines_[kBlock / 2 + 2];
  Far far_[kBlock / kInline + 2];
};

// ---- The output --------------------------------------------------------------------------------------

// The words of both threads in order.
class Merge {
 public:
  using Key = unsigned __int128;

  // The words whose first 16 bytes are in [from, to). last: no upper bound.
  Merge(const Counter* counters, Key from, Key to, bool last) {
    for (size_t t = 0; t < kThreads; ++t) {
      const Shorts& shorts = counters[t].shorts();
      const auto short_at = [&](Key key) {
        return std::partition_point(shorts.begin(), shorts.end(), [&](const ShortWord& w) { return w.key() < key; });
      };
      const Longs& longs = counters[t].longs();
      const auto long_at = [&](Key key) {
        return std::partition_point(longs.begin(), longs.end(),
                                    [&](const LongWord& w) { return KeyOf(longs.text() + w.at, w.length) < key; });
      };
      shorts_[t] = {short_at(from), last ? shorts.end() : short_at(to)};
      longs_[t] = {long_at(from), last ? longs.end() : long_at(to), longs.text(), 0};
      longs_[t].Take();
    }
  }
  void Write(Output* output, Stream* stream) {
    size_t reserved = 0;
    for (;;) {
      if (stream->offset() + (64u << 20) > reserved) output->Reserve(reserved += 256u << 20);
      // A word of up to 16 bytes is before all longer ones that begin with it.
      const int order = longs_[0].Compare(longs_[1]);
      LongCursor& next = longs_[order <= 0 ? 0 : 1];
      WriteShorts(next.at == next.end, next.key, stream);
      if (next.at == next.end) return;
      uint64_t count = next.at->count;
      const char* text = next.text + next.at->at;
      const size_t length = next.at->length;
      if (order == 0) {
        count += longs_[1].at->count;
        longs_[1].Next();
      }
      if (length < 4096) {
        char* to = stream->Room();
        for (size_t i = 0; i < length; i += kInline) std::memcpy(to + i, text + i, kInline);
        stream->Took(Count(to + length, count));
      } else {
        stream->Append(text, length);
        stream->Took(Count(stream->Room(), count));
      }
      next.Next();
    }
  }
  static Key KeyOf(const char* text, size_t length) {
    const __m128i key = Padded(text, std::min(length, kInline), '\0');
    return static_cast<Key>(__builtin_bswap64(static_cast<uint64_t>(_mm_cvtsi128_si64(key)))) << 64 |
           __builtin_bswap64(static_cast<uint64_t>(_mm_extract_epi64(key, 1)));
  }

 private:
  struct LongCursor {
    const LongWord *at, *end;
    const char* text;
    Key key;
    void Take() {
      constexpr size_t kAhead = 16;  // guess
      if (at == end) return;
      __builtin_prefetch(text + at[kAhead].at);  // there is memory behind the end
      key = KeyOf(text + at->at, at->length);
    }
    void Next() {
      ++at;
      Take();
    }
    // The end is behind all words. Two ends differ.
    int Compare(const LongCursor& other) const {
      if (at == end) return 1;
      if (other.at == other.end) return -1;
      if (key != other.key) return key < other.key ? -1 : 1;
      const int c = std::memcmp(text + at->at, other.text + other.at->at, std::min(at->length, other.at->length));
      return c != 0 ? c : at->length < other.at->length ? -1 : at->length > other.at->length;
    }
  };
  // Writes the words up to `key`, or all.
  void WriteShorts(bool all, Key key, Stream* stream) {
    auto& [a, a_end] = shorts_[0];
    auto& [b, b_end] = shorts_[1];
    for (;;) {
      if (a == a_end && b == b_end) return;
      const bool has_a = a != a_end && (b == b_end || a->key() <= b->key());
      const bool has_b = b != b_end && (a == a_end || b->key() <= a->key());
      const ShortWord& word = has_a ? *a : *b;
      if (!all && word.key() > key) return;
      char* to = stream->Room();
      const uint64_t bytes[2] = {__builtin_bswap64(word.high), __builtin_bswap64(word.low)};
      std::memcpy(to, bytes, sizeof bytes);
      const size_t pads = word.low != 0 ? static_cast<size_t>(__builtin_ctzll(word.low)) / 8
                                        : 8 + static_cast<size_t>(__builtin_ctzll(word.high)) / 8;
      const uint64_t count = uint64_t{has_a ? a->count : 0} + (has_b ? b->count : 0);
      stream->Took(Count(to + kInline - pads, count));
      a += has_a;
      b += has_b;
    }
  }
  static char* Count(char* to, uint64_t count) {
    *to++ = '\t';
    char digits[20];
    size_t first = sizeof digits;
    do digits[--first] = static_cast<char>('0' + count % 10);
    while ((count /= 10) != 0);
    std::memcpy(to, digits + first, sizeof digits - first);
    to += sizeof digits - first;
    *to++ = '\n';
    return to;
  }

  std::pair<const ShortWord*, const ShortWord*> shorts_[kThreads];
  LongCursor longs_[kThreads];
};

// Returns a key with about half of the words before it.
Merge::Key Middle(const Counter* counters) {
  std::vector<Merge::Key> sample;
  for (size_t t = 0; t < kThreads; ++t) {
    const Shorts& shorts = counters[t].shorts();
    const Longs& longs = counters[t].longs();
    constexpr size_t kEach = 1024;  // one word of so many
    for (const ShortWord* w = shorts.begin(); w < shorts.end(); w += std::min<ptrdiff_t>(kEach, shorts.end() - w)) {
      sample.push_back(w->key());
    }
    for (const LongWord* w = longs.begin(); w < longs.end(); w += std::min<ptrdiff_t>(kEach, longs.end() - w)) {
      sample.push_back(Merge::KeyOf(longs.text() + w->at, w->length));
    }
  }
  if (sample.empty()) return 0;
  std::nth_element(sample.begin(), sample.begin() + sample.size() / 2, sample.end());
  return sample[sample.size() / 2];
}

int Main(const char* in_path, const std::string& out_path) {
  const double begin = Seconds();
  const Input in(in_path);
  auto* counters = new Counter[kThreads];
  std::atomic<size_t> next{0};
  Both([&](int t) {
    constexpr size_t kStripe = 4u << 20;
    for (size_t at; (at = next.fetch_add(kStripe)) < in.size;) {
      // A word belongs to the stripe that it begins in.
      size_t from = at, to = std::min(in.size, at + kStripe);
      in.Populate(from, to);
      while (from > 0 && from < to && !Space(in.data[from - 1])) ++from;
      while (from < to && to < in.size && !Space(in.data[to - 1])) ++to;
      counters[t].Count(in.data + from, to - from);
    }
  });
  const double counted = Seconds();
  Both([&](int t) { counters[t].Sort(); });
  const double sorted = Seconds();
  const Merge::Key middle = Middle(counters);
  Both([&](int t) {
    Output out(out_path + "." + std::to_string(t));
    Stream stream;
    stream.Begin(&out, 0);
    Merge(counters, t == 0 ? 0 : middle, middle, t == 1).Write(&out, &stream);
    stream.End();
    out.Finish(stream.offset());
  });
  std::fprintf(stderr, "counted in %.2f s (%.0f MB/s), sorted in %.2f s, written in %.2f s\n", counted - begin,
               static_cast<double>(in.size) / 1e6 / (counted - begin), sorted - counted, Seconds() - sorted);
  std::_Exit(0);
}

}  // namespace
}  // namespace mr::bench::limit

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: limit_wordcount INPUT OUTPUT\n");
    return 2;
  }
  return mr::bench::limit::Main(argv[1], argv[2]);
}
