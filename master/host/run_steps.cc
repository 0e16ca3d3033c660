// Reads the run of a job.
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/version.h"
#include "common/io/clock.h"
#include "master/core/failure_text.h"
#include "master/host/view_steps.h"

namespace mr::master {
namespace {

using web::TopicKind;

constexpr size_t kRowsPerStep = 64;             // some 0.1 ms; a guess
constexpr uint64_t kMostRunSlices = 1'000'000;  // as Lists

class RunSteps final : public ViewSteps {
 public:
  RunSteps(const web::Topic& topic, const ViewParts& parts)
      : parts_(parts), topic_(topic), id_(topic.job), kind_(topic.kind) {}

  Result<bool> Next() override {
    const JobView* job = parts_.core().jobs().Find(id_);
    if (job == nullptr || !Shows(topic_, *job)) return parts_.core().jobs().Unknown(id_);
    if (kind_ != TopicKind::kJob && job->brief) return OnlyBrief(*job);
    if (!begun_) final_ = mr::Ended(ShownState(*job));
    begun_ = true;
    switch (part_) {
      case Part::kWorkers: return Ended(Wanted({TopicKind::kReport}) ? AddWorkers() : true, Part::kTasks);
      case Part::kTasks:
        return Ended(Wanted({TopicKind::kReport, TopicKind::kTasks}) ? AddTasks(*job) : true, Part::kAttempts);
      case Part::kAttempts:
        return Ended(Wanted({TopicKind::kReport, TopicKind::kAttempts}) ? AddAttempts(*job) : true, Part::kDecisions);
      case Part::kDecisions: return Ended(Wanted({TopicKind::kReport}) ? AddDecisions(*job) : true, Part::kCounters);
      case Part::kCounters:
        return Ended(Wanted({TopicKind::kReport, TopicKind::kJob, TopicKind::kCounters}) && !job->brief
                         ? AddCounters(*job)
                         : true,
                     Part::kJob);
      case Part::kJob: break;
    }
    AddJob(*job);
    return true;
  }

  web::View Take() override { return std::move(run_); }
  // Rows that were read before the job's end would not show it.
  bool final() const override { return final_; }

 private:
  enum class Part { kWorkers, kTasks, kAttempts, kDecisions, kCounters, kJob };

  bool Wanted(std::initializer_list<TopicKind> kinds) const {
    for (const TopicKind kind : kinds) {
      if (kind == kind_) return true;
    }
    return false;
  }

  bool Ended(bool ended, Part next) {
    if (ended) part_ = next;
    return false;
  }

  bool AddWorkers() {
    const auto& all = parts_.core().workers().all();
    auto it = all.upper_bound(worker_);
    for (size_t n = 0; n < kRowsPerStep && it != all.end(); ++n, ++it) {
      worker_ = it->first;
      run_.workers.push_back(parts_.rows.WorkerOf(it->first, it->second));
    }
    return it == all.end();
  }

  bool AddTasks(const JobView& job) {
    for (size_t n = 0; stage_ < job.stages.size(); ++stage_, task_ = 0) {
      for (; task_ < job.stages[stage_].tasks.size(); ++task_) {
        if (n++ == kRowsPerStep) return false;
        run_.tasks.push_back(parts_.rows.TaskOf(job, stage_, task_, &slices_));
      }
    }
    return true;
  }

  bool AddAttempts(const JobView& job) {
    const Instant now = parts_.clock.Stamp();
    const std::vector<AttemptView> attempts = parts_.core().attempts().Of(id_, after_, kRowsPerStep);
    for (const AttemptView& attempt : attempts) run_.attempts.push_back(parts_.rows.AttemptOf(job, attempt, now));
    if (!attempts.empty()) after_ = attempts.back().id;
    return attempts.size() < kRowsPerStep;
  }

  // The job's own lines, those of its tasks, and its end, which follows from them.
  bool AddDecisions(const JobView& job) {
    const auto add = [&](const WhyLine& line) { run_.decisions.push_back(parts_.rows.DecisionOf(job, line)); };
    if (!decided_) {
      for (const WhyLine& line : job.notes.why_job) {
        if (!EndsJob(line)) add(line);
      }
    }
    const auto& tasks = job.notes.why;
    auto it = decided_ ? tasks.upper_bound(*decided_) : tasks.begin();
    for (size_t n = 0; n < kRowsPerStep && it != tasks.end(); ++it) {
      n += it->second.size();
      for (const WhyLine& line : it->second.All()) add(line);
      decided_ = it->first;
    }
    if (it != tasks.end()) return false;
    for (const WhyLine& line : job.notes.why_job) {
      if (EndsJob(line)) add(line);
    }
    return true;
  }

  bool AddCounters(const JobView& job) {
    for (size_t n = 0; counted_stage_ < job.stages.size(); ++counted_stage_, counted_task_ = 0) {
      const auto& tasks = job.stages[counted_stage_].tasks;
      for (; counted_task_ < tasks.size(); ++counted_task_) {
        if (n >= kRowsPerStep) return false;
        n += 1 + AddCountersOf(tasks[counted_task_], &sums_);
      }
    }
    return true;
  }

  void AddJob(const JobView& job) {
    parts_.clock.Stamp();
    run_.job = parts_.reader.StatusOf(job);
    run_.job.counters = ListOf(sums_);
    run_.spec = job.spec;
    const auto& queues = parts_.core().scheduler().state().queues();
    if (const auto queue = queues.find(job.spec.queue.empty() ? "default" : job.spec.queue); queue != queues.end())
      run_.queue_max_share = queue->second.max_share;
    run_.taken_unix_ms = WallClockMs();
    run_.release = kVersion;
    run_.policies = parts_.options.policies;
  }

  const ViewParts parts_;
  const web::Topic topic_;
  const JobId id_;
  const TopicKind kind_;
  Part part_ = Part::kWorkers;
  bool begun_ = false, final_ = false;
  // The places where the next step goes on.
  WorkerId worker_;
  uint32_t stage_ = 0, task_ = 0, counted_stage_ = 0, counted_task_ = 0;
  AttemptId after_;
  std::optional<std::pair<uint32_t, uint32_t>> decided_;  // the last task
  uint64_t slices_ = kMostRunSlices;
  CounterSums sums_;
  report::JobRun run_;
};

}  // namespace

std::unique_ptr<ViewSteps> RunStepsFor(const web::Topic& topic, const ViewParts& parts) {
  return std::make_unique<RunSteps>(topic, parts);
}

}  // namespace mr::master
