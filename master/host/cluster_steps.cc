// Reads the views of the cluster, its workers, its store and its scheduler.
#include <cmath>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/count.h"
#include "common/base/version.h"
#include "common/io/clock.h"
#include "master/host/view_steps.h"
#include "master/sched/policies/list.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

constexpr size_t kJobsPerStep = 1000, kWorkersCounted = 500, kWorkersPerStep = 64,
                 kStatusesPerStep = 4;  // some 0.1 ms each; guesses
constexpr size_t kOpenShown = 200, kEndedShown = 50;
constexpr size_t kEntryBytes = 64 << 10;  // of the root directory's listing

web::StoreCounts CountsOf(const ViewParts& parts) {
  const dfs::RepairCounts counts = parts.block_store.Counts();
  web::StoreCounts out;
  out.blocks = counts.blocks;
  out.missing = counts.missing;
  out.under_replicated = counts.under_replicated;
  out.copying = counts.copying;
  out.suspect = counts.suspect;
  for (const auto& [id, worker] : parts.core().workers().all()) {
    if (!worker.alive) continue;
    out.used_bytes += parts.core().files().UsedOn(id);
    out.capacity_bytes += worker.capacity_bytes;
  }
  return out;
}

std::vector<std::string> WarningsOf(const ViewParts& parts, const web::StoreCounts& store) {
  std::vector<std::string> out;
  if (parts.options.insecure) {
    out.push_back("started with --insecure: whoever reaches its ports can run commands on every worker");
  }
  if (parts.driver.InLossMode()) out.push_back("safe mode: " + parts.safe_mode.Words());
  if (parts.driver.journal_full()) out.push_back("the journal's disk is full: new work is refused");
  if (parts.core().workers().NoneToCome()) out.push_back("no worker is registered: jobs wait until one is");
  if (store.missing > 0) {
    out.push_back(CountOf(store.missing, "block of the store has", "blocks of the store have") +
                  " no good replica on a live worker");
  }
  return out;
}

class ClusterSteps final : public ViewSteps {
 public:
  ClusterSteps(const web::Topic& topic, const ViewParts& parts) : parts_(parts), topic_(topic) {}

  Result<bool> Next() override {
    switch (part_) {
      case Part::kHead:
        AddHead();
        part_ = Part::kCount;
        return false;
      case Part::kCount:
        if (CountJobs()) part_ = Part::kWorkers;
        return false;
      case Part::kWorkers:
        if (AddWorkers()) part_ = Part::kJobs;
        return false;
      case Part::kJobs: break;
    }
    return AddJobs();
  }
  web::View Take() override { return std::move(view_); }

 private:
  enum class Part { kHead, kCount, kWorkers, kJobs };

  void AddHead() {
    const JobTotals::Attempts& counts = parts_.core().jobs().totals().attempts;
    view_.cluster_id = parts_.options.cluster_id;
    view_.taken_unix_ms = WallClockMs();
    view_.epoch = parts_.driver.epoch();
    view_.release = kVersion;
    view_.insecure = parts_.options.insecure;
    view_.policies = parts_.options.policies;
    view_.launched = counts.launched;
    view_.committed = counts.committed;
    view_.failed = counts.failed;
    view_.killed = counts.killed;
    view_.usage = parts_.usage.View();
    std::erase_if(view_.usage.by_job, [this](const web::JobUsage& usage) {
      const JobView* job = parts_.core().jobs().Find(usage.id);
      return !topic_.owner.empty() && (job == nullptr || !Shows(topic_, *job));
    });
    view_.store = CountsOf(parts_);
    view_.warnings = WarningsOf(parts_, view_.store);
    view_.queues = parts_.rows.Queues();
  }

  // From the newest job to the oldest.
  bool CountJobs() {
    const auto& jobs = parts_.core().jobs().jobs();
    auto it = counted_.valid() ? jobs.lower_bound(counted_) : jobs.end();
    for (size_t n = 0; n < kJobsPerStep && it != jobs.begin(); ++n) {
      --it;
      counted_ = it->first;
      if (!Shows(topic_, it->second)) continue;
      const JobState state = ShownState(it->second);
      ++view_.jobs[state];
      if (!Ended(state)) view_.live += parts_.core().attempts().Live(it->first);
      std::vector<JobId>* shown = Ended(state) ? &ended_ : &open_;
      if (shown->size() < (Ended(state) ? kEndedShown : kOpenShown)) {
        shown->push_back(it->first);
      } else if (!Ended(state)) {
        ++view_.open_left_out;
      }
    }
    return it == jobs.begin();
  }

  bool AddWorkers() {
    const auto& all = parts_.core().workers().all();
    auto it = all.upper_bound(worker_);
    for (size_t n = 0; n < kWorkersCounted && it != all.end(); ++n, ++it) {
      worker_ = it->first;
      const WorkerView& worker = it->second;
      const sched::Worker* known = parts_.core().scheduler().state().FindWorker(it->first);
      const uint32_t slots = worker.alive ? worker.info.slots.total : 0;
      const uint32_t busy = known == nullptr ? 0 : known->used_total();
      web::RackView& rack = view_.racks[worker.info.rack];
      ++view_.workers[worker.Word()];
      ++rack.workers;
      rack.lost += worker.alive || worker.drained_by_user ? 0 : 1;
      rack.slots += slots;
      rack.busy += busy;
      view_.slots += slots;
      view_.busy += busy;
    }
    return it == all.end();
  }

  bool AddJobs() {
    parts_.clock.Stamp();
    for (size_t n = 0; n < kStatusesPerStep; ++n, ++next_) {
      if (next_ == open_.size() + ended_.size()) return true;
      const bool open = next_ < open_.size();
      const JobView* job = parts_.core().jobs().Find(open ? open_[next_] : ended_[next_ - open_.size()]);
      // It may be forgotten since it was counted.
      if (job != nullptr) (open ? view_.open : view_.ended).push_back(parts_.reader.StatusOf(*job));
    }
    return false;
  }

  const ViewParts parts_;
  const web::Topic topic_;
  Part part_ = Part::kHead;
  JobId counted_;
  WorkerId worker_;
  std::vector<JobId> open_, ended_;
  size_t next_ = 0;
  web::ClusterView view_;
};

// All workers; with the store's figures, or without.
class WorkersSteps final : public ViewSteps {
 public:
  WorkersSteps(const ViewParts& parts, bool store) : parts_(parts), store_(store) {}

  Result<bool> Next() override {
    const auto& all = parts_.core().workers().all();
    auto it = all.upper_bound(worker_);
    for (size_t n = 0; n < kWorkersPerStep && it != all.end(); ++n, ++it) {
      worker_ = it->first;
      workers_.push_back(parts_.rows.WorkerOf(it->first, it->second));
    }
    return it == all.end();
  }

  web::View Take() override {
    if (!store_) return web::WorkersView{std::move(workers_)};
    web::StoreView view;
    view.counts = CountsOf(parts_);
    if (parts_.driver.InLossMode()) view.safe_mode = parts_.safe_mode.Words();
    view.workers = std::move(workers_);
    const auto listed = parts_.core().files().List("/", "", kEntryBytes);
    if (!listed.ok()) return view;
    view.more_entries = listed->more;
    for (const dfs::FileInfo& file : listed->entries) {
      view.entries.push_back({file.path, file.is_directory, file.bytes, file.replication});
    }
    return view;
  }

 private:
  const ViewParts parts_;
  const bool store_;
  WorkerId worker_;
  std::vector<WorkerStatus> workers_;
};

// Splits a list at the commas outside of parentheses.
std::vector<std::string> EntriesOf(const std::string& list) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : list) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      out.emplace_back();
    } else if (c != ' ' || !out.back().empty()) {
      out.back() += c;
    }
  }
  return out;
}

web::PolicyView PolicyOf(const std::string& text) {
  web::PolicyView out;
  out.text = text;
  out.name = text.substr(0, text.find('('));
  for (const sched::PolicyEntry& policy : sched::AllPolicies()) {
    if (policy.name != out.name) continue;
    out.cluster_scope = policy.Is(sched::kServesAll);
    for (const std::string_view does : sched::TraitTexts(policy)) out.does.emplace_back(does);
  }
  for (const sched::PolicyGroup& group : sched::PolicyGroups()) {
    if (group.name != out.name) continue;
    std::string members;
    for (const std::string_view name : group.members) members += (members.empty() ? "" : ", ") + std::string(name);
    out.does.push_back("stands for " + members);
  }
  return out;
}

class QueuesSteps final : public ViewSteps {
 public:
  explicit QueuesSteps(const ViewParts& parts) : parts_(parts) {}

  Result<bool> Next() override { return true; }
  web::View Take() override {
    web::ClusterView view;
    view.queues = parts_.rows.Queues();
    return view;
  }

 private:
  const ViewParts parts_;
};

class SchedulerSteps final : public ViewSteps {
 public:
  explicit SchedulerSteps(const ViewParts& parts) : parts_(parts) {}

  Result<bool> Next() override { return true; }
  web::View Take() override {
    const JobTotals& totals = parts_.core().jobs().totals();
    const auto micros = [](Duration d) { return static_cast<uint64_t>(std::max<int64_t>(d.ns, 0)) / 1000; };
    web::SchedulerView view;
    view.list = parts_.options.policies;
    view.seed = parts_.options.seed;
    view.version = parts_.options.scheduler_version;
    for (const std::string& entry : EntriesOf(view.list)) view.policies.push_back(PolicyOf(entry));
    for (const sched::Figure& f : parts_.core().scheduler().Figures({}, parts_.clock.Stamp())) {
      view.figures.push_back({f.name, f.label, f.value});
    }
    for (size_t i = 0; i < kCauses; ++i) {
      const sched::CauseCount& count = totals.causes[i];
      view.causes.push_back({CauseName(static_cast<Cause>(i + 1)), count.launched, count.won, micros(count.wasted)});
    }
    view.clones.killed = totals.clones.killed;
    view.clones.extra_us = micros(totals.clones.extra);
    view.clones.lent_killed = totals.lent.killed;
    view.clones.lent_extra_us = micros(totals.lent.extra);
    view.clones.exclusive = totals.clones.exclusive;
    view.clones.contended = totals.clones.contended;
    view.clones.rebound = totals.clones.rebound;
    view.queues = parts_.rows.Queues();
    return view;
  }

 private:
  const ViewParts parts_;
};

}  // namespace

std::unique_ptr<ViewSteps> StepsFor(const web::Topic& topic, const ViewParts& parts) {
  using web::TopicKind;
  switch (topic.kind) {
    case TopicKind::kCluster: return std::make_unique<ClusterSteps>(topic, parts);
    case TopicKind::kQueues: return std::make_unique<QueuesSteps>(parts);
    case TopicKind::kWorkers: return std::make_unique<WorkersSteps>(parts, false);
    case TopicKind::kStore: return std::make_unique<WorkersSteps>(parts, true);
    case TopicKind::kWorker: return WorkerStepsFor(topic, parts);
    case TopicKind::kScheduler: return std::make_unique<SchedulerSteps>(parts);
    case TopicKind::kJobs: return JobsStepsFor(topic, parts);
    case TopicKind::kSearch: return SearchStepsFor(topic, parts);
    case TopicKind::kJob:
    case TopicKind::kReport:
    case TopicKind::kTasks:
    case TopicKind::kAttempts:
    case TopicKind::kCounters:
    case TopicKind::kLog: break;
  }
  return RunStepsFor(topic, parts);
}

}  // namespace mr::master
