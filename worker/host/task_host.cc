#include "worker/host/task_host.h"

#include <sys/statvfs.h>

#include <chrono>
#include <set>
#include <thread>

#include "worker/host/core.h"
#include "worker/host/running.h"

namespace mr::worker {
namespace {

class TaskHostImpl : public TaskHost {
 public:
  TaskHostImpl(const TaskHostOptions& options, Helper helper, RoomReport room, RoomMeans means)
      : room_(std::move(room)),
        core_(std::make_shared<Core>(options, std::move(helper), std::move(means))),
        lease_(core_->lease()) {
    core_->loop.Start();
    core_->loop.Post([this] { core_->MakeReady(); });
  }

  ~TaskHostImpl() override {
    // Killed children end within 2 s. The loop runs until the last OnEnd has returned.
    for (bool idle = false; !idle;) {
      core_->loop.Run([&] {
        core_->orphans.Hurry();
        for (const auto& task : std::set(core_->running)) task->KillNow();
        idle = core_->running.empty();
      });
      if (!idle) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    core_->loop.Stop();
    core_->Shutdown();
  }

  std::shared_ptr<RunningTask> Run(TaskSpec spec, std::shared_ptr<TaskObserver> observer) override {
    auto task = std::make_shared<Running>(core_, std::move(spec), std::move(observer));
    core_->loop.Post([this, task] {
      core_->running.insert(task);
      task->Start();
      core_->Watch();
    });
    return task;
  }

  void EndJob(JobId job) override {
    core_->loop.Post([this, job] { core_->EndJob(job); });
  }

  size_t EndLeftovers() override {
    size_t left = 0;
    core_->loop.Run([&] { left = core_->EndLeftovers(); });
    return left;
  }

  void RenewLease(Instant until) override { lease_->RenewUntil(until); }

  const RoomReport& room() const override { return room_; }

 private:
  const RoomReport room_;
  std::shared_ptr<Core> core_;
  const std::shared_ptr<LeaseClock> lease_;
};

}  // namespace

Result<std::unique_ptr<TaskHost>> TaskHost::Start(const TaskHostOptions& options) {
  task::RoomOptions rooms = options.rooms;
  RoomMeans means;
  std::string missing;
  if (!rooms.own_rights && (rooms.tier == task::kBestTier || rooms.tier >= 2) && options.task_users.given()) {
    Result<RoomMeans> made = RoomMeans::Make(options);
    if (made.ok()) {
      means = *std::move(made);
      rooms.trial_user = options.task_users.first;
      rooms.scratch = options.scratch_directory;
    } else if (rooms.tier >= 2) {
      return made.status().With("cannot make rooms of tier " + std::to_string(rooms.tier) + " for tasks");
    } else {
      missing = "tier 2: " + made.status().message();
    }
  }
  MR_ASSIGN_OR_RETURN(Helper helper,
                      Helper::Start(options.mrtask_path, options.preload, options.data_directory, rooms));
  RoomReport room = helper.room();
  if (room.tier == 1 && !missing.empty()) room.why = missing;
  if (room.tier < 2) means = {};
  TaskHostOptions complete = options;
  struct statvfs disk;
  if (room.tier >= 2 && !complete.scratch_bytes && statvfs(options.scratch_directory.c_str(), &disk) == 0) {
    complete.scratch_bytes = uint64_t{disk.f_bavail} * disk.f_frsize / 2;
  }
  return {std::unique_ptr<TaskHost>(new TaskHostImpl(complete, std::move(helper), std::move(room), std::move(means)))};
}

}  // namespace mr::worker
