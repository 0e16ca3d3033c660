#include <algorithm>

#include "master/sched/state/state.h"
#include "master/sim/replay/history_model.h"

namespace mr::sim {

void HistoryCollector::On(const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions,
                          const sched::Scheduler& scheduler) {
  if (!begun_) {
    // The journal may begin with a snapshot. Earlier events are then only in the state.
    begun_ = true;
    document_ = history::FrameOf(scheduler.state());
  } else if (const auto* e = std::get_if<sched::ConfigChanged>(&event.event)) {
    document_.policies = e->policies;
    document_.seed = e->seed;
    // A part of the journal that another release wrote leaves nothing in the state.
    if (document_.lists.empty())
      document_.lists = scheduler.state().config().lists;
    else if (document_.lists.back().policies != e->policies)
      document_.lists.push_back({event.at, e->policies});
  } else if (const auto* e = std::get_if<sched::QueueSet>(&event.event)) {
    auto& queues = document_.queues;
    const auto it = std::find_if(queues.begin(), queues.end(), [&](const auto& q) { return q.queue == e->queue; });
    if (it == queues.end())
      queues.push_back(*e);
    else
      *it = *e;
  } else if (const auto* e = std::get_if<sched::WorkerRegistered>(&event.event)) {
    auto& workers = document_.workers;
    const bool lives = std::any_of(workers.begin(), workers.end(),
                                   [&](const auto& w) { return w.id == e->worker && w.until.ns == 0; });
    if (!lives) workers.push_back({e->worker, e->rack, e->slots, event.at, {}});
  } else if (const auto* e = std::get_if<sched::WorkerLost>(&event.event)) {
    for (history::Worker& w : document_.workers) {
      if (w.id == e->worker && w.until.ns == 0) w.until = event.at;
    }
  }
  for (const sched::Decision& d : decisions) {
    if (const auto* commit = std::get_if<sched::CommitJob>(&d)) ending_.insert(commit->job);
    if (const auto* failed = std::get_if<sched::FailJob>(&d)) ending_.insert(failed->job);
  }
  // Take the job at once, since the state forgets it later, and again when its last attempt has ended.
  for (auto it = ending_.begin(); it != ending_.end();) {
    const sched::Job* job = scheduler.state().FindJob(*it);
    if (job != nullptr && (job->holding == 0 || jobs_.count(*it) == 0)) jobs_[*it] = history::JobOf(*job);
    it = job == nullptr || job->holding == 0 ? ending_.erase(it) : std::next(it);
  }
}

history::Document HistoryCollector::Take() {
  for (auto& [id, job] : jobs_) document_.jobs.push_back(std::move(job));
  jobs_.clear();
  std::stable_sort(document_.jobs.begin(), document_.jobs.end(),
                   [](const auto& a, const auto& b) { return a.submitted < b.submitted; });
  return std::move(document_);
}

}  // namespace mr::sim
