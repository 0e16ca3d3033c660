// Places where an output can be read, as its task's records store them.
#pragma once

#include <compare>

#include "common/base/ids.h"

namespace mr::sched {

// One replica of a task's output, without the fields that identify the task.
struct ReplicaPlace {
  uint32_t generation = 0, attempt = 0;
  WorkerId worker;
  Incarnation incarnation = 0;
  bool operator==(const ReplicaPlace&) const = default;
  template <class V>
  static void Fields(V&& v) {
    using T = ReplicaPlace;
    v(&T::generation, &T::attempt, &T::worker, &T::incarnation);
  }
};

// A request to worker `to`: make a replica of this output of a job's stage and task, from the replica of `attempt`.
struct AskedReplica {
  uint32_t stage = 0, task = 0, generation = 0, attempt = 0;
  WorkerId to;
  auto operator<=>(const AskedReplica&) const = default;
  template <class V>
  static void Fields(V&& v) {
    using T = AskedReplica;
    v(&T::stage, &T::task, &T::generation, &T::attempt, &T::to);
  }
};

}  // namespace mr::sched
