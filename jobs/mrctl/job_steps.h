// The steps of a job file: jobs and operators that read each other's output. Each [[step]] is a table:
//
//   name      default: the job's or operator's name
//   job       a built-in job, or a job of lib; args: its arguments
//   operator  or an operator of these; config: a table that it reads with Config
//   input     paths and globs, or "@NAME": the output of that step ("@NAME:1": port 1 of an operator). Default: the
//             step before; for the first step, the job's own input
//   format    of the input, as --format; reduces (of a job) or tasks (of an operator): a number
//   edge      of an operator: how it reads steps that are operators: group, all_to_all, many_to_one, one_to_one (the
//             default), broadcast; one for all inputs, or one for each
//   combine, custom_partition: of an operator, for all its output
//   output_format: of an operator that no other step reads
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace mr::ctl {

struct KeyTable;

struct JobStep {
  std::string name, job, op;
  std::vector<std::string> args, config;  // config: "key=value"
  std::vector<std::string> inputs;
  bool inputs_given = false;  // else they are the default
  std::string format, output_format;
  uint32_t tasks = 0;  // number of reduces, for a job
  std::vector<std::string> edges;
  bool combine = false, custom_partition = false;
};

// "@name:port" of an input.
struct StepRef {
  std::string step;
  uint32_t port = 0;
};
bool IsStepRef(std::string_view word);
Result<StepRef> ParseStepRef(std::string_view word);

// The faults of a job file, reported together.
class JobFileFaults {
 public:
  // Adds a fault once: two stages of a step may find the same.
  void Add(std::string fault) {
    if (std::find(faults_.begin(), faults_.end(), fault) == faults_.end()) faults_.push_back(std::move(fault));
  }
  bool empty() const { return faults_.empty(); }
  // Returns kInvalidArgument that names `file`, or Ok without faults.
  Status ToStatus(const std::string& file) const;

 private:
  std::vector<std::string> faults_;
};

// Reads the steps. Reports all faults that can be found without their plans.
std::vector<JobStep> ReadSteps(const std::vector<KeyTable>& tables, JobFileFaults* faults);

// Returns the indexes of the steps, each after the steps that it reads. reads[i]: the steps that step i reads. A cycle
// is reported as a fault, and the order is then empty.
std::vector<size_t> OrderSteps(const std::vector<std::string>& names, const std::vector<std::vector<size_t>>& reads,
                               JobFileFaults* faults);

// Returns "step 'x': ".
std::string StepText(const std::string& name);

}  // namespace mr::ctl
