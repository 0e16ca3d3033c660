// Base classes of operators. None has a virtual function: the adapter (adapter.h) is instantiated for each operator
// class, so a call per record costs nothing extra.
//
//   Mapper<KIn, VIn, KOut, VOut>   Map(key, value, out)      records of any input
//   LineMapper<KOut, VOut>         Map(line, out)            lines of text, without their newline
//   BlockMapper<KOut, VOut>        Map(block, out)           blocks of whole lines: the fastest way
//   Reducer<KIn, VIn, KOut, VOut>  Reduce(key, values, out)  groups of one key
//   HashReducer<KIn, VIn, KOut, VOut>  Fold(total, value), Reduce(key, total, out)  groups, by a hash table
//   Joiner<K, L, R, KOut, VOut>    Join(key, left, right, out)  inputs 0 and 1, grouped together
//   SortedReducer<K, By, V, KOut, VOut>  Reduce(key, values, out)  groups of K, values ordered by By
//   RawOperator<KOut, VOut>        Batch(batch, view, out)   batches as they arrive
//
// KOut = VOut = Text writes lines to a `files` port. Every operator may also have these members:
//   void Open();                    called before the first record. An exception of the constructor or of Open() fails
//                                   the job at once, unless it is a RetryableError
//   void End(Out& out);             called after the last record; may emit
//   void InputEnd(uint32_t input, Out& out);             called at the end of each input
//   void FileEnd(Out& out);         called after the last record of each file, if the input is files;
//                                   context().input_file() names the file
//   static void Prepare(std::string_view config_bytes);  throws to refuse a config
//   using MorePorts = mr::Ports<...>;                    types of output ports 1, 2, ... (types.h)
// Operators may throw BadRecord, RetryableError and FinalError (error.h). They may also derive from Combiner,
// HashCombiner, Partitioner, ByFirst, Comparator and SideInput.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/context.h"
#include "paceline/emitter.h"
#include "paceline/values.h"

namespace mr {

namespace sdk {
// The context of the operator that this thread constructs; null outside of that.
inline thread_local Context* constructed_with = nullptr;

[[noreturn]] inline void NoContext() {
  throw JobError(
      "the operator was constructed outside of an attempt, so it has no context and no counters; run it with "
      "mr::LocalJob (paceline/testing.h)");
}
}  // namespace sdk

// Common base: access to the context and the counters, also in the constructor. Errors: JobError if no attempt runs the
// operator.
class OperatorBase {
 public:
  OperatorBase() = default;
  OperatorBase(const OperatorBase&) = delete;
  OperatorBase& operator=(const OperatorBase&) = delete;

  // Returns the context of the attempt that runs the operator.
  Context& context() {
    if (context_ == nullptr) [[unlikely]]
      sdk::NoContext();
    return *context_;
  }
  // Returns the context of the attempt that runs the operator.
  const Context& context() const {
    if (context_ == nullptr) [[unlikely]]
      sdk::NoContext();
    return *context_;
  }
  // Returns the counter of the stage's group. Keep the reference: each call searches.
  Counter& counter(std::string_view name) { return context().counter(name); }

  void BindContext(Context* context) { context_ = context; }  // of an operator that another one holds

 private:
  Context* context_ = sdk::constructed_with;
};

namespace sdk {
enum class Kind { kRecord, kLine, kBlock, kGroup, kSorted, kHash, kJoin, kRaw };

template <Kind K, class KOut, class VOut>
class Typed : public OperatorBase {
 public:
  static constexpr Kind kKind = K;
  using KeyOut = KOut;
  using ValueOut = VOut;
  using Out = Emitter<KOut, VOut>;
};
}  // namespace sdk

// Maps records: void Map(KeyView<KIn> key, ValueView<VIn> value, Out& out).
template <class KIn, class VIn, class KOut, class VOut>
class Mapper : public sdk::Typed<sdk::Kind::kRecord, KOut, VOut> {
 public:
  // The template arguments.
  using KeyIn = KIn;
  using ValueIn = VIn;
};

// Maps lines, without their newline: void Map(std::string_view line, Out& out).
template <class KOut, class VOut>
class LineMapper : public sdk::Typed<sdk::Kind::kLine, KOut, VOut> {};

// A run of whole lines of one file. The last line of a file may lack its newline.
struct Block {
  std::string_view text;  // whole lines
  uint64_t offset;        // byte offset in the file
};

// Maps blocks: void Map(const Block& block, Out& out). Its operators get the flag MR_RAW_BLOCKS.
template <class KOut, class VOut>
class BlockMapper : public sdk::Typed<sdk::Kind::kBlock, KOut, VOut> {};

// Reduces groups: void Reduce(KeyView<KIn> key, Values<VIn>& values, Out& out).
template <class KIn, class VIn, class KOut, class VOut>
class Reducer : public sdk::Typed<sdk::Kind::kGroup, KOut, VOut> {
 public:
  // The template arguments.
  using KeyIn = KIn;
  using ValueIn = VIn;
};

// Reduces groups by a hash table: the upstream stages neither sort nor merge, and their ports have sorted = false. In
// the plan, Stage::GroupByHash. It calls
//   void Fold(VIn& total, ValueView<VIn> value)                  for each value of a key but the first, which becomes
//                                                                the total
//   void Reduce(KeyView<KIn> key, const VIn& total, Out& out)    once per key at the end, in key order
// Fold must be associative. VIn must be default-constructible. Values arrive in the order of the inputs, like those of
// a Reducer. Totals that exceed a quarter of the attempt's memory (512 MiB without a limit) go to a file. Output does
// not depend on that. No Comparator.
template <class KIn, class VIn, class KOut, class VOut>
class HashReducer : public sdk::Typed<sdk::Kind::kHash, KOut, VOut> {
 public:
  // The template arguments.
  using KeyIn = KIn;
  using ValueIn = VIn;
};

// A secondary sort: one call per K, with values ordered by By, in any number. Its mapper emits keys std::pair<K, By>
// and derives from ByFirst<K, By>; the mapper's port in the plan has custom_partition. A plan without it is refused.
//   void Reduce(KeyView<K> key, SortedValues<K, By, V>& values, Out& out)
//   for (auto [by, value] : values) ...
template <class K, class By, class V, class KOut, class VOut>
class SortedReducer : public sdk::Typed<sdk::Kind::kSorted, KOut, VOut> {
 public:
  // The template arguments.
  using GroupKey = K;
  using OrderKey = By;
  using ValueIn = V;
};

// Joins two grouped inputs, with one call per key of either side:
//   void Join(KeyView<K> key, const std::vector<L>& left, Values<R>& right, Out& out)
// The left values of one key are held in memory, so put the smaller side first. An inner join does nothing if
// left.empty() or right.empty().
template <class K, class L, class R, class KOut, class VOut>
class Joiner : public sdk::Typed<sdk::Kind::kJoin, KOut, VOut> {
 public:
  // The template arguments.
  using KeyIn = K;
  using LeftIn = L;
  using RightIn = R;
};

// Takes batches as they arrive: void Batch(const mr_batch& batch, const BatchView& view, Out& out).
template <class KOut, class VOut>
class RawOperator : public sdk::Typed<sdk::Kind::kRaw, KOut, VOut> {};

// Added to a mapper: folds equal keys before the shuffle, by V Combine(KeyView<K>, Values<V>&). The result must not
// depend on how often, and to which part of a group, it is applied.
template <class K, class V>
class Combiner {
 public:
  // The template arguments.
  using CombineKey = K;
  using CombineValue = V;
};

// A combiner that adds values up.
template <class K, class V>
class SumCombiner : public Combiner<K, V> {
 public:
  // Returns the sum of the values.
  V Combine(KeyView<K>, Values<V>& values) {
    V sum{};
    for (V v : values) sum += v;
    return sum;
  }
};

// Added to an operator: folds the records that it emits to port 0 by key, in a hash table of at most 24 MiB or a
// sixteenth of the attempt's memory. A full table is emitted in the order of first sight and starts empty again. For
// ports that are not sorted; a Combiner is for ports that are. void Fold(V& total, ValueView<V> value), as in
// HashReducer.
template <class K, class V>
class HashCombiner {
 public:
  // The template arguments.
  using FoldKey = K;
  using FoldValue = V;
};

// Added to a mapper: chooses partitions, by uint32_t Partition(KeyView<K> key, uint32_t partitions). It returns a
// number below `partitions`, the same for equal keys. Requires: custom_partition at the port in the plan; the
// same function in all operators whose output one stage groups or joins, because task j reads partition j of each.
template <class K>
class Partitioner {
 public:
  // The template arguments.
  using PartitionKey = K;
};

// Added to a mapper with keys std::pair<K, By>: sends all keys with one K to one partition, for a SortedReducer.
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

// Added to a mapper and to the reducer that groups its output: replaces the order of the key type. It has static int
// Compare(KeyView<K> a, KeyView<K> b), which returns a negative number, 0 (one group) or a positive number. Cost: a
// call per comparison; a key type with the wanted order is several times faster. The partition still follows from the
// key's bytes. If different keys are equal, derive from Partitioner, too.
template <class K>
class Comparator {
 public:
  // The template arguments.
  using CompareKey = K;
};

// Added to any operator: the last input of its stage is a side input, usually a broadcast edge. All of that input
// arrives first, by void Side(KeyView<K> key, ValueView<V> value).
template <class K, class V>
class SideInput {
 public:
  // The template arguments.
  using SideKey = K;
  using SideValue = V;
};

}  // namespace mr
