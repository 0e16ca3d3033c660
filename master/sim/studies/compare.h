// Compares lists of policies with the same luck. Workload, cluster and seed are equal, so all differences come from the
// policies.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/sim/studies/report.h"
#include "master/sim/studies/timeline.h"

namespace mr::sim {

struct PolicyList {
  std::string list;
  std::string without;  // of an ablation: the dropped policy; "": the whole list
};
// Checks the lists. Errors: kInvalidArgument: fewer than two, a repeated list, or one that CheckPolicies rejects.
Result<std::vector<PolicyList>> ListsToCompare(const std::vector<std::string>& lists);
// Returns the list whole, then without each of its policies (`mantri` without each of its parts). A leading fifo stays
// where it would be added again. jockey is dropped with the fair that it needs.
// Errors: kInvalidArgument: nothing can be dropped, or a rejected list.
Result<std::vector<PolicyList>> ListsToAblate(const std::string& list);

struct CompareOptions {
  std::vector<PolicyList> lists;
  uint64_t seed = 1;
  uint32_t seeds = 1;
  uint32_t plot_job = 0;          // 1, 2 ...: drawn for the first seed; 0: none
  bool keep_completions = false;  // over all seeds
  // Makes the experiment of a seed. Its list is filled in here.
  std::function<Result<Experiment>(uint64_t seed)> make;
  // Receives the index of list and seed, and their progress; may be null.
  std::function<void(size_t, uint32_t, size_t, size_t, Instant)> progress;
};

struct ListResult {
  PolicyList list;
  Summary summary;
  std::vector<double> completions;     // seconds of jobs that succeeded
  std::unique_ptr<Timeline> timeline;  // null if plot_job is 0
};
// Runs all lists. Errors: kInvalidArgument: no such job; kInternal: a simulation stopped; errors of `make`.
Result<std::vector<ListResult>> RunLists(const CompareOptions& options);

// Prints each number with its ratio to the first list's.
std::string ComparisonTable(const Header& header, const std::vector<ListResult>& results);
std::string ComparisonJson(const Header& header, const std::vector<ListResult>& results);
// Draws distributions of completion and, below them, the slots of plot_job under each list.
std::string Plot(const Header& header, const std::vector<ListResult>& results, uint32_t plot_job);

}  // namespace mr::sim
