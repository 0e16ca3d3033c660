// The work behind HashReducer and HashCombiner (operator.h). Not for concurrent use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "common/abi/batch.h"
#include "paceline/codec.h"
#include "paceline/context.h"
#include "paceline/emitter.h"
#include "paceline/hash_groups.h"
#include "paceline/sorted_runs.h"

namespace mr::sdk {

// Totals of type V by encoded key, in memory up to a limit.
template <class V>
class HashTotals {
 public:
  explicit HashTotals(size_t most_bytes) : most_bytes_(most_bytes) {}

  // Folds the values of a batch into the totals of their keys. It calls fold(total, value, record) except for the first
  // value of a key, which becomes its total. full() is called when the memory is used up; it must call Clear().
  template <class Fold, class Full>
  void Add(const BatchView& view, Fold&& fold, Full&& full) {
    const auto take = [&](V& total, uint32_t record, bool is_new) {
      const std::string_view value = view.value(record);
      if (is_new) {
        total = V(ValueCodec<V>::Decode(value));
      } else {
        fold(total, ValueCodec<V>::Decode(value), record);
      }
      if constexpr (!std::is_trivially_copyable_v<V>) {
        // An upper bound of what the totals have on the heap, as long as folding adds at most the value.
        heap_ += value.size();
        if (groups_.bytes() + heap_ <= most_bytes_) return;
        heap_ = Measure();
        if (groups_.bytes() + heap_ > most_bytes_ / 2) full();
      }
    };
    groups_.Add(view, most_bytes_, take, full);
  }

  HashGroups<V>& groups() { return groups_; }
  void Clear() {
    groups_.Clear();
    heap_ = 0;
  }

 private:
  size_t Measure() {
    size_t bytes = 0;
    for (uint32_t g = 0; g < groups_.size(); ++g) bytes += Encoded<ValueCodec<V>>(groups_.total(g), &scratch_).size();
    return bytes;
  }

  const size_t most_bytes_;
  HashGroups<V> groups_;
  size_t heap_ = 0;
  std::string scratch_;
};

// The totals of a HashReducer's input, given in key order. What exceeds the memory is written as sorted runs, which are
// merged at the end.
template <class V>
class HashReduce {
 public:
  explicit HashReduce(size_t most_bytes) : most_bytes_(most_bytes), totals_(most_bytes) {}

  template <class Fold>
  void Add(const BatchView& view, Fold&& fold) {
    totals_.Add(view, fold, [this] { Spill(); });
  }

  // Calls give(key, total) for each key, in key order. fold: as in Add, without the record.
  template <class Fold, class Give>
  void Finish(Fold&& fold, Give&& give) {
    if (runs_.empty()) {
      InOrder([&](std::string_view key, V& total) { give(key, static_cast<const V&>(total)); });
      return;
    }
    Spill();
    std::string key;
    V total{};
    bool any = false;
    runs_.Merge(most_bytes_ / 2, [&](std::string_view next, std::string_view value) {
      if (any && next == key) return fold(total, ValueCodec<V>::Decode(value));
      if (any) give(std::string_view(key), static_cast<const V&>(total));
      any = true;
      key.assign(next);
      total = V(ValueCodec<V>::Decode(value));
    });
    if (any) give(std::string_view(key), static_cast<const V&>(total));
  }
  bool spilled() const { return !runs_.empty(); }

 private:
  static constexpr size_t kAhead = 16;  // prefetch distance in groups (guess)

  template <class F>
  void InOrder(F&& f) {
    HashGroups<V>& groups = totals_.groups();
    const std::vector<KeyItem> items = groups.InKeyOrder();
    for (size_t i = 0; i < items.size(); ++i) {
      if (i + 2 * kAhead < items.size()) groups.Prefetch(items[i + 2 * kAhead].number);
      if (i + kAhead < items.size()) groups.PrefetchKey(items[i + kAhead].number);
      f(groups.key(items[i].number), groups.total(items[i].number));
    }
  }
  void Spill() {
    InOrder([this](std::string_view key, V& total) { runs_.Add(key, Encoded<ValueCodec<V>>(total, &scratch_)); });
    runs_.EndRun();
    totals_.Clear();
  }

  const size_t most_bytes_;
  HashTotals<V> totals_;
  SortedRuns runs_;
  std::string scratch_;
};

// Memory of a table in bytes (guesses). The engine takes up to half of an attempt's limit. A reduce has little else; a
// map's table is smaller, because cache misses in it cost more than a record that is sent twice.
inline size_t HashReduceBytes() {
  const uint64_t limit = Context::memory_limit();
  if (limit != 0) return limit / 4;
  // A small machine has less for each of its tasks (guess). What does not fit is kept in runs: the output is the same.
  const auto machine = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const uint64_t here = Context::process_memory_limit();
  return std::min({size_t{512} << 20, machine / 16, here == 0 ? ~size_t{0} : static_cast<size_t>(here / 4)});
}
inline size_t HashCombineBytes() {
  const uint64_t limit = Context::memory_limit();
  return std::min<size_t>(size_t{24} << 20, limit == 0 ? ~size_t{0} : limit / 16);
}

// Stands between the emitter of a HashCombiner's port 0 and the host.
template <class V>
class HashCombine {
 public:
  explicit HashCombine(const mr_host* host) : totals_(HashCombineBytes()), writer_(host, 0) {}

  // Takes a batch that the operator emitted. fold(total, value).
  template <class Fold>
  void Add(std::string_view batch, Fold&& fold) {
    BatchView view;
    if (const char* wrong = BatchView::Parse(batch.data(), batch.size(), &view, true)) throw JobError(wrong);
    totals_.Add(
        view, [&](V& total, ValueView<V> value, uint32_t) { fold(total, value); }, [this] { Drain(); });
  }
  void Finish() {
    Drain();
    writer_.Flush();
  }

 private:
  // Emits the totals in the order of first sight, which follows from the input alone.
  void Drain() {
    HashGroups<V>& groups = totals_.groups();
    for (uint32_t g = 0; g < groups.size(); ++g) {
      writer_.Add(groups.key(g), Encoded<ValueCodec<V>>(groups.total(g), &scratch_));
    }
    totals_.Clear();
  }

  HashTotals<V> totals_;
  PortWriter writer_;
  std::string scratch_;
};

}  // namespace mr::sdk
