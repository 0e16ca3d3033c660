// The plan of what is submitted, by mrtask: of one job, or of the steps of a job file.
#pragma once

#include <optional>
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
  static Result<StepPlanning> Start(std::vector<JobStep> steps, const std::string& own_library, std::string file,
                                    const PlanSizes& sizes);
  // One plan of all; kInvalidArgument with all that is wrong. uses_library(): whether any step is of the own library.
  // What a step writes has no size yet, so such inputs are not among its wants_bytes.
  Result<Plan> Finish();
  // Behind Finish(): asks those steps again that wanted to know what `sizes` has.
  void Again(const PlanSizes& sizes);
  bool uses_library() const { return uses_library_; }

 private:
  struct Planned {
    JobStep step;
    bool builtin = false;  // although there is an own library
    std::string library;
    std::string job;                // or kPlanDocument
    std::vector<std::string> args;  // of that
    std::optional<ToolRun> run;     // until its plan is here
    Plan plan;
  };
  static void Ask(Planned* planned, const PlanSizes& sizes);

  std::vector<Planned> steps_;
  std::string file_;
  bool uses_library_ = false;
};

}  // namespace mr::ctl
