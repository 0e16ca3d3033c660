// The resources that the tasks of one host share: the loop, the helper, idle children and arenas. io thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/lived_clock.h"
#include "worker/host/child.h"
#include "worker/host/ready_children.h"
#include "worker/host/room_means.h"
#include "worker/host/scratch_watch.h"
#include "worker/host/task_host.h"

namespace mr::worker {

class Running;

class Core {
 public:
  Core(TaskHostOptions options, Helper helper, RoomMeans means);

  // Ends the idle children and the helper. Requires: the loop has stopped. Callbacks that the daemon still holds may
  // keep the rest alive for longer.
  void Shutdown();

  // Returns a child for a task of this key: an idle one if `reuse` allows it, else one that waits for a first task,
  // else a new one. memory_bytes: its limit of memory, for the control group of a new one. leased: as in Helper::Spawn.
  // Errors also: those of RoomMeans.
  Result<std::shared_ptr<Child>> Take(const TaskSpec& task, const std::string& key, uint64_t memory_bytes, bool reuse,
                                      bool leased);
  // Returns the limit of memory of an attempt whose job has none; 0: no limit.
  uint64_t DefaultMemory() const { return options_.default_memory ? options_.default_memory() : 0; }
  const std::shared_ptr<LeaseClock>& lease() const { return helper_->lease(); }
  // Kills processes on this machine that an earlier host of the same data directory has left behind. Returns how many.
  size_t EndLeftovers();
  // Returns the clock for the time that tasks may be without progress. Time in which the machine slept or this process
  // stood still does not count, because the tasks' processes stood still, too.
  Instant Lived() { return lived_.Read(options_.now()); }
  // Starts the periodic checks of running tasks (time without progress, number of processes), if they do not run.
  void Watch();
  // Takes back a child that is done with its task, for another task of the same key.
  void GiveBack(JobId job, const std::string& key, std::shared_ptr<Child> child);
  // Takes back the arena of a child that has ended.
  void GiveBack(JobId job, std::shared_ptr<Arena> arena);
  void EndJob(JobId job);
  // Makes children for tasks to come, if the options want some. Called at the start; then it happens by itself.
  void MakeReady() { ready_.Fill(); }

  Loop loop{[] {}, "tasks"};
  Orphans orphans;
  TaskHostOptions options_;
  std::optional<ScratchWatch> scratch;  // until Shutdown
  std::set<std::shared_ptr<Running>> running;

 private:
  struct Idle : Child::Handler {
    Core* core;
    JobId job;
    std::string key;
    std::shared_ptr<Child> child;
    void OnPacket(task::Packet&) override { child->Kill(); }  // an idle child must not send
    void OnGarbage() override { child->Kill(); }
    void OnExit(Helper::Exit) override;
  };
  void Remove(Idle* idle);
  // Starts a child that differs in nothing from one that was made for its first task.
  Result<std::shared_ptr<Child>> SpawnReady();
  // Starts a new helper process. An error is fatal to the host: on_fatal was called.
  Status ReplaceHelper(const std::string& why);

  RoomMeans means_;  // outlives the children
  std::optional<Helper> helper_;
  LivedClock lived_;
  bool watching_ = false;
  std::vector<std::unique_ptr<Idle>> idle_;
  std::map<JobId, std::vector<std::shared_ptr<Arena>>> arenas_;
  ReadyChildren ready_;
};

}  // namespace mr::worker
