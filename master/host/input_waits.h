// Tasks that wait for blocks of their input: no worker that is registered has a replica of them. Such a task is not
// launched, since an attempt could only fail. It goes on when a worker brings the blocks, and its job fails if none
// does within HostOptions::input_wait.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "master/core/input_places.h"
#include "master/host/driver.h"
#include "master/host/host_clock.h"
#include "master/host/options.h"

namespace mr::master {

// The tasks are held back in the scheduler for a time (sched::InputsMissing), which is prolonged here. So tasks that a
// master held back when it stopped are free again by themselves. Thread: the master's.
class InputWaits {
 public:
  InputWaits(const HostOptions& options, Driver& driver, HostClock& clock);

  // Returns true if a block of the task's input is missing: the launch must not be sent then, and waits for Settle.
  bool Blocks(const sched::Launch& launch);
  // End of a turn. If the blocks came in this turn, with the registration that led to the launch, `send` sends it.
  // Otherwise its attempt ends, and its task is held back, with the other tasks of the stage whose input is missing.
  void Settle(const std::function<void(const sched::Launch&)>& send);
  // At a start, before the first worker registers: holds back all tasks whose input is in the block store.
  void HoldAll();
  // A worker has registered, perhaps with blocks that tasks wait for.
  void NoteRegistered() { registered_ = true; }
  // Each tick: releases tasks whose blocks are back, and fails jobs that have waited too long. Cost: the tasks that
  // wait, after a registration and once per hold.
  void Look();

  // Returns why tasks of the job wait, one sentence per stage. Cost: its stages.
  std::vector<std::string> Why(JobId job) const;
  // The same for one task; empty if it does not wait.
  std::string Why(const TaskId& task) const;

 private:
  struct Wait {
    Instant since;  // lived
    MissingInput input;
  };
  struct Stage {
    std::map<uint32_t, Wait> tasks;
    Instant since, until;  // stamps: of the first wait, and of the end of the hold
  };
  // Holds back these tasks and those of the stage that are pending, as far as their input is missing.
  void Hold(const StageId& id, const std::vector<AttemptId>& unsent);
  void Feed(const StageId& id, const std::vector<uint32_t>& tasks, const std::vector<AttemptId>& unsent, Duration hold);
  // Looks again at the tasks of a stage. Returns false if none of them waits any more.
  bool LookAt(const StageId& id, Stage* stage);
  std::string Text(const TaskId& task, const Wait& wait) const;
  void GiveUp(const TaskId& task, const Wait& wait);

  const HostOptions& options_;
  Driver& driver_;
  HostClock& clock_;
  std::vector<sched::Launch> unsent_;  // in this turn
  std::map<StageId, Stage> stages_;
  bool registered_ = false;  // since Look
};

}  // namespace mr::master
