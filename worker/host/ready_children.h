// Children that wait for their first task. A new job's first tasks then do not wait for the start of their processes.
// Such a child has loaded no library of a user and has entered no room; it enters that of its first task, like any
// other (task/child.cc). io thread only.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/base/time.h"
#include "common/exec/loop.h"
#include "worker/host/child.h"

namespace mr::worker {

class ReadyChildren {
 public:
  // most: children that wait at a time. make: starts one; where it fails, the next Fill tries again.
  ReadyChildren(Loop* loop, size_t most, std::function<Result<std::shared_ptr<Child>>()> make);

  // Returns a child without a handler, or null. Others are made later, when no task has taken one for a moment.
  std::shared_ptr<Child> Take();
  // Makes those that are missing, one per turn of the loop.
  void Fill();
  // Ends all, and makes no more.
  void Close();

 private:
  struct Waiting : Child::Handler {
    ReadyChildren* owner;
    std::shared_ptr<Child> child;
    void OnPacket(task::Packet&) override { child->Kill(); }  // it must not send before it has a task
    void OnGarbage() override { child->Kill(); }
    void OnExit(Helper::Exit) override;
  };
  void FillOne();
  void FillWhenQuiet();

  Loop* const loop_;
  size_t most_;
  const std::function<Result<std::shared_ptr<Child>>()> make_;
  std::vector<std::unique_ptr<Waiting>> waiting_;
  Instant taken_;  // when the last one was taken
  bool filling_ = false, armed_ = false;
};

}  // namespace mr::worker
