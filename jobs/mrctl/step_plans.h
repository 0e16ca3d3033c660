// The plan of a submit, made by mrtask: of one job, or of the steps of a job file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/job_steps.h"
#include "jobs/mrctl/plan.h"
#include "jobs/mrctl/tools.h"

namespace mr::ctl {

// The children that plan the steps of a job file, in parallel. A job is taken from the user's library if that has it,
// else from the built-in one.
class StepPlanning {
 public:
  // Starts the children. own_library: path; empty: none. file: for messages. Waits for the list of the user's library.
  static Result<StepPlanning> Start(std::vector<JobStep> steps, const std::string& own_library, std::string file,
                                    const PlanSizes& sizes);
  // Returns one plan of all steps. Its wants_bytes has no files of steps, since their sizes are unknown yet. Afterwards
  // uses_library() returns whether a step uses the user's library. Errors: kInvalidArgument with all faults.
  Result<Plan> Finish();
  // Plans those steps again that asked for sizes in `sizes`. Requires: Finish() has returned.
  void Again(const PlanSizes& sizes);
  bool uses_library() const { return uses_library_; }

 private:
  struct Planned {
    JobStep step;
    bool builtin = false;  // although there is a user's library
    std::string library;
    std::string job;                // or kPlanDocument
    std::vector<std::string> args;  // of that
    std::optional<ToolRun> run;     // until its plan is known
    Plan plan;
  };
  static void Ask(Planned* planned, const PlanSizes& sizes);

  std::vector<Planned> steps_;
  std::string file_;
  bool uses_library_ = false;
};

}  // namespace mr::ctl
