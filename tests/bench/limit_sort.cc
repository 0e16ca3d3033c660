// The limit for sort: TeraSort by two threads, without an engine. A table of a sample cuts the keys into ranges. Each
// thread puts (key, number) of the records that it reads into the ranges, and then sorts ranges inside its cache,
// gathers their records and writes them.
//   limit_sort INPUT OUTPUT     records of 100 bytes in the order of their first 10; equal keys keep their order
#include "tests/bench/limit.h"

namespace mr::bench::limit {
namespace {

constexpr size_t kRecord = 100;
constexpr uint64_t kNumbers = (uint64_t{1} << 48) - 1;

// A record's first 8 key bytes; then its last 2 and its number. In the order of records.
struct Entry {
  uint64_t high, low;
  bool operator<(const Entry& other) const { return Whole() < other.Whole(); }
  unsigned __int128 Whole() const { return static_cast<unsigned __int128>(high) << 64 | low; }
};

Entry EntryOf(const char* record, size_t number) {
  uint16_t rest;
  std::memcpy(&rest, record + 8, sizeof rest);
  return {__builtin_bswap64(Load64(record)), static_cast<uint64_t>(__builtin_bswap16(rest)) << 48 | number};
}

// Maps the first two bytes of a key to its range. Ranges have about the same number of the sample's records.
struct Ranges {
  // Ranges fit the second cache (measured: 2,048 ranges are no faster).
  static constexpr size_t kRanges = 1024;

  Ranges(const Input& in, size_t records) : of(1u << 16) {
    constexpr size_t kPlaces = 512, kEach = 16;  // 16 records lie in one page
    std::vector<uint32_t> counts(of.size());
    size_t samples = 0;
    for (size_t place = 0; place < kPlaces; ++place) {
      const size_t from = records * place / kPlaces;
      for (size_t i = from; i < std::min(records, from + kEach); ++i, ++samples) {
        ++counts[EntryOf(in.data + i * kRecord, 0).high >> 48];
      }
    }
    size_t before = 0;
    for (size_t v = 0; v < of.size(); before += counts[v++]) {
      of[v] = static_cast<uint16_t>(samples == 0 ? 0 : std::min(before * kRanges / samples, kRanges - 1));
    }
  }
  std::vector<uint16_t> of;
};

// The entries of one thread by range, in chunks.
class Chunks {
 public:
  explicit Chunks(size_t records)
      : arena_(Memory<Entry>(records + Ranges::kRanges * kChunk)), next_(Ranges::kRanges), chunks_(Ranges::kRanges) {}
  void Add(size_t range, const Entry& entry) {
    Entry* at = next_[range];
    if (reinterpret_cast<uintptr_t>(at) % (kChunk * sizeof(Entry)) == 0) {
      at = arena_ + used_++ * kChunk;
      chunks_[range].push_back(at);
    }
    *at = entry;
    next_[range] = at + 1;
  }
  size_t Size(size_t range) const {
    const auto& chunks = chunks_[range];
    return chunks.empty() ? 0 : (chunks.size() - 1) * kChunk + static_cast<size_t>(next_[range] - chunks.back());
  }
  template <class F>
  void ForEach(size_t range, F&& f) const {
    size_t left = Size(range);
    for (const Entry* chunk : chunks_[range]) {
      const size_t n = std::min(left, kChunk);
      for (size_t i = 0; i < n; ++i) f(chunk[i]);
      left -= n;
    }
  }

 private:
  static constexpr size_t kChunk = 256;
  Entry* arena_;
  size_t used_ = 0;
  std::vector<Entry*> next_;
  std::vector<std::vector<const Entry*>> chunks_;
};

// A number for the first four bytes of a key, in their order and without gaps for bytes that no key has there.
class Digits {
 public:
  static constexpr size_t kBytes = 4;
  struct Seen {
    uint8_t byte[kBytes][256] = {};
  };
  Digits(const Seen& a, const Seen& b) {
    uint64_t unit = 1;
    for (size_t d = kBytes; d-- > 0;) {
      uint64_t kinds = 0;
      for (size_t byte = 0; byte < 256; ++byte) {
        value_[d][byte] = kinds * unit;
        kinds += a.byte[d][byte] | b.byte[d][byte];
      }
      unit *= kinds;
    }
  }
  uint64_t Of(uint64_t high) const {
    return value_[0][high >> 56] + value_[1][high >> 48 & 255] + value_[2][high >> 40 & 255] +
           value_[3][high >> 32 & 255];
  }

 private:
  uint64_t value_[kBytes][256];
};

// Sorts a range: buckets by digits, about one entry in each, and insertion.
class Sorter {
 public:
  Sorter(const Digits& digits, size_t most)
      : digits_(digits), entries_(Memory<Entry>(most)), values_(Memory<uint64_t>(most)), ends_(kBuckets + 1) {}
  const Entry* Sort(const Chunks* chunks, size_t range) {
    uint64_t low = ~uint64_t{0}, high = 0;
    size_t n = 0;
    for (int t = 0; t < kThreads; ++t) {
      chunks[t].ForEach(range, [&](const Entry& entry) {
        const uint64_t value = values_[n++] = digits_.Of(entry.high);
        low = std::min(low, value);
        high = std::max(high, value);
      });
    }
    int shift = 0;
    while (n > 0 && (high - low) >> shift >= kBuckets) ++shift;
    std::fill(ends_.begin(), ends_.end(), 0);
    for (size_t i = 0; i < n; ++i) ++ends_[(values_[i] = (values_[i] - low) >> shift) + 1];
    for (size_t b = 1; b <= kBuckets; ++b) ends_[b] += ends_[b - 1];
    size_t at = 0;
    for (int t = 0; t < kThreads; ++t) {
      chunks[t].ForEach(range, [&](const Entry& entry) { entries_[ends_[values_[at++]]++] = entry; });
    }
    // ends_ holds the ends of the buckets. Keys with the same first bytes may fill one.
    constexpr size_t kLarge = 32;  // guess
    for (size_t b = 0, from = 0; b < kBuckets; from = ends_[b++]) {
      if (ends_[b] - from > kLarge) std::sort(entries_ + from, entries_ + ends_[b]);
    }
    for (size_t i = 1; i < n; ++i) {
      const Entry entry = entries_[i];
      size_t to = i;
      for (; to > 0 && entry < entries_[to - 1]; --to) entries_[to] = entries_[to - 1];
      entries_[to] = entry;
    }
    return entries_;
  }

 private:
  static constexpr size_t kBuckets = 8192;  // measured: 4096 are no faster
  const Digits& digits_;
  Entry* entries_;
  uint64_t* values_;
  std::vector<uint32_t> ends_;
};

void Gather(const Input& in, const Entry* entries, size_t n, Stream* stream) {
  constexpr size_t kAhead = 24, kBatch = 1024;  // guess
  const auto record = [&](size_t i) { return in.data + (entries[i].low & kNumbers) * kRecord; };
  for (size_t from = 0; from < n; from += kBatch) {
    char* to = stream->Room();
    for (size_t i = from; i < std::min(n, from + kBatch); ++i, to += kRecord) {
      if (i + kAhead < n) {
        const char* ahead = record(i + kAhead);
        __builtin_prefetch(ahead);
        __builtin_prefetch(ahead + 64);
        __builtin_prefetch(ahead + kRecord - 1);
      }
      std::memcpy(to, record(i), kRecord);
    }
    stream->Took(to);
  }
}

int Main(const char* in_path, const char* out_path) {
  const Input in(in_path);
  const size_t records = in.size / kRecord;
  if (in.size % kRecord != 0) Refuse("the size is no multiple of 100");
  Output out(out_path);
  out.Reserve(in.size);
  const Ranges ranges(in, records);
  Chunks chunks[kThreads] = {Chunks(records), Chunks(records)};
  Digits::Seen seen[kThreads];
  std::atomic<size_t> next{0};
  Both([&](int t) {
    constexpr size_t kStripe = 40960;
    for (size_t from; (from = next.fetch_add(kStripe)) < records;) {
      const size_t to = std::min(records, from + kStripe);
      in.Populate(from * kRecord, to * kRecord);
      const char* record = in.data + from * kRecord;
      for (size_t i = from; i < to; ++i, record += kRecord) {
        const Entry entry = EntryOf(record, i);
        for (size_t d = 0; d < Digits::kBytes; ++d) seen[t].byte[d][static_cast<uint8_t>(record[d])] = 1;
        chunks[t].Add(ranges.of[entry.high >> 48], entry);
      }
    }
  });
  const Digits digits(seen[0], seen[1]);
  std::vector<size_t> starts(Ranges::kRanges + 1);
  size_t most = 0;
  for (size_t r = 0; r < Ranges::kRanges; ++r) {
    const size_t n = chunks[0].Size(r) + chunks[1].Size(r);
    most = std::max(most, n);
    starts[r + 1] = starts[r] + n;
  }
  // Threads take runs of ranges of about 64 MB (measured: 16 and 500 MB are no faster).
  constexpr size_t kRun = (64u << 20) / kRecord;
  std::vector<size_t> runs{0};
  for (size_t r = 1; r <= Ranges::kRanges; ++r) {
    if (starts[r] - starts[runs.back()] > kRun || r == Ranges::kRanges) runs.push_back(r);
  }
  next = 0;
  Both([&](int) {
    Stream stream;
    Sorter sorter(digits, most);
    for (size_t run; (run = next.fetch_add(1)) + 1 < runs.size();) {
      stream.Begin(&out, starts[runs[run]] * kRecord);
      for (size_t r = runs[run]; r < runs[run + 1]; ++r) {
        Gather(in, sorter.Sort(chunks, r), starts[r + 1] - starts[r], &stream);
      }
      stream.End();
    }
  });
  out.Finish(in.size);
  std::_Exit(0);
}

}  // namespace
}  // namespace mr::bench::limit

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: limit_sort INPUT OUTPUT\n");
    return 2;
  }
  return mr::bench::limit::Main(argv[1], argv[2]);
}
