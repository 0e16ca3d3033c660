// What the tasks of one host share: the loop, the helper, idle children and arenas. io thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/lived_clock.h"
#include "worker/host/child.h"
#include "worker/host/task_host.h"

namespace mr::worker {

class Running;

class Core {
 public:
  Core(TaskHostOptions options, Helper helper);

  // After the loop has stopped: ends the idle children and the helper. Callbacks that the daemon
  // still holds may keep the rest alive for longer.
  void Shutdown();

  // A child for a task of this key: an idle one where `reuse`, else a new one.
  // leased: as Helper::Spawn.
  Result<std::shared_ptr<Child>> Take(JobId job, const std::string& key, bool reuse, bool leased);
  const std::shared_ptr<LeaseClock>& lease() const { return helper_->lease(); }
  // Processes of this machine that an earlier host of the same data directory has left: ended. Returns how many.
  size_t EndLeftovers() const;
  // Of the time that tasks may be without progress. While the machine sleeps or this process stands still, their
  // processes do, too: that time does not count.
  Instant Lived() { return lived_.Read(options_.now()); }
  // Looks after the tasks that run, from the first on: their time without progress, their processes.
  void Watch();
  // A child that is done with its task and waits for another of the same key.
  void GiveBack(JobId job, const std::string& key, std::shared_ptr<Child> child);
  // The arena of a child that has ended.
  void GiveBack(JobId job, std::shared_ptr<Arena> arena);
  void EndJob(JobId job);

  Loop loop;
  Orphans orphans;
  TaskHostOptions options_;
  std::set<std::shared_ptr<Running>> running;

 private:
  struct Idle : Child::Handler {
    Core* core;
    JobId job;
    std::string key;
    std::shared_ptr<Child> child;
    void OnPacket(task::Packet&) override { child->Kill(); }  // an idle child has nothing to say
    void OnGarbage() override { child->Kill(); }
    void OnExit(Helper::Exit) override;
  };
  void Remove(Idle* idle);
  // An error is fatal to the host: on_fatal was called.
  Status ReplaceHelper(const std::string& why);

  std::optional<Helper> helper_;
  LivedClock lived_;
  bool watching_ = false;
  std::vector<std::unique_ptr<Idle>> idle_;
  std::map<JobId, std::vector<std::shared_ptr<Arena>>> arenas_;
};

}  // namespace mr::worker
