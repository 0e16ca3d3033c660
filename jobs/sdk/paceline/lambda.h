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
// `flags` says otherwise. Combiners, joins and several stages: library.h.
#pragma once

#include <string>
#include <vector>

#include "paceline/args.h"
#include "paceline/lambda_operators.h"
#include "paceline/library.h"

namespace mr {

namespace sdk {

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
  library.Add<sdk::LambdaLineMapper<MapF, K, V>>(Job::map.c_str(), flags)
      .template Add<sdk::LambdaReducer<ReduceF, K, V, Text, Text>>(Job::reduce.c_str(), flags)
      .template AddJob<&Job::Plan>(name, help);
}

}  // namespace mr
