#include "worker/host/task_host.h"

#include <condition_variable>
#include <mutex>

#include "worker/host/core.h"
#include "worker/host/running.h"

namespace mr::worker {
namespace {

class TaskHostImpl : public TaskHost {
 public:
  TaskHostImpl(const TaskHostOptions& options, Helper helper)
      : room_(helper.room()), core_(std::make_shared<Core>(options, std::move(helper))), lease_(core_->lease()) {
    core_->loop.Start();
  }

  ~TaskHostImpl() override {
    // Killed children end within 2 s. The loop runs until the last OnEnd has returned.
    std::mutex mutex;
    std::condition_variable changed;
    bool idle = false;
    std::function<void()> check = [&] {
      core_->orphans.Hurry();
      for (const auto& task : std::set(core_->running)) task->KillNow();
      if (core_->running.empty()) {
        const std::lock_guard lock(mutex);
        idle = true;
        changed.notify_all();
      }
    };
    std::unique_lock lock(mutex);
    while (!idle) {
      core_->loop.Post(check);
      changed.wait_for(lock, std::chrono::milliseconds(5), [&] { return idle; });
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

  size_t EndLeftovers() override { return core_->EndLeftovers(); }

  void RenewLease(Instant until) override { lease_->RenewUntil(until); }

  const RoomReport& room() const override { return room_; }

 private:
  const RoomReport room_;
  std::shared_ptr<Core> core_;
  const std::shared_ptr<LeaseClock> lease_;
};

}  // namespace

Result<std::unique_ptr<TaskHost>> TaskHost::Start(const TaskHostOptions& options) {
  MR_ASSIGN_OR_RETURN(Helper helper,
                      Helper::Start(options.mrtask_path, options.preload, options.data_directory, options.rooms));
  return {std::unique_ptr<TaskHost>(new TaskHostImpl(options, std::move(helper)))};
}

}  // namespace mr::worker
