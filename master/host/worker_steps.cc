// Reads the view of a worker: its state, what it runs, and the attempts that ended on it.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "master/host/view_steps.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

constexpr size_t kAttemptsPerStep = 64;  // some 0.1 ms; guesses
// Attempts of the newest jobs that are looked at, and those of the worker that are shown. Guesses.
constexpr size_t kAttemptsWalked = 4096, kEndedAttempts = 100;

class WorkerSteps final : public ViewSteps {
 public:
  WorkerSteps(const web::Topic& topic, const ViewParts& parts) : parts_(parts), topic_(topic), id_(topic.worker) {}

  Result<bool> Next() override {
    switch (part_) {
      case Part::kHead: {
        MR_RETURN_IF_ERROR(AddHead());
        part_ = Part::kWalk;
        return false;
      }
      case Part::kWalk:
        if (!WalkJobs()) return false;
        std::sort(found_.rbegin(), found_.rend());
        found_.resize(std::min(found_.size(), kEndedAttempts));
        part_ = Part::kEnded;
        return false;
      case Part::kEnded: break;
    }
    AddEnded();
    return true;
  }
  web::View Take() override { return std::move(view_); }

 private:
  enum class Part { kHead, kWalk, kEnded };

  Status AddHead() {
    const WorkerView* worker = parts_.core().workers().Find(id_);
    if (worker == nullptr) return NotFound("there is no worker " + Name(id_));
    view_.worker = parts_.rows.WorkerOf(id_, *worker);
    MR_ASSIGN_OR_RETURN(view_.why, parts_.why.WhyNow(id_));
    // It names jobs and files of everybody, as the call drainStatus does.
    if (worker->drained_by_user && topic_.owner.empty()) {
      MR_ASSIGN_OR_RETURN(const DrainReport drain, parts_.drains.DrainOf(id_));
      view_.drain = StatusOf(drain);
    }
    const sched::Worker* known = parts_.core().scheduler().state().FindWorker(id_);
    if (known == nullptr) return Status::Ok();
    const Instant now = parts_.clock.Stamp();
    for (const AttemptId& id : known->attempts) {
      const JobView* job = parts_.core().jobs().Find(id.task.job);
      const auto attempt = parts_.core().attempts().Find(id);
      if (job != nullptr && attempt && Shows(topic_, *job))
        view_.running.push_back(parts_.rows.AttemptOf(*job, *attempt, now));
    }
    return Status::Ok();
  }

  // Looks at attempts, from the newest job back. Returns true at the end.
  bool WalkJobs() {
    for (size_t n = 0; n < kAttemptsPerStep;) {
      if (walked_ >= kAttemptsWalked) return true;
      if (!job_.valid()) {
        const auto& jobs = parts_.core().jobs().jobs();
        const auto it = before_.valid() ? jobs.lower_bound(before_) : jobs.end();
        if (it == jobs.begin()) return true;
        before_ = std::prev(it)->first;
        if (!Shows(topic_, std::prev(it)->second)) {
          ++n;
          ++walked_;
          continue;
        }
        job_ = before_;
        after_ = {};
      }
      const std::vector<AttemptView> attempts = parts_.core().attempts().Of(job_, after_, kAttemptsPerStep);
      for (const AttemptView& attempt : attempts) {
        if (attempt.worker == id_ && !Live(attempt.state)) found_.emplace_back(attempt.ended, attempt.id);
      }
      n += attempts.size() + 1;
      walked_ += attempts.size() + 1;
      if (attempts.size() < kAttemptsPerStep) {
        job_ = {};
      } else {
        after_ = attempts.back().id;
      }
    }
    return false;
  }

  void AddEnded() {
    const Instant now = parts_.clock.Stamp();
    for (const auto& [end, id] : found_) {
      const JobView* job = parts_.core().jobs().Find(id.task.job);
      const auto attempt = parts_.core().attempts().Find(id);
      // They may be forgotten since they were found.
      if (job == nullptr || !attempt || id.task.stage >= job->spec.stages.size()) continue;
      const AttemptStatus status = parts_.rows.AttemptOf(*job, *attempt, now);
      view_.ended.push_back(
          {status, job->spec.name, job->spec.stages[id.task.stage].name, job->wall_ms + status.launched_us / 1000});
    }
  }

  const ViewParts parts_;
  const web::Topic topic_;
  const WorkerId id_;
  Part part_ = Part::kHead;
  // The places where the next step goes on. job_: not valid: with the next job before before_.
  JobId job_, before_;
  AttemptId after_;
  size_t walked_ = 0;
  std::vector<std::pair<Instant, AttemptId>> found_;
  web::WorkerView view_;
};

}  // namespace

std::unique_ptr<ViewSteps> WorkerStepsFor(const web::Topic& topic, const ViewParts& parts) {
  return std::make_unique<WorkerSteps>(topic, parts);
}

}  // namespace mr::master
