// Defines how a worker identifies itself to the master, and the progress of its attempts.
#pragma once

#include <cstdint>

#include "common/model/command.h"
#include "worker/daemon/directory.h"
#include "worker/host/task_host.h"

namespace mr::worker {

struct WorkerRef {
  WorkerId id;
  Incarnation incarnation = 0;
};

struct ProgressFrame {
  AttemptId attempt;
  TaskProgress progress;
  bool inputs_done = false;
};

}  // namespace mr::worker
