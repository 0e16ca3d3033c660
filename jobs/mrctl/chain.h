// Joins the plans of a job file's steps into one job: files that one step would write become an edge to the steps that
// read them, without a job in between. Pure; the plans come from mrtask (step_plans.h).
#pragma once

#include <string>
#include <vector>

#include "jobs/mrctl/job_steps.h"
#include "jobs/mrctl/plan.h"

namespace mr::ctl {

struct PlannedStep {
  JobStep step;
  // For a job: the plan from mrtask. For an operator: one stage; its inputs and ports are made here.
  Plan plan;
  bool builtin = false;  // an operator of the built-in library in a job with --lib
};

// Returns one plan of all steps, with stages named "step" or "step.stage". A stage that reads a step's files gets a
// one-to-one edge that is read as files (PlanInput::format), and the port that it reads no longer writes files. The
// first step reads the job's own --input. Errors: all faults, with step and stage, go to `faults`; the plan is then
// unusable.
Plan ChainPlans(std::vector<PlannedStep> steps, JobFileFaults* faults);

}  // namespace mr::ctl
