#include "worker/host/core.h"

#include <algorithm>

#include "common/io/clock.h"
#include "worker/host/running.h"
#include "worker/task/process_tree.h"

namespace mr::worker {
namespace {
// Most idle children. On a worker with more slots, further tasks get new processes (guess).
constexpr size_t kMaxIdle = 64;
// Most children that wait for a first task (guess: more slots are rarely filled at one instant).
constexpr size_t kMaxReady = 16;
// Period of the checks of running tasks: short enough for a fork bomb, at 50 us per check and task (measured).
constexpr Duration kWatchPeriod = Millis(100);
// A longer gap between checks means that this process or the machine stood still (guess: a busy machine delays a check
// by less).
constexpr Duration kStoodStill = Seconds(2);
}  // namespace

Core::Core(TaskHostOptions options, Helper helper, RoomMeans means)
    : orphans(&loop, options.on_stuck),
      options_(std::move(options)),
      means_(std::move(means)),
      helper_(std::move(helper)),
      lived_(options_.now(), kWatchPeriod, kStoodStill),
      // From tier 2 on a child belongs to a user and to a control group from its start.
      ready_(&loop, means_.made() ? 0 : std::min<size_t>(options_.ready_children, kMaxReady),
             [this] { return SpawnReady(); }) {
  scratch.emplace(options_.scratch_bytes.value_or(0), [this](uint64_t attempt, uint64_t bytes) {
    loop.Post([this, attempt, bytes] {
      for (const auto& task : std::set(running)) {
        if (task->number() == attempt) task->ScratchOver(bytes);
      }
    });
  });
}

Result<std::shared_ptr<Child>> Core::Take(const TaskSpec& task, const std::string& key, uint64_t memory_bytes,
                                          bool reuse, bool leased) {
  const JobId job = task.attempt.task.job;
  if (reuse) {
    for (size_t i = idle_.size(); i-- > 0;) {  // the most recently used one has the warmest caches
      if (idle_[i]->job != job || idle_[i]->key != key || idle_[i]->child->exited()) continue;
      std::shared_ptr<Child> child = idle_[i]->child;
      child->SetHandler(nullptr);
      idle_.erase(idle_.begin() + static_cast<long>(i));
      return child;
    }
  }
  auto& kept = arenas_[job];
  // A kept arena is warm, which is worth more than the start of a process. The helper must know a leased child as such.
  if (kept.empty() && !leased) {
    if (auto child = ready_.Take(); child != nullptr) return child;
  }
  MR_ASSIGN_OR_RETURN(const RoomMeans::ForTask means, means_.Take(task.owner, memory_bytes));
  std::shared_ptr<Arena> arena;
  if (!kept.empty()) {
    arena = std::move(kept.back());
    kept.pop_back();
  } else {
    Result<std::shared_ptr<Arena>> made = Arena::Make(options_.arena_bytes);
    if (!made.ok()) {
      if (means.leaf != nullptr) means_.cgroups()->GiveBack(means.leaf);
      return made.status();
    }
    arena = *std::move(made);
  }
  const ChildRoom room{means.user, task.network, {}};
  const auto spawn = [&] {
    return Child::Spawn(&loop, &*helper_, &orphans, arena, leased, room, means_.cgroups(), means.leaf);
  };
  auto child = spawn();
  if (!child.ok() && helper_->lost()) {
    const Status replaced = ReplaceHelper(child.status().message());
    child = replaced.ok() ? spawn() : replaced;
  }
  if (!child.ok() && means.leaf != nullptr) means_.cgroups()->GiveBack(means.leaf);
  return child;
}

Result<std::shared_ptr<Child>> Core::SpawnReady() {
  if (helper_->lost()) return Unavailable("there is no helper process");
  MR_ASSIGN_OR_RETURN(std::shared_ptr<Arena> arena, Arena::Make(options_.arena_bytes));
  return Child::Spawn(&loop, &*helper_, &orphans, std::move(arena), false);
}

Status Core::ReplaceHelper(const std::string& why) {
  Status replaced = helper_->Replace();
  if (replaced.ok()) return replaced;
  Status fatal = replaced.With(why + ", and there is no other");
  if (options_.on_fatal) options_.on_fatal(fatal);
  return fatal;
}

size_t Core::EndLeftovers() {
  constexpr Duration kLimit = Millis(1500);  // as for the descendants of an attempt
  const size_t marked = helper_->lives().empty() ? 0 : task::KillMarked(helper_->lives(), helper_->life(), kLimit);
  return marked + (means_.cgroups() == nullptr ? 0 : means_.cgroups()->EndLeftovers());
}

void Core::Watch() {
  if (watching_) return;
  watching_ = true;
  loop.After(kWatchPeriod, [this] {
    watching_ = false;
    // Replaces the helper now and not when the next child is needed: without a helper, nobody ends tasks whose lease
    // runs out.
    if (!running.empty() && helper_->Gone()) (void)ReplaceHelper("the helper process is gone");
    const Instant now = Lived();
    for (const auto& task : std::set(running)) task->LookAfter(now);
    if (!running.empty()) Watch();
  });
}

void Core::GiveBack(JobId job, const std::string& key, std::shared_ptr<Child> child) {
  child->log().Open("");
  auto idle = std::make_unique<Idle>();
  idle->core = this;
  idle->job = job;
  idle->key = key;
  idle->child = std::move(child);
  idle->child->SetHandler(idle.get());
  idle_.push_back(std::move(idle));
  if (idle_.size() > kMaxIdle) idle_.front()->child->Kill();
}

void Core::GiveBack(JobId job, std::shared_ptr<Arena> arena) {
  const auto it = arenas_.find(job);
  if (it != arenas_.end()) it->second.push_back(std::move(arena));
}

void Core::Remove(Idle* idle) {
  std::erase_if(idle_, [idle](const auto& i) { return i.get() == idle; });
}

void Core::Idle::OnExit(Helper::Exit) {
  const std::shared_ptr<Child> keep = child;  // it is the caller
  keep->SetHandler(nullptr);
  core->Remove(this);
}

void Core::EndJob(JobId job) {
  for (const auto& idle : idle_) {
    if (idle->job == job) {
      idle->job = {};  // no task takes it any more
      idle->child->Kill();
    }
  }
  arenas_.erase(job);
  ready_.Fill();
}

void Core::Shutdown() {
  scratch.reset();
  idle_.clear();  // children end with their owners
  ready_.Close();
  arenas_.clear();
  helper_.reset();
  means_ = {};
}

}  // namespace mr::worker
