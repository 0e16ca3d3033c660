// Several plans as one job: what one step of a job file would write as files, another reads by an edge, with no job in
// between. Pure; the plans come from mrtask (step_plans.h).
#pragma once

#include <string>
#include <vector>

#include "jobs/mrctl/job_steps.h"
#include "jobs/mrctl/plan.h"

namespace mr::ctl {

struct PlannedStep {
  JobStep step;
  // Of a job: as mrtask gave it. Of an operator: one stage without inputs and ports, which are made here.
  Plan plan;
  bool builtin = false;  // of the built-in library, although the job has its own
};

// One plan of all steps, stages named "step" or "step.stage". A stage that reads files of a step gets a one-to-one edge
// that is read as files (PlanInput::format); a port that is read so no longer writes files. The job's own --input is
// read by the first step. What cannot be is told with step and stage, all of it; the plan is then of no use.
Plan ChainPlans(std::vector<PlannedStep> steps, JobFileFaults* faults);

}  // namespace mr::ctl
