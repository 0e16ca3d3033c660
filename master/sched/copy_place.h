// Where an output can be read, as the records of its task have it.
#pragma once

#include <compare>

#include "common/base/ids.h"

namespace mr::sched {

// One copy of a task's output, without what the task says already.
struct CopyPlace {
  uint32_t generation = 0, attempt = 0;
  WorkerId worker;
  Incarnation incarnation = 0;
  bool operator==(const CopyPlace&) const = default;
  template <class V>
  static void Fields(V&& v) {
    using T = CopyPlace;
    v(&T::generation, &T::attempt, &T::worker, &T::incarnation);
  }
};

// A worker was asked to copy this output (of this stage and task of a job) from the copy of `attempt`.
struct AskedCopy {
  uint32_t stage = 0, task = 0, generation = 0, attempt = 0;
  WorkerId to;
  auto operator<=>(const AskedCopy&) const = default;
  template <class V>
  static void Fields(V&& v) {
    using T = AskedCopy;
    v(&T::stage, &T::task, &T::generation, &T::attempt, &T::to);
  }
};

}  // namespace mr::sched
