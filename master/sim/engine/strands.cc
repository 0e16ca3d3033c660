// Job-level cloning: a job runs as several strands, each the whole job with luck of its own. The first strand that
// succeeds ends the job, and the others are killed as a user kills a job. The job fails when its last strand has
// failed.
#include <algorithm>

#include "master/sched/policies/dolly/dolly_rules.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

// Returns how many strands this job may have now, and their charge to the budget. The charge is the widest stage in all
// strands, since stages follow each other.
std::pair<uint32_t, uint64_t> Simulation::AdmitStrands(const JobModel& job) const {
  const Strands& rule = *experiment_.strands;
  const uint32_t c = sched::StrandCount(rule.p, job.tasks(), rule.epsilon, sched::kMostClones);
  uint64_t widest = 0, used = 0;
  for (const StageModel& stage : job.stages) widest = std::max<uint64_t>(widest, stage.tasks);
  for (const auto& [first, running] : strands_) used += running.charge;
  const sched::Demand demand = sched::DemandOf(c, widest, rule.budget);
  const auto acts = [](const StageModel& stage) { return stage.side_effects; };
  const bool once = std::any_of(job.stages.begin(), job.stages.end(), acts);
  if (once || c <= 1 || !sched::Admits(used, demand, live_, experiment_.cluster.slots(), rule.budget)) return {1, 0};
  return {c, demand.charge};
}

void Simulation::SubmitStrands(uint32_t job) {
  std::vector<uint32_t> all = {job};
  if (experiment_.strands) {
    const auto [c, charge] = AdmitStrands(experiment_.jobs[job]);
    while (all.size() < c) {
      all.push_back(static_cast<uint32_t>(jobs_.size()));
      original_.push_back(job);
      jobs_.emplace_back();
      experiment_.jobs.push_back(JobModel(experiment_.jobs[job]));
    }
    if (c > 1) strands_[job] = {all, c, charge, false};
  }
  for (const uint32_t strand : all) Submit(strand);
}

bool Simulation::EndStrand(uint32_t job, bool succeeded) {
  const auto it = strands_.find(job);
  if (it == strands_.end()) return true;
  RunningStrands& strands = it->second;
  --strands.left;
  const bool decides = !strands.decided && (succeeded || strands.left == 0);
  if (decides) {
    strands.decided = true;
    strands.charge = 0;
    for (const uint32_t other : strands.all) {
      if (!jobs_[other].over) queue_.Push(now_, Kind::kKillStrand, other);
    }
  }
  if (strands.left == 0) strands_.erase(it);
  return decides;
}

void Simulation::KillStrand(uint32_t strand) {
  if (jobs_[strand].over) return;
  Step(sched::JobKillAsked{{1, strand + 1}, "another strand of the job was first"});
}

}  // namespace mr::sim
