// The limit for join: an inner join on the column id by two threads, without an engine. The rows of the left side go
// into one table of both threads; then the threads read the right side in batches of rows, so that the misses of the
// cache of a batch overlap.
//   limit_join LEFT RIGHT OUTPUT     CSV with a header, id first, nothing quoted; writes OUTPUT.0 and OUTPUT.1 with
//   lines
//                                    `id,fields of the left,fields of the right`
#include "tests/bench/limit.h"

#include <memory>

namespace mr::bench::limit {
namespace {
constexpr size_t kStripe = 1u << 20;

// The left side's rows by their ids. A place holds 24 bits of the hash and where the row begins, plus 1. Rows of one id
// have places of their own.
class Rows {
 public:
  explicit Rows(size_t rows) {
    while ((size_t{1} << bits_) < rows + rows / 2) ++bits_;
    places_ = Memory<std::atomic<uint64_t>>(size_t{1} << bits_);
  }
  void Prefetch(uint64_t hash) const { __builtin_prefetch(&places_[hash >> (64 - bits_)]); }
  void Add(uint64_t hash, uint64_t row) {
    const uint64_t value = hash << 40 | (row + 1);
    for (size_t at = hash >> (64 - bits_);; at = Next(at)) {
      uint64_t empty = 0;
      if (places_[at].load(std::memory_order_relaxed) == 0 &&
          places_[at].compare_exchange_strong(empty, value, std::memory_order_relaxed))
        return;
    }
  }
  // Calls f with the rows that may have the id: their hashes agree in 24 bits beside the place.
  template <class F>
  void ForEach(uint64_t hash, F&& f) const {
    for (size_t at = hash >> (64 - bits_);; at = Next(at)) {
      const uint64_t value = places_[at].load(std::memory_order_relaxed);
      if (value == 0) return;
      if (value >> 40 == (hash & 0xffffff)) f((value & ((uint64_t{1} << 40) - 1)) - 1);
    }
  }

 private:
  size_t Next(size_t at) const { return (at + 1) & ((size_t{1} << bits_) - 1); }
  int bits_ = 10;
  std::atomic<uint64_t>* places_;
};

template <class Text>
size_t Header(const Text& in) {
  const void* end = std::memchr(in.data, '\n', in.size);
  if (end == nullptr || std::memcmp(in.data, "id,", 3) != 0) Refuse("the first column is not id");
  return static_cast<size_t>(static_cast<const char*>(end) - in.data) + 1;
}
inline size_t IdLength(const char* row) {
  const uint32_t commas = static_cast<uint32_t>(
      _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row)), _mm_set1_epi8(','))));
  if (commas != 0) return static_cast<size_t>(__builtin_ctz(commas));
  return static_cast<size_t>(static_cast<const char*>(rawmemchr(row, ',')) - row);
}
inline size_t RowLength(const char* row, const char* end) {
  const uint32_t m = static_cast<uint32_t>(_mm256_movemask_epi8(
      _mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row)), _mm256_set1_epi8('\n'))));
  if (m != 0) return static_cast<size_t>(__builtin_ctz(m));
  const void* at = std::memchr(row, '\n', static_cast<size_t>(end - row));
  return at == nullptr ? static_cast<size_t>(end - row) : static_cast<size_t>(static_cast<const char*>(at) - row);
}
inline char* Put(const char* from, size_t n, char* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  for (size_t k = 16; k < n; k += 16)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + k), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k)));
  return to + n;
}
struct Row {
  uint64_t hash;
  const char* at;
  uint32_t id, length;
};

struct Batch {
  Ends ends;
  Row rows[kTextBlock + 1];
};
// Calls f(rows, n) for batches of the rows that begin in [from, to).
template <class Text, class F>
void RowsOf(const Text& in, size_t from, size_t to, Batch* batch, F&& f) {
  Row* rows = batch->rows;
  Lines(in, from, to, &batch->ends, [&](const char* begin, const uint32_t* end, size_t n) {
    const char* at = begin;
    for (size_t i = 0; i < n; ++i) {
      Row& row = rows[i];
      row.at = at;
      row.length = static_cast<uint32_t>(begin + end[i] - at);
      row.id = static_cast<uint32_t>(IdLength(at));
      if (row.id > row.length) Refuse("a row without a comma");
      row.hash = HashOf(at, row.id);
      at = begin + end[i] + 1;
    }
    f(rows, n);
  });
}

int Main(const char* left_path, const char* right_path, const std::string& out_path) {
  const Loaded left(left_path);
  const Input right(right_path);
  std::atomic<size_t> next{0}, rows{0};
  Both([&](int) {
    size_t n = 0;
    for (size_t at; (at = next.fetch_add(kStripe)) < left.size;) {
      left.Read(at, std::min(left.size, at + kStripe));
      n += CountLines(left.data + at, left.data + std::min(left.size, at + kStripe));
    }
    rows += n;
  });
  Rows table(rows + 1);
  const size_t left_begin = Header(left), right_begin = Header(right);
  next = left_begin;
  Both([&](int) {
    const auto batch = std::make_unique<Batch>();
    for (size_t at; (at = next.fetch_add(kStripe)) < left.size;) {
      RowsOf(left, at, std::min(left.size, at + kStripe), batch.get(), [&](const Row* r, size_t n) {
        for (size_t i = 0; i < n; ++i) table.Prefetch(r[i].hash);
        for (size_t i = 0; i < n; ++i) table.Add(r[i].hash, static_cast<uint64_t>(r[i].at - left.data));
      });
    }
  });
  next = right_begin;
  Both([&](int t) {
    Output out(out_path + "." + std::to_string(t));
    Stream stream;
    stream.Begin(&out, 0);
    size_t reserved = 0;
    const auto batch = std::make_unique<Batch>();
    std::vector<std::pair<const Row*, const char*>> candidates;
    for (size_t from; (from = next.fetch_add(kStripe)) < right.size;) {
      right.Populate(from, std::min(right.size, from + kStripe));
      if (stream.offset() + (64u << 20) > reserved) out.Reserve(reserved += 256u << 20);
      RowsOf(right, from, std::min(right.size, from + kStripe), batch.get(), [&](Row* r, size_t n) {
        for (size_t i = 0; i < n; ++i) table.Prefetch(r[i].hash);
        candidates.clear();
        for (size_t i = 0; i < n; ++i) {
          table.ForEach(r[i].hash, [&](uint64_t row) {
            const char* other = left.data + row;
            __builtin_prefetch(other);
            __builtin_prefetch(other + 24);
            candidates.push_back({&r[i], other});
          });
        }
        for (const auto& [row, other] : candidates) {
          if (!Equal(other, row->at, row->id + 1)) continue;
          const size_t length = RowLength(other, left.data + left.size);
          if (length + row->length > Stream::kSlack - 64) Refuse("a row is too long");
          char* to = stream.Room();
          to = Put(other, length, to);
          to = Put(row->at + row->id, row->length - row->id, to);
          *to++ = '\n';
          stream.Took(to);
        }
      });
    }
    stream.End();
    out.Finish(stream.offset());
  });
  std::_Exit(0);
}

}  // namespace
}  // namespace mr::bench::limit

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: limit_join LEFT RIGHT OUTPUT\n");
    return 2;
  }
  return mr::bench::limit::Main(argv[1], argv[2], argv[3]);
}
