// The limit for aggregate: count and sum(amount) by note, by two threads, without an engine. Sums of numbers of up to 8
// digits are integers; all others are exact decimals, as in the job.
//   limit_aggregate INPUT OUTPUT     CSV id,amount,note with a header, nothing quoted; writes lines `note,count,sum`
#include <memory>
#include <unordered_map>

#include "jobs/expressions/decimal.h"
#include "tests/bench/limit.h"

namespace mr::bench::limit {
namespace {
constexpr size_t kStripe = 1u << 20;

struct Group {
  uint64_t count = 0;
  int64_t whole = 0;
  expr::Decimal rest;
};
struct Slot {
  __m128i key;
  uint64_t count;
  int64_t whole;
};

// The groups of one thread. Names of up to 16 bytes are in an open table; a name never has a comma, so it pads them.
class Groups {
 public:
  Groups() { Make(12); }
  Slot& Find(__m128i key) {
    for (size_t at = Hash(key) >> (64 - bits_);; at = (at + 1) & (slots_.size() - 1)) {
      Slot& s = slots_[at];
      if (Same(s.key, key)) return s;
      if (Same(s.key, Unused())) {
        if (++used_ > slots_.size() / 2) {
          --used_;
          Grow();
          return Find(key);
        }
        s.key = key;
        return s;
      }
    }
  }
  template <class F>
  void ForEach(F&& f) const {
    for (const Slot& s : slots_)
      if (!Same(s.key, Unused())) f(s);
  }
  std::unordered_map<std::string, Group> others;  // of long names, and decimals of all

 private:
  static bool Same(__m128i a, __m128i b) { return _mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) == 0xffff; }
  static __m128i Unused() { return _mm_set1_epi8('\n'); }  // never part of a name
  void Make(int bits) {
    bits_ = bits;
    slots_.assign(size_t{1} << bits, {Unused(), 0, 0});
  }
  void Grow() {
    const std::vector<Slot> old = std::move(slots_);
    Make(bits_ + 1);
    used_ = 0;
    for (const Slot& s : old)
      if (!Same(s.key, Unused())) {
        Slot& to = Find(s.key);
        to.count = s.count;
        to.whole = s.whole;
      }
  }
  int bits_;
  size_t used_ = 0;
  std::vector<Slot> slots_;
};

// Reads a number of up to 8 digits that ends before `end`. Returns false if it is another.
inline bool Digits(const char* end, size_t n, uint32_t* value) {
  if (n - 1 > 7) return false;
  uint64_t v = Load64(end - 8);
  // Bytes before the number become zeroes.
  v = (v >> (64 - 8 * n)) << (64 - 8 * n) | (n == 8 ? 0 : 0x3030303030303030 >> (8 * n));
  if ((((v & 0xf0f0f0f0f0f0f0f0) ^ 0x3030303030303030) |
       (((v + 0x0606060606060606) & 0xf0f0f0f0f0f0f0f0) ^ 0x3030303030303030)) != 0)
    return false;
  v = (v & 0x0f0f0f0f0f0f0f0f) * 2561 >> 8;
  v = (v & 0x00ff00ff00ff00ff) * 6553601 >> 16;
  *value = static_cast<uint32_t>((v & 0x0000ffff0000ffff) * 42949672960001 >> 32);
  return true;
}

int Main(const char* in_path, const std::string& out_path) {
  const Input in(in_path);
  const std::string header = "id,amount,note\n";
  if (in.size < header.size() || std::memcmp(in.data, header.data(), header.size()) != 0)
    Refuse("the header is not id,amount,note");
  std::atomic<size_t> next{header.size()};
  Groups groups[kThreads];
  Both([&](int t) {
    Groups& mine = groups[t];
    auto ends = std::make_unique<Ends>();
    for (size_t at; (at = next.fetch_add(kStripe)) < in.size;) {
      in.Populate(at, std::min(in.size, at + kStripe));
      Fields<3>(in, at, std::min(in.size, at + kStripe), ends.get(),
                [&](const char* begin, const uint32_t* e, size_t n) {
                  for (size_t i = 0; i < n; ++i, e += 3) {
                    const char *amount = begin + e[0] + 1, *amount_end = begin + e[1], *note = amount_end + 1;
                    const size_t length = e[2] - e[1] - 1;
                    uint32_t value = 0;
                    if (__builtin_expect(length <= kInline, 1)) {
                      Slot& s = mine.Find(Padded(note, length, ','));
                      ++s.count;
                      if (__builtin_expect(Digits(amount_end, static_cast<size_t>(amount_end - amount), &value), 1)) {
                        s.whole += value;
                        continue;
                      }
                    } else {
                      ++mine.others[std::string(note, length)].count;
                    }
                    if (amount == amount_end) continue;  // an empty field has no value
                    expr::Decimal d;
                    if (!expr::Decimal::Parse({amount, static_cast<size_t>(amount_end - amount)}, &d))
                      Refuse("an amount is not a number");
                    mine.others[std::string(note, length)].rest.Add(d);
                  }
                });
    }
  });
  std::unordered_map<std::string, Group> all;
  for (const Groups& g : groups) {
    g.ForEach([&](const Slot& s) {
      char name[kInline + 1];
      std::memcpy(name, &s.key, kInline);
      name[kInline] = ',';
      Group& to = all[std::string(name, static_cast<size_t>(static_cast<const char*>(rawmemchr(name, ',')) - name))];
      to.count += s.count;
      to.whole += s.whole;
    });
    for (const auto& [name, from] : g.others) {
      Group& to = all[name];
      to.count += from.count;
      to.rest.Add(from.rest);
    }
  }
  std::string text;
  for (auto& [name, g] : all) {
    expr::Decimal sum;
    expr::Decimal::Parse(std::to_string(g.whole), &sum);
    sum.Add(g.rest);
    text += name + "," + std::to_string(g.count) + "," + sum.Text() + "\n";
  }
  Output out(out_path);
  Stream stream;
  stream.Begin(&out, 0);
  stream.Append(text.data(), text.size());
  stream.End();
  out.Finish(text.size());
  std::_Exit(0);
}

}  // namespace
}  // namespace mr::bench::limit

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: limit_aggregate INPUT OUTPUT\n");
    return 2;
  }
  return mr::bench::limit::Main(argv[1], argv[2]);
}
