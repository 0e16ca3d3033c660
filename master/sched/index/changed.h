// The notice by which indexes follow the entities.
#pragma once

#include "master/sched/state/entities.h"

namespace mr::sched {

// A task and its attempts, before a change (in: false) and after it (in: true). An index takes the task out by its
// values before, and puts it back by those after: it needs to know nothing else of the change.
struct EntityChanged {
  Job& job;
  const TaskId& id;
  Task& task;
  bool in;
};

}  // namespace mr::sched
