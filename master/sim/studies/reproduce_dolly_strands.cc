// Dolly (NSDI'13) 3.1: clones of whole jobs against clones of tasks, with the same budget and ceiling.
#include "master/sim/studies/dolly_figures.h"

namespace mr::sim {

namespace {

// Returns the share of factors above twice the median: Dolly's p.
double StragglerShare(const std::vector<float>& factors) {
  constexpr float kStraggles = 2;
  double n = 0;
  for (const float f : factors) n += f > kStraggles;
  return n / static_cast<double>(factors.size());
}

Figure JobLevel(const std::string& id, const Workload& workload) {
  Figure f{id, "whole jobs cloned (strands), and tasks cloned, each against LATE", {}, nullptr};
  f.lines = {{"p, the share of tasks that straggle, %"},
             {"job-level / LATE, small jobs shorter by, %"},
             {"task-level / LATE, small jobs shorter by, %"},
             {"task-level less job-level, points of small jobs", kNoNumber, 0, kNoBound},
             {"job-level / LATE, bin 1 shorter by, %"},
             {"task-level / LATE, bin 1 shorter by, %"},
             {"job-level / LATE, bin 2 shorter by, %"},
             {"task-level / LATE, bin 2 shorter by, %"},
             {"slot-seconds of job-level clones, % of LATE's"},
             {"slot-seconds of task-level clones, % of LATE's"},
             {"job-level / LATE, extra slot-seconds in all, %"},
             {"task-level / LATE, extra slot-seconds in all, %"}};
  f.run = [workload](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(Experiment with_late, workload(c, kWithLate));
    MR_ASSIGN_OR_RETURN(Experiment cloned, workload(c, kDollyLate));
    Experiment stranded = with_late;
    stranded.strands.emplace();
    stranded.strands->p = StragglerShare(stranded.tasks.factors);
    const double p = stranded.strands->p;
    MR_ASSIGN_OR_RETURN(const DollyOutcome late, RunDolly(std::move(with_late), false));
    MR_ASSIGN_OR_RETURN(const DollyOutcome jobs, RunDolly(std::move(stranded), false));
    MR_ASSIGN_OR_RETURN(const DollyOutcome tasks, RunDolly(std::move(cloned), false));
    const double by_job = Less(jobs.small, late.small), by_task = Less(tasks.small, late.small);
    return std::vector<double>{100 * p,
                               by_job,
                               by_task,
                               by_task - by_job,
                               Less(jobs.mean[0], late.mean[0]),
                               Less(tasks.mean[0], late.mean[0]),
                               Less(jobs.mean[1], late.mean[1]),
                               Less(tasks.mean[1], late.mean[1]),
                               100 * jobs.budgeted / late.busy,
                               100 * tasks.budgeted / late.busy,
                               -Less(jobs.busy, late.busy),
                               -Less(tasks.busy, late.busy)};
  };
  return f;
}

}  // namespace

std::vector<Figure> StrandFigures() {
  return {JobLevel("strands-facebook", Mix(DollyMix::kFacebook)), JobLevel("strands-bing", Mix(DollyMix::kBing))};
}

}  // namespace mr::sim
