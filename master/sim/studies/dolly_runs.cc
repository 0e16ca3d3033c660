#include "master/sim/studies/dolly_runs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "master/sched/policies/dolly/reasons.h"
#include "master/sim/studies/reproduce.h"

namespace mr::sim {

namespace {

double AsSeconds(Duration d) { return static_cast<double>(d.ns) / 1e9; }
double AsSeconds(Instant t) { return static_cast<double>(t.ns) / 1e9; }

double Percentile(std::vector<double> values, double p) {
  if (values.empty()) return kNoNumber;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(p * static_cast<double>(values.size() - 1))];
}

// Measures attempts.
class Watched {
 public:
  explicit Watched(const std::vector<JobModel>& jobs) : held_(jobs.size()) {
    for (const JobModel& job : jobs) tasks_.push_back(job.tasks());
  }
  std::function<uint32_t(JobId)> job_of;  // index in the workload, from 0, also for strands; set before the first event

  void See(const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions) {
    if (const auto* e = std::get_if<sched::AttemptKilled>(&event.event)) End(e->attempt, event.at);
    if (const auto* e = std::get_if<sched::AttemptFailed>(&event.event)) End(e->attempt, event.at);
    if (const auto* e = std::get_if<sched::AttemptFinished>(&event.event)) Finished(*e, event.at, decisions);
    if (const auto* e = std::get_if<sched::FetchDone>(&event.event)) {
      samples_.reads.push_back({AsSeconds(event.at), AsSeconds(e->took), static_cast<double>(e->bytes), e->readers});
    }
    for (const sched::Decision& d : decisions) {
      if (const auto* launch = std::get_if<sched::Launch>(&d)) Launched(*launch, event.at);
      const auto* kill = std::get_if<sched::Kill>(&d);
      if (kill != nullptr) preempted_ += kill->reason.code == sched::DollyReason::kNoBudget;
    }
  }

  DollyOutcome Result(uint32_t slots, bool cloned) {
    DollyOutcome out;
    out.spread50 = Spread(.5, cloned);
    out.spread95 = Spread(.95, cloned);
    out.small_share = clones_all_ > 0 ? 100 * clones_small_ / clones_all_ : kNoNumber;
    out.budgeted = clones_all_;
    out.lent = lent_;
    out.preempted = 100.0 * static_cast<double>(preempted_) / static_cast<double>(launched_);
    out.most_small = 100.0 * most_small_ / slots;
    std::vector<double> held = held_;
    std::sort(held.begin(), held.end());
    double all = 0, smallest = 0;
    for (size_t j = 0; j < held.size(); ++j) {
      all += held[j];
      if (j < held.size() * 9 / 10) smallest += held[j];
    }
    out.smallest90 = 100 * smallest / all;
    out.samples = std::move(samples_);
    return out;
  }

 private:
  struct Live {
    Instant from;
    bool clone = false, lent = false;
  };

  bool Small(const AttemptId& id) const { return tasks_[job_of(id.task.job)] <= kSmallJob; }

  void Launched(const sched::Launch& d, Instant at) {
    const JobId job = d.attempt.task.job;
    const bool clone = d.cause == Cause::kClone || job_of(job) + 1 != job.seq;
    if (clone) cloned_.insert(d.attempt.task.stage_id());
    live_[d.attempt] = {at, clone, d.cause == Cause::kOpportunistic};
    ++launched_;
    if (Small(d.attempt)) most_small_ = std::max(most_small_, ++small_now_);
  }

  void Finished(const sched::AttemptFinished& e, Instant at, const std::vector<sched::Decision>& decisions) {
    End(e.attempt, at);
    for (const sched::Decision& d : decisions) {
      const auto* accept = std::get_if<sched::Accept>(&d);
      if (accept == nullptr || accept->attempt != e.attempt) continue;
      const auto [first, is_first] = first_replica_.try_emplace(e.attempt.task, AsSeconds(at));
      if (accept->winner) ran_[e.attempt.task.stage_id()].push_back(AsSeconds(e.ran));
      if (is_first || !second_replica_.insert(e.attempt.task).second) continue;
      samples_.gaps.push_back({AsSeconds(at), AsSeconds(at) - first->second});
    }
  }

  void End(const AttemptId& id, Instant at) {
    const auto it = live_.find(id);
    if (it == live_.end()) return;
    const double held = AsSeconds(at - it->second.from);
    held_[job_of(id.task.job)] += held;
    if (it->second.clone) clones_all_ += held;
    if (it->second.lent) lent_ += held;
    if (it->second.clone && Small(id)) clones_small_ += held;
    if (Small(id)) --small_now_;
    live_.erase(it);
  }

  // Tasks of a phase have the same input, so ratios of rates are ratios of times.
  double Spread(double p, bool cloned) const {
    std::vector<double> spreads;
    for (const auto& [stage, ran] : ran_) {
      if (ran.size() < 2 || tasks_[job_of(stage.job)] > kSmallJob || (cloned && !cloned_.contains(stage))) continue;
      std::vector<double> sorted = ran;
      std::sort(sorted.begin(), sorted.end());
      spreads.push_back(sorted.back() / ((sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2));
    }
    return Percentile(std::move(spreads), p);
  }

  std::vector<uint32_t> tasks_;
  std::vector<double> held_;  // slot-seconds per job
  std::map<StageId, std::vector<double>> ran_;
  std::set<StageId> cloned_;
  std::map<AttemptId, Live> live_;
  std::map<TaskId, double> first_replica_;
  std::set<TaskId> second_replica_;
  Samples samples_;
  uint64_t launched_ = 0, preempted_ = 0;
  int64_t small_now_ = 0, most_small_ = 0;
  double clones_all_ = 0, clones_small_ = 0, lent_ = 0;
};

}  // namespace

Result<DollyOutcome> RunDolly(Experiment e, bool cloned) {
  const uint32_t slots = e.cluster.slots();
  Watched watched(e.jobs);
  e.watch = [&watched](const auto& event, const auto& decisions) { watched.See(event, decisions); };
  Simulation run(std::move(e));
  watched.job_of = [&run](JobId id) { return run.JobOf(id); };
  const std::string wrong = run.Run(nullptr);
  if (!wrong.empty()) return Internal("the simulation stopped " + wrong);
  DollyOutcome out = watched.Result(slots, cloned);
  for (const JobResult& job : run.jobs()) {
    out.seconds.push_back(job.ended - job.submitted);
    out.tasks.push_back(job.tasks);
  }
  const auto bins = BinsOf(run.jobs());
  for (size_t b = 0; b < bins.size(); ++b) {
    out.jobs[b] = bins[b].jobs;
    out.mean[b] = bins[b].jobs > 0 ? bins[b].mean : 0;
  }
  double jobs[2] = {0, 0}, sums[2] = {0, 0};
  for (size_t b = 0; b < kAllBins; ++b) {
    jobs[b > 1] += out.jobs[b];
    sums[b > 1] += out.jobs[b] * out.mean[b];
  }
  out.small = sums[0] / jobs[0];
  out.large = sums[1] / jobs[1];
  out.busy = run.totals().busy;
  out.utilisation = 100 * run.totals().busy / (run.totals().end * slots);
  return out;
}

double Less(double ours, double base) { return 100 * (1 - ours / base); }

double LessByBin(const DollyOutcome& ours, const DollyOutcome& base) {
  double sum = 0;
  for (size_t b = 0; b < kAllBins; ++b) {
    if (base.jobs[b] > 0) sum += base.jobs[b] * Less(ours.mean[b], base.mean[b]);
  }
  return sum / base.jobs[kAllBins];
}

double LeastOfBins(const DollyOutcome& ours, const DollyOutcome& base) {
  double least = kNoBound;
  for (size_t b = 0; b < kAllBins; ++b) {
    if (base.jobs[b] > 0) least = std::min(least, Less(ours.mean[b], base.mean[b]));
  }
  return least;
}

double LessAt(double quantile, const DollyOutcome& ours, const DollyOutcome& base) {
  std::vector<double> less;
  for (size_t j = 0; j < base.seconds.size(); ++j) {
    if (base.tasks[j] <= kFirstBin) less.push_back(Less(ours.seconds[j], base.seconds[j]));
  }
  return Percentile(std::move(less), quantile);
}

}  // namespace mr::sim
