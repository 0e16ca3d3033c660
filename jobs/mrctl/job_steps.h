// The steps of a job file: jobs and operators of which one reads what another writes. Each [[step]] is a table:
//
//   name      default: the job's or operator's name
//   job       a built-in job, or one of lib; args: its arguments
//   operator  or one operator of these; config: a table of what it reads back with Config
//   input     paths and globs, or "@NAME": what that step writes ("@NAME:1": port 1 of an operator). Left out: the
//             step before; of the first step, the job's own input
//   format    of the input, as --format; reduces (of a job) or tasks (of an operator): a number
//   edge      of an operator, how it reads steps that are operators: group, all_to_all, many_to_one, one_to_one (the
//             default), broadcast; one for all inputs, or one for each
//   combine, custom_partition: of an operator, for all that it writes
//   output_format: of an operator that nothing reads
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
  uint32_t tasks = 0;  // reduces of a job
  std::vector<std::string> edges;
  bool combine = false, custom_partition = false;
};

// "@name:port" of an input, or none where it is a path.
struct StepRef {
  std::string step;
  uint32_t port = 0;
};
bool IsStepRef(std::string_view word);
Result<StepRef> ParseStepRef(std::string_view word);

// What is wrong with a job file: told together.
class JobFileFaults {
 public:
  // Once each: two stages of a step may meet the same.
  void Add(std::string fault) {
    if (std::find(faults_.begin(), faults_.end(), fault) == faults_.end()) faults_.push_back(std::move(fault));
  }
  bool empty() const { return faults_.empty(); }
  // kInvalidArgument that names `file`; Ok where there are none.
  Status ToStatus(const std::string& file) const;

 private:
  std::vector<std::string> faults_;
};

// All that can be said of steps without their plans.
std::vector<JobStep> ReadSteps(const std::vector<KeyTable>& tables, JobFileFaults* faults);

// Indexes of the steps so that each stands behind those that it reads. reads[i]: which steps i reads. A cycle is a
// fault that names it, and the order is then empty.
std::vector<size_t> OrderSteps(const std::vector<std::string>& names, const std::vector<std::vector<size_t>>& reads,
                               JobFileFaults* faults);

// "step 'x': "
std::string StepText(const std::string& name);

}  // namespace mr::ctl
