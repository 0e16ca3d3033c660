// Lists of policies on the same luck: the same workload, cluster, seed, so that what differs is their doing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/sim/report.h"
#include "master/sim/timeline.h"

namespace mr::sim {

struct PolicyList {
  std::string list;
  std::string without;  // of an ablation: what was dropped; "" is the whole list
};
// kInvalidArgument: fewer than two, one of them twice, or one that CheckPolicies refuses.
Result<std::vector<PolicyList>> ListsToCompare(const std::vector<std::string>& lists);
// The list whole, then without each of its policies (`mantri` without each of its parts). A leading fifo is not dropped
// where it would come back by itself; jockey goes with the fair that it needs. kInvalidArgument: nothing can be
// dropped, or a list that is refused.
Result<std::vector<PolicyList>> ListsToAblate(const std::string& list);

struct CompareOptions {
  std::vector<PolicyList> lists;
  uint64_t seed = 1;
  uint32_t seeds = 1;
  uint32_t plot_job = 0;          // 1, 2 ...: watched with the first seed; 0: none
  bool keep_completions = false;  // of all seeds
  // The experiment of a seed; its list is put in here.
  std::function<Result<Experiment>(uint64_t seed)> make;
  // Which list and which seed are under way, from 0, and how far; may be null.
  std::function<void(size_t, uint32_t, size_t, size_t, Instant)> progress;
};

struct ListResult {
  PolicyList list;
  Summary summary;
  std::vector<double> completions;     // seconds, of jobs that succeeded
  std::unique_ptr<Timeline> timeline;  // null without plot_job
};
// kInvalidArgument: no such job; kInternal: a simulation stopped; what make says.
Result<std::vector<ListResult>> RunLists(const CompareOptions& options);

// Beside each number its ratio to the first list's.
std::string ComparisonTable(const Header& header, const std::vector<ListResult>& results);
std::string ComparisonJson(const Header& header, const std::vector<ListResult>& results);
// Distributions of completion; under them, where a job was watched, its slots under each list.
std::string Plot(const Header& header, const std::vector<ListResult>& results, uint32_t plot_job);

}  // namespace mr::sim
