// A job of one map and one reduce, made from two lambdas that capture nothing.
//
//   PACELINE_LIBRARY(
//       (mr::MapReduce<std::string, int64_t>(
//           library, "lengths", "how many lines have which length",
//           [](std::string_view line, auto& out) { out.Emit(std::to_string(line.size()), 1); },
//           [](std::string_view length, auto& counts, auto& out) {
//             int64_t lines = 0;
//             for (int64_t n : counts) lines += n;
//             out.Emit(length, lines);
//           }));)
//
// The map is called for each line of the input and emits keys K and values V. The reduce is called for each key with
// its values, and its output is written as `key TAB value`. Both must be deterministic and keep no state, unless
// `flags` says otherwise. For combiners, several stages or settings use classes: operator.h.
#pragma once

#include <string>
#include <type_traits>

#include "paceline/args.h"
#include "paceline/library.h"
#include "paceline/operator.h"

namespace mr {

namespace sdk {

template <class F>
concept Stateless = std::is_empty_v<F> && std::is_default_constructible_v<F>;

template <Stateless F, class K, class V>
class LambdaMap : public LineMapper<K, V> {
 public:
  void Map(std::string_view line, typename LineMapper<K, V>::Out& out) { F{}(line, out); }
};

template <Stateless F, class K, class V>
class LambdaReduce : public Reducer<K, V, Text, Text> {
 public:
  void Reduce(KeyView<K> key, Values<V>& values, typename Reducer<K, V, Text, Text>::Out& out) {
    F{}(key, values, out);
  }
};

// The operator names for one pair of lambda types.
template <class MapF, class ReduceF>
struct LambdaJob {
  static inline std::string name, map, reduce;
  static void Plan(const std::vector<std::string>& args, JobPlan& plan) {
    Args(name).Parse(args);
    auto& mapped = plan.Map("map", map).ReadFiles().Shuffle();
    plan.Reduce("reduce", reduce).Group(mapped).WriteFiles();
  }
};

}  // namespace sdk

// Adds the job `name` and its two operators to the library. Requires: one MapReduce per pair of lambdas.
template <class K, class V, sdk::Stateless MapF, sdk::Stateless ReduceF>
void MapReduce(Library& library, const char* name, const char* help, MapF, ReduceF,
               uint32_t flags = MR_DETERMINISTIC | MR_REUSABLE) {
  using Job = sdk::LambdaJob<MapF, ReduceF>;
  if (!Job::name.empty())
    throw JobError("jobs '" + Job::name + "' and '" + name + "' are made of the same two lambdas; write them twice");
  Job::name = name;
  Job::map = std::string(name) + ".map";
  Job::reduce = std::string(name) + ".reduce";
  library.Add<sdk::LambdaMap<MapF, K, V>>(Job::map.c_str(), flags)
      .template Add<sdk::LambdaReduce<ReduceF, K, V>>(Job::reduce.c_str(), flags)
      .template AddJob<&Job::Plan>(name, help);
}

}  // namespace mr
