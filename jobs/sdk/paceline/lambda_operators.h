// Operators made of lambdas: what Library::MapLines, Reduce, Join and the like (library.h) add.
//
// A lambda captures nothing and keeps no state. It may take a Context& as its last parameter, for config and counters:
//   [](std::string_view line, auto& out, mr::Context& context) { ++context.counter("lines"); ... }
//
// Further arguments, after the lambda, add functions to the operator:
//   mr::CombineBy([](auto key, auto& values) { return mr::Sum(values); })   folds equal keys before a sorted shuffle
//   mr::CombineSum()                                                        the same, by adding values up
//   mr::FoldBy([](int64_t& total, int64_t n) { total += n; })               folds by a hash table, for a HashReduce
//   mr::PartitionBy([](std::string_view key, uint32_t partitions) { ... })  chooses the partition of a key
//   mr::AlsoEmits<mr::Records<int, std::string>>()                          declares port 1, out.template Port<K, V>(1)
//   mr::FlagsOf<MR_DETERMINISTIC | MR_SIDE_EFFECTS>()                       replaces the operator's flags
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "paceline/operator.h"
#include "paceline/place.h"
#include "paceline/types.h"

namespace mr {

namespace sdk {

template <class F>
concept Stateless = std::is_empty_v<F> && std::is_default_constructible_v<F>;

template <class F>
constexpr void CheckLambda() {
  static_assert(Stateless<F>,
                "mr: the lambda of an operator captures nothing, because each attempt makes its own. Pass settings by "
                "the plan (Configure, context.config()), or write a class (operator.h)");
}

// Calls F, with the operator's context as a last argument if F takes one.
template <class F, class Op, class... Args>
void CallLambda(Op& op, Args&&... args) {
  if constexpr (std::is_invocable_v<F, Args&&..., Context&>) {
    F{}(std::forward<Args>(args)..., op.context());
  } else {
    F{}(std::forward<Args>(args)...);
  }
}

// The flags of an operator with these additions: the last FlagsOf, else deterministic and reusable, and what they add.
template <class... Extras>
constexpr uint32_t FlagsWith() {
  uint32_t flags = MR_DETERMINISTIC | MR_REUSABLE, added = 0;
  (
      [&] {
        if constexpr (requires { Extras::kReplace; }) flags = Extras::kReplace;
        if constexpr (requires { Extras::kAdd; }) added |= Extras::kAdd;
      }(),
      ...);
  return flags | added;
}

}  // namespace sdk

// Adds a Combiner, V f(KeyView<K>, Values<V>&).
template <class F>
struct CombineBy {
  // Checks that the lambda captures nothing.
  explicit CombineBy(F) { sdk::CheckLambda<F>(); }
  static constexpr uint32_t kAdd = MR_ASSOCIATIVE;  // added to the operator's flags
  // The base class that the operator gets.
  template <class K, class V>
  struct For : Combiner<K, V> {
    // Calls the lambda.
    V Combine(const KeyView<K>& key, Values<V>& values) {
      if constexpr (std::is_arithmetic_v<V>) {
        return sdk::Declared<V>(F{}(key, values));
      } else {
        return F{}(key, values);
      }
    }
  };
};

// Adds a Combiner that adds values up.
struct CombineSum {
  static constexpr uint32_t kAdd = MR_ASSOCIATIVE;  // added to the operator's flags
  // The base class that the operator gets.
  template <class K, class V>
  using For = SumCombiner<K, V>;
};

// Adds a HashCombiner, void f(V& total, ValueView<V> value).
template <class F>
struct FoldBy {
  // Checks that the lambda captures nothing.
  explicit FoldBy(F) { sdk::CheckLambda<F>(); }
  // The base class that the operator gets.
  template <class K, class V>
  struct For : HashCombiner<K, V> {
    // Calls the lambda.
    void Fold(V& total, const ValueView<V>& value) { F{}(total, value); }
  };
};

// Adds a Partitioner, uint32_t f(KeyView<K>, uint32_t partitions).
template <class F>
struct PartitionBy {
  // Checks that the lambda captures nothing.
  explicit PartitionBy(F) { sdk::CheckLambda<F>(); }
  // The base class that the operator gets.
  template <class K, class V>
  struct For : Partitioner<K> {
    // Calls the lambda.
    uint32_t Partition(const KeyView<K>& key, uint32_t partitions) const { return F{}(key, partitions); }
  };
};

// Declares the types of output ports 1, 2, ..., each a Records<K, V>.
template <class... R>
struct AlsoEmits {
  // The base class that the operator gets.
  template <class K, class V>
  struct For {
    using MorePorts = Ports<R...>;  // as in types.h
  };
};

// Replaces the operator's flags (mr_operator_flags), by default MR_DETERMINISTIC | MR_REUSABLE.
template <uint32_t kFlags>
struct FlagsOf {
  static constexpr uint32_t kReplace = kFlags;  // in place of all others
  // The base class that the operator gets.
  template <class K, class V>
  struct For {};
};

// A side input in memory, as a map from its keys to their values: table.find(key) takes a std::string_view, too.
template <class K, class V>
using SideTable = std::map<K, V, std::less<>>;

// Writes each key with its total: the default of Library::HashReduce.
struct EmitTotal {
  // Emits the key and its total.
  template <class K, class V, class Out>
  void operator()(const K& key, const V& total, Out& out) const {
    out.Emit(key, total);
  }
};

namespace sdk {

template <class F, class K, class V, class... Extras>
class LambdaLineMapper : public LineMapper<K, V>, public Extras::template For<K, V>... {
 public:
  void Map(std::string_view line, Emitter<K, V>& out) { CallLambda<F>(*this, line, out); }
};

template <class F, class KIn, class VIn, class K, class V, class... Extras>
class LambdaMapper : public Mapper<KIn, VIn, K, V>, public Extras::template For<K, V>... {
 public:
  void Map(const KeyView<KIn>& key, const ValueView<VIn>& value, Emitter<K, V>& out) {
    CallLambda<F>(*this, key, value, out);
  }
};

// Collects a side input.
template <class SK, class SV>
class SideMap : public SideInput<SK, SV> {
 public:
  // Errors: FinalError if a key comes twice with different values, since their order differs between attempts.
  void Side(const KeyView<SK>& key, const ValueView<SV>& value) {
    const auto [at, is_new] = table_.try_emplace(SK(key), SV(value));
    if (is_new || at->second == SV(value)) return;
    std::string bytes;
    KeyCodec<SK>::Append(at->first, &bytes);
    throw FinalError("the side input has two values for " + KeyPlace(at->first, bytes) +
                     "; reduce it to one value per key first");
  }

 protected:
  SideTable<SK, SV> table_;
};

template <class F, class SK, class SV, class K, class V, class... Extras>
class LambdaLineLookup : public LineMapper<K, V>, public SideMap<SK, SV>, public Extras::template For<K, V>... {
 public:
  void Map(std::string_view line, Emitter<K, V>& out) { CallLambda<F>(*this, line, std::as_const(this->table_), out); }
};

template <class F, class SK, class SV, class KIn, class VIn, class K, class V, class... Extras>
class LambdaLookup : public Mapper<KIn, VIn, K, V>, public SideMap<SK, SV>, public Extras::template For<K, V>... {
 public:
  void Map(const KeyView<KIn>& key, const ValueView<VIn>& value, Emitter<K, V>& out) {
    CallLambda<F>(*this, key, value, std::as_const(this->table_), out);
  }
};

template <class F, class KIn, class VIn, class K, class V, class... Extras>
class LambdaReducer : public Reducer<KIn, VIn, K, V>, public Extras::template For<K, V>... {
 public:
  void Reduce(const KeyView<KIn>& key, Values<VIn>& values, Emitter<K, V>& out) {
    CallLambda<F>(*this, key, values, out);
  }
};

template <class FoldF, class EmitF, class KIn, class VIn, class K, class V>
class LambdaHashReducer : public HashReducer<KIn, VIn, K, V> {
 public:
  void Fold(VIn& total, const ValueView<VIn>& value) { FoldF{}(total, value); }
  void Reduce(const KeyView<KIn>& key, const VIn& total, Emitter<K, V>& out) {
    CallLambda<EmitF>(*this, key, total, out);
  }
};

template <class F, class K, class L, class R, class KOut, class VOut, class... Extras>
class LambdaJoiner : public Joiner<K, L, R, KOut, VOut>, public Extras::template For<KOut, VOut>... {
 public:
  void Join(const KeyView<K>& key, const std::vector<L>& left, Values<R>& right, Emitter<KOut, VOut>& out) {
    CallLambda<F>(*this, key, left, right, out);
  }
};

}  // namespace sdk
}  // namespace mr
