// From a plan and the options of submit to the JobSpec that the master gets. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/plan.h"
#include "jobs/mrctl/side_files.h"
#include "schema/job.capnp.h"

namespace mr::ctl {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

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
  std::vector<std::string> policies;
  rpc::Wish speculation = rpc::Wish::AUTO, clones = rpc::Wish::AUTO;
  KeyValues conf, env, labels;
  uint64_t max_bad_records = 0;
  std::optional<uint64_t> task_timeout_ms;  // 0 = never; absent: the default
  std::vector<SideFile> files;              // with their digests
  // A bare path that the job's own arguments named: what it means (uri.h) is said by these.
  bool bare_is_local = false;
  std::string cwd;
};

// Keys of --conf that the engine has not: the plan is asked for them, as arguments `--conf KEY=VALUE` before all
// others.
bool IsConfOfTheJob(std::string_view key);

// Whether --reduces says how many tasks the stage has: it merges many tasks' output, and the plan leaves them open.
bool TakesReduces(const PlanStage& stage);

// kInvalidArgument: an input that the job reads is not given or one given is not read, an unknown
// --conf key, a format that is none.
Status BuildJobSpec(const Plan& plan, const SpecOptions& options, rpc::JobSpec::Builder out);

// "k=v" words; kInvalidArgument names `option`.
Result<KeyValues> ParseKeyValues(const std::vector<std::string>& words, const char* option);
// What it is worth to end at a time, in milliseconds since the submission.
using UtilityPoints = std::vector<std::pair<uint64_t, double>>;
// "0:1,30m:1,40m:-1": times that rise, two or more. kInvalidArgument says which point is wrong.
Result<UtilityPoints> ParseUtility(const std::string& text);
// "on", "off", "auto" or "" (auto); kInvalidArgument names `option`.
Result<rpc::Wish> ParseWish(const std::string& word, const char* option);
// "a,b(x=1,y=2),c" at the commas outside of parentheses.
std::vector<std::string> SplitPolicies(std::string_view list);
// kInvalidArgument where something is given that names none.
Status CheckPolicyList(std::string_view list);

}  // namespace mr::ctl
