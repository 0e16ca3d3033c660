// Reads pages of jobs, and searches.
#include <utility>

#include "master/host/view_steps.h"

namespace mr::master {
namespace {

constexpr size_t kJobsWalked = 500, kJobsRead = 4;  // in a step; some 0.1 ms; guesses
constexpr size_t kJobsOfPage = 100;
constexpr size_t kMostFound = 20, kMostFoundJobs = 15;

bool HasText(const std::string& text, const std::string& part) {
  return web::InLowerCase(text).find(part) != std::string::npos;
}

class JobsSteps final : public ViewSteps {
 public:
  JobsSteps(const web::Topic& topic, const ViewParts& parts) : parts_(parts), topic_(topic), at_(topic.job) {}

  Result<bool> Next() override {
    const auto& jobs = parts_.core().jobs().jobs();
    auto it = at_.valid() ? jobs.lower_bound(at_) : jobs.end();
    parts_.clock.Stamp();
    size_t read = 0;
    for (size_t n = 0; n < kJobsWalked && read < kJobsRead && it != jobs.begin(); ++n) {
      --it;
      const JobView& job = it->second;
      const bool wanted = Shows(topic_, job) && (topic_.states.empty() || topic_.states.contains(ShownState(job))) &&
                          (topic_.text.empty() || HasText(job.spec.name, topic_.text));
      if (wanted && view_.jobs.size() == kJobsOfPage) {
        view_.next = view_.jobs.back().id;
        return true;
      }
      at_ = it->first;
      if (!wanted) continue;
      ++read;
      view_.jobs.push_back(parts_.reader.StatusOf(job));
    }
    return it == jobs.begin();
  }
  web::View Take() override { return std::move(view_); }

 private:
  const ViewParts parts_;
  const web::Topic topic_;
  JobId at_;  // the next one is before it
  web::JobsView view_;
};

class SearchSteps final : public ViewSteps {
 public:
  SearchSteps(const web::Topic& topic, const ViewParts& parts) : parts_(parts), topic_(topic) {}

  Result<bool> Next() override { return jobs_done_ ? AddFoundWorkers() : AddFoundJobs(); }
  web::View Take() override { return std::move(view_); }

 private:
  bool AddFoundJobs() {
    const auto& jobs = parts_.core().jobs().jobs();
    auto it = job_.valid() ? jobs.lower_bound(job_) : jobs.end();
    for (size_t n = 0; n < kJobsWalked && it != jobs.begin() && view_.results.size() < kMostFoundJobs; ++n) {
      --it;
      job_ = it->first;
      const JobView& job = it->second;
      if (!Shows(topic_, job)) continue;
      if (!HasText(job.spec.name, topic_.text) && Name(job.id).find(topic_.text) == std::string::npos) continue;
      view_.results.push_back({"job", Name(job.id), job.spec.name + " " + Word(ShownState(job))});
    }
    jobs_done_ = it == jobs.begin() || view_.results.size() == kMostFoundJobs;
    return false;
  }

  bool AddFoundWorkers() {
    const auto& all = parts_.core().workers().all();
    auto it = all.upper_bound(worker_);
    for (size_t n = 0; n < kJobsWalked && it != all.end() && view_.results.size() < kMostFound; ++n, ++it) {
      worker_ = it->first;
      const WorkerView& worker = it->second;
      const std::string id = Name(it->first);
      if (id != topic_.text && !HasText(worker.name, topic_.text) && !HasText(worker.info.address, topic_.text))
        continue;
      view_.results.push_back({"worker", id, worker.name + " " + worker.Word()});
    }
    return it == all.end() || view_.results.size() == kMostFound;
  }

  const ViewParts parts_;
  const web::Topic topic_;
  JobId job_;
  WorkerId worker_;
  bool jobs_done_ = false;
  web::SearchView view_;
};

}  // namespace

std::unique_ptr<ViewSteps> JobsStepsFor(const web::Topic& topic, const ViewParts& parts) {
  return std::make_unique<JobsSteps>(topic, parts);
}

std::unique_ptr<ViewSteps> SearchStepsFor(const web::Topic& topic, const ViewParts& parts) {
  return std::make_unique<SearchSteps>(topic, parts);
}

}  // namespace mr::master
