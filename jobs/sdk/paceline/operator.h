// The classes that operators derive from. None has a virtual function: the adapter (adapter.h) is
// made for your class, so a call per record costs nothing extra.
//
//   Mapper<KIn, VIn, KOut, VOut>   Map(key, value, out)      records of any input
//   LineMapper<KOut, VOut>         Map(line, out)            lines of text, without their newline
//   BlockMapper<KOut, VOut>        Map(block, out)           whole blocks of whole lines: the fast way
//   Reducer<KIn, VIn, KOut, VOut>  Reduce(key, values, out)  groups of one key
//   Joiner<K, L, R, KOut, VOut>    Join(key, left, right, out)  inputs 0 and 1, grouped together
//   SortedReducer<K, By, V, KOut, VOut>  Reduce(key, values, out)  groups of K whose values come in the order of By
//   RawOperator<KOut, VOut>        Batch(batch, view, out)   batches as they come
//
// KOut = VOut = Text writes lines to a `files` port. All may also have
//   void Open();                    before the first record (not the constructor: no context there)
//   void End(Out& out);             after the last one: emit what is left
//   void InputEnd(uint32_t input, Out& out);
//   void FileEnd(Out& out);         of splits: behind the last record of each file, context().input_file()
//   static void Prepare(std::string_view config_bytes);  refuse a config by throwing
//   using MorePorts = mr::Ports<...>;  the types of output ports 1, 2, ... (types.h)
// and may throw BadRecord for a record that cannot be used and RetryableError for a failure that is not theirs
// (error.h), and derive, beside, from Combiner, Partitioner, ByFirst, Comparator and SideInput.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/context.h"
#include "paceline/emitter.h"
#include "paceline/values.h"

namespace mr {

class OperatorBase {
 public:
  OperatorBase() = default;
  OperatorBase(const OperatorBase&) = delete;
  OperatorBase& operator=(const OperatorBase&) = delete;

  Context& context() { return *context_; }
  const Context& context() const { return *context_; }
  // Keep the reference: looking a counter up costs a search.
  Counter& counter(std::string_view name) { return context_->counter(name); }

  void BindContext(Context* context) { context_ = context; }  // by the adapter

 private:
  Context* context_ = nullptr;
};

namespace sdk {
enum class Kind { kRecord, kLine, kBlock, kGroup, kSorted, kJoin, kRaw };

template <Kind K, class KOut, class VOut>
class Typed : public OperatorBase {
 public:
  static constexpr Kind kKind = K;
  using KeyOut = KOut;
  using ValueOut = VOut;
  using Out = Emitter<KOut, VOut>;
};
}  // namespace sdk

template <class KIn, class VIn, class KOut, class VOut>
class Mapper : public sdk::Typed<sdk::Kind::kRecord, KOut, VOut> {
 public:
  using KeyIn = KIn;
  using ValueIn = VIn;
};

template <class KOut, class VOut>
class LineMapper : public sdk::Typed<sdk::Kind::kLine, KOut, VOut> {};

// A run of whole lines of one file; the last line of a file may lack its newline.
struct Block {
  std::string_view text;
  uint64_t offset;  // of its first byte in the file
};

template <class KOut, class VOut>
class BlockMapper : public sdk::Typed<sdk::Kind::kBlock, KOut, VOut> {};

template <class KIn, class VIn, class KOut, class VOut>
class Reducer : public sdk::Typed<sdk::Kind::kGroup, KOut, VOut> {
 public:
  using KeyIn = KIn;
  using ValueIn = VIn;
};

// A secondary sort. Its mapper emits keys std::pair<K, By> and derives from ByFirst<K, By>, with custom_partition in
// the plan; here one call is made for each K, and the values come ordered by By, of which there may be any number:
//   void Reduce(KeyView<K> key, SortedValues<K, By, V>& values, Out& out)
//   for (auto [by, value] : values) ...
template <class K, class By, class V, class KOut, class VOut>
class SortedReducer : public sdk::Typed<sdk::Kind::kSorted, KOut, VOut> {
 public:
  using GroupKey = K;
  using OrderKey = By;
  using ValueIn = V;
};

// Join() is called for each key of either side: void Join(KeyView<K> key, const std::vector<L>&
// left, Values<R>& right, Out& out). The left side of one key is held in memory, so let it be the
// smaller one; an inner join does nothing if left.empty() or right.empty().
template <class K, class L, class R, class KOut, class VOut>
class Joiner : public sdk::Typed<sdk::Kind::kJoin, KOut, VOut> {
 public:
  using KeyIn = K;
  using LeftIn = L;
  using RightIn = R;
};

template <class KOut, class VOut>
class RawOperator : public sdk::Typed<sdk::Kind::kRaw, KOut, VOut> {};

// Beside a mapper: folds equal keys before they travel. Needs V Combine(KeyView<K>, Values<V>&);
// it must not matter how often and on which part of a group it is applied.
template <class K, class V>
class Combiner {
 public:
  using CombineKey = K;
  using CombineValue = V;
};

template <class K, class V>
class SumCombiner : public Combiner<K, V> {
 public:
  V Combine(KeyView<K>, Values<V>& values) {
    V sum{};
    for (V v : values) sum += v;
    return sum;
  }
};

// Beside a mapper: needs uint32_t Partition(KeyView<K> key, uint32_t partitions), a number below
// `partitions`, the same for equal keys. The plan's port says custom_partition.
template <class K>
class Partitioner {
 public:
  using PartitionKey = K;
};

// Beside a mapper with keys std::pair<K, By>: all with one K go to one partition, for a SortedReducer.
template <class K, class By>
class ByFirst : public Partitioner<std::pair<K, By>> {
 public:
  uint32_t Partition(const KeyView<std::pair<K, By>>& key, uint32_t partitions) const {
    std::string bytes;
    KeyCodec<K>::Append(std::get<0>(key), &bytes);
    uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
    return static_cast<uint32_t>((hash ^ hash >> 32) % partitions);
  }
};

// Beside a mapper and beside the reducer that groups what it writes: an order of keys other than that of their type.
// Needs static int Compare(KeyView<K> a, KeyView<K> b): negative, 0 (one group) or positive. Each comparison is a call:
// a key type whose own order is the wanted one is several times faster. The partition is still that of the key's bytes,
// so where different keys are equal, derive from Partitioner, too.
template <class K>
class Comparator {
 public:
  using CompareKey = K;
};

// Beside any: the last input of the stage is a side input (a broadcast edge, as a rule), all of
// which arrives first. Needs void Side(KeyView<K> key, ValueView<V> value).
template <class K, class V>
class SideInput {
 public:
  using SideKey = K;
  using SideValue = V;
};

}  // namespace mr
