// The plan of what is submitted, by mrtask: of one job, or of the steps of a job file.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/job_steps.h"
#include "jobs/mrctl/plan.h"
#include "jobs/mrctl/tools.h"

namespace mr::ctl {

// The children that plan the steps of a job file, side by side. A job that the own library has is taken from there,
// any other from the built-in one.
class StepPlanning {
 public:
  // own_library: path, empty where there is none. file: for messages. Waits for the list of the own library.
  static Result<StepPlanning> Start(std::vector<JobStep> steps, const std::string& own_library, std::string file);
  // One plan of all; kInvalidArgument with all that is wrong. uses_library(): whether any step is of the own library.
  Result<Plan> Finish();
  bool uses_library() const { return uses_library_; }

 private:
  std::vector<JobStep> steps_;
  std::vector<ToolRun> runs_;
  std::vector<bool> builtin_;
  std::string file_;
  bool uses_library_ = false;
};

}  // namespace mr::ctl
