// The notification by which indexes follow changes of the entities.
#pragma once

#include "master/sched/state/entities.h"

namespace mr::sched {

// A task and its attempts, before a change (in: false) and after it (in: true). An index removes the task by its old
// values and adds it by its new ones, so it needs to know nothing else about the change.
struct EntityChanged {
  Job& job;
  const TaskId& id;
  Task& task;
  bool in;
};

}  // namespace mr::sched
