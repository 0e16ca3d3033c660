#include "jobs/builtin/aggregate/hyperloglog.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "paceline/error.h"

namespace mr::builtin {
namespace {

constexpr int kPrecision = 14, kSparsePrecision = 25;
constexpr size_t kRegisters = size_t{1} << kPrecision;
constexpr size_t kMostSparse = kRegisters / sizeof(uint32_t);  // then both forms have one size
constexpr size_t kLeastTail = 64;                              // unsorted entries before they are sorted (guess)
constexpr char kSparse = 'S', kDense = 'D';

// A sparse sketch: kSparse, the number of sorted entries, the entries. An entry is the index of precision 25, and in
// its lower 6 bits the position of the first one in the rest of the hash, from 1.
constexpr size_t kSparseHead = 1 + sizeof(uint32_t);
constexpr int kRankBits = 6;

uint32_t SparseEntry(uint64_t hash) {
  const uint64_t rest = hash << kSparsePrecision;
  const int rank = rest == 0 ? 64 - kSparsePrecision + 1 : __builtin_clzll(rest) + 1;
  return static_cast<uint32_t>(hash >> (64 - kSparsePrecision)) << kRankBits | static_cast<uint32_t>(rank);
}

// Returns a sketch's register of precision 14 and its value, from a sparse entry.
std::pair<size_t, uint8_t> RegisterOf(uint32_t entry) {
  constexpr int kMore = kSparsePrecision - kPrecision;
  const uint32_t index = entry >> kRankBits, more = index & ((1u << kMore) - 1);
  const int rank =
      more == 0 ? kMore + static_cast<int>(entry & ((1u << kRankBits) - 1)) : __builtin_clz(more) - (32 - kMore) + 1;
  return {index >> kMore, static_cast<uint8_t>(rank)};
}

size_t SparseEntries(std::string_view sketch) { return (sketch.size() - kSparseHead) / sizeof(uint32_t); }
uint32_t SortedEntries(std::string_view sketch) {
  uint32_t n = 0;
  std::memcpy(&n, sketch.data() + 1, sizeof n);
  return n;
}
std::vector<uint32_t> LoadEntries(std::string_view sketch) {
  std::vector<uint32_t> entries(SparseEntries(sketch));
  if (!entries.empty()) std::memcpy(entries.data(), sketch.data() + kSparseHead, entries.size() * sizeof(uint32_t));
  return entries;
}
void StoreEntries(const std::vector<uint32_t>& entries, std::string* sketch) {
  const auto n = static_cast<uint32_t>(entries.size());
  sketch->assign(1, kSparse);
  sketch->append(reinterpret_cast<const char*>(&n), sizeof n);
  sketch->append(reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(uint32_t));
}

void RaiseRegister(std::pair<size_t, uint8_t> to, std::string* dense) {
  char& at = (*dense)[1 + to.first];
  if (static_cast<uint8_t>(at) < to.second) at = static_cast<char>(to.second);
}

// Sorts the entries and keeps the largest of each index. Becomes dense beyond kMostSparse, which depends on the set
// alone: no part of a set has more indices than the whole.
void SortSparse(std::string* sketch) {
  std::vector<uint32_t> entries = LoadEntries(*sketch);
  std::sort(entries.begin() + std::min<ptrdiff_t>(SortedEntries(*sketch), std::ssize(entries)), entries.end());
  std::inplace_merge(entries.begin(),
                     entries.begin() + std::min<ptrdiff_t>(SortedEntries(*sketch), std::ssize(entries)), entries.end());
  size_t n = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i + 1 < entries.size() && entries[i] >> kRankBits == entries[i + 1] >> kRankBits) continue;
    entries[n++] = entries[i];
  }
  entries.resize(n);
  if (n <= kMostSparse) return StoreEntries(entries, sketch);
  sketch->assign(1 + kRegisters, '\0');
  (*sketch)[0] = kDense;
  for (const uint32_t entry : entries) RaiseRegister(RegisterOf(entry), sketch);
}

void AddEntry(uint32_t entry, std::string* sketch) {
  if (sketch->empty()) StoreEntries({}, sketch);
  if (sketch->front() == kDense) return RaiseRegister(RegisterOf(entry), sketch);
  sketch->append(reinterpret_cast<const char*>(&entry), sizeof entry);
  const size_t sorted = SortedEntries(*sketch);
  if (SparseEntries(*sketch) > sorted + std::max(kLeastTail, sorted / 2)) SortSparse(sketch);
}

// Ertl's sigma and tau, each until its sum no longer changes.
double ErtlSigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double y = 1, z = x, before;
  do {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  } while (z != before);
  return z;
}
double ErtlTau(double x) {
  if (x == 0 || x == 1) return 0;
  double y = 1, z = 1 - x, before;
  do {
    x = std::sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  } while (z != before);
  return z / 3;
}

uint64_t DenseEstimate(std::string_view registers) {
  constexpr int kLargest = 64 - kPrecision;  // q: values of registers are 0 to q + 1
  constexpr auto kM = static_cast<double>(kRegisters);
  std::array<uint32_t, kLargest + 2> counts{};
  for (const char c : registers) ++counts.at(static_cast<uint8_t>(c));
  double z = kM * ErtlTau(1 - counts[kLargest + 1] / kM);
  for (size_t k = kLargest; k >= 1; --k) z = 0.5 * (z + counts[k]);
  z += kM * ErtlSigma(counts[0] / kM);
  return static_cast<uint64_t>(std::llround(kM * kM / (2 * std::log(2.0)) / z));
}

void CheckSketch(std::string_view sketch) {
  const bool sparse = sketch.front() == kSparse && sketch.size() >= kSparseHead &&
                      (sketch.size() - kSparseHead) % sizeof(uint32_t) == 0 &&
                      SortedEntries(sketch) == SparseEntries(sketch);
  if (!sparse && (sketch.front() != kDense || sketch.size() != 1 + kRegisters)) {
    throw JobError("a sketch of approx_distinct cannot be decoded");
  }
}

}  // namespace

void HyperLogLog::Add(uint64_t hash, std::string* sketch) { AddEntry(SparseEntry(hash), sketch); }

void HyperLogLog::Merge(std::string_view other, std::string* sketch) {
  if (other.empty()) return;
  CheckSketch(other);
  if (sketch->empty()) {
    sketch->assign(other);
    return;
  }
  if (other.front() == kSparse) {
    for (const uint32_t entry : LoadEntries(other)) AddEntry(entry, sketch);
    return;
  }
  if (sketch->front() == kSparse) {
    std::string dense(other);
    for (const uint32_t entry : LoadEntries(*sketch)) RaiseRegister(RegisterOf(entry), &dense);
    *sketch = std::move(dense);
    return;
  }
  auto* const to = reinterpret_cast<uint8_t*>(sketch->data() + 1);
  const auto* const from = reinterpret_cast<const uint8_t*>(other.data() + 1);
  for (size_t i = 0; i < kRegisters; ++i) to[i] = std::max(to[i], from[i]);
}

void HyperLogLog::Pack(std::string* sketch) {
  if (!sketch->empty() && sketch->front() == kSparse && SortedEntries(*sketch) != SparseEntries(*sketch))
    SortSparse(sketch);
}

uint64_t HyperLogLog::Estimate(std::string_view sketch) {
  if (sketch.empty()) return 0;
  if (sketch.front() == kDense) return DenseEstimate(sketch.substr(1));
  // Linear counting over the registers of the sparse form.
  constexpr double kM = size_t{1} << kSparsePrecision;
  return static_cast<uint64_t>(std::llround(kM * std::log(kM / (kM - static_cast<double>(SparseEntries(sketch))))));
}

}  // namespace mr::builtin
