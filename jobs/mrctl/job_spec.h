// Builds the master's JobSpec from a plan and the options of submit. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/model/job_spec.h"
#include "jobs/mrctl/plan.h"
#include "jobs/mrctl/side_files.h"

namespace mr::ctl {

using KeyValues = std::vector<KeyValue>;

// Options of submit, checked and with absolute URIs.
struct SpecOptions {
  std::string name, queue;
  int priority = 0;
  std::string library_sha256;       // empty: the built-in library
  std::vector<std::string> inputs;  // absolute URIs, one per --input
  std::string format, output_format;
  std::string output_uri;
  bool overwrite = false;
  uint32_t reduces = 0;   // 0: the planner decides
  bool map_only = false;  // --reduces 0: a job that reduces is refused
  uint32_t max_failures = 0;
  uint64_t memory_bytes = 0;
  uint64_t deadline_ms = 0;
  bool best_effort = false;
  bool strict_inputs = false;
  bool allow_network = false;
  std::vector<std::string> policies;
  Wish speculation = Wish::kAuto, clones = Wish::kAuto;
  KeyValues conf, env, labels;
  uint64_t max_bad_records = 0;
  std::optional<uint64_t> task_timeout_ms;  // 0: never; absent: the default
  std::vector<SideFile> files;              // with their digests
  // How to resolve a bare path of the job's own arguments (uri.h).
  bool bare_is_local = false;
  std::string cwd;
};

// Returns whether a key of --conf belongs to the job and not to the engine. The plan receives such keys as arguments
// `--conf KEY=VALUE`, before all others.
bool IsConfOfTheJob(std::string_view key);

// Returns whether --reduces decides the stage's number of tasks: it merges the output of many tasks, and the plan
// leaves the number open.
bool TakesReduces(const PlanStage& stage);

// Errors: kInvalidArgument for a missing or unread input, an unknown --conf key, or an invalid format.
Result<JobSpec> BuildJobSpec(const Plan& plan, const SpecOptions& options);

// Parses "k=v" words. Errors: kInvalidArgument that names `option`.
Result<KeyValues> ParseKeyValues(const std::vector<std::string>& words, const char* option);
// Parses "0:1,30m:1,40m:-1": increasing times, at least two points. Errors: kInvalidArgument that names the point.
Result<std::vector<UtilityPoint>> ParseUtility(const std::string& text);
// Parses "on", "off", "auto" or "" (auto). Errors: kInvalidArgument that names `option`.
Result<Wish> ParseWish(const std::string& word, const char* option);
// Splits "a,b(x=1,y=2),c" at commas outside parentheses.
std::vector<std::string> SplitPolicies(std::string_view list);
// Errors: kInvalidArgument if the list is not empty and names no policy.
Status CheckPolicyList(std::string_view list);

}  // namespace mr::ctl
