// Where an output can be read, as the records of its task have it.
#pragma once

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

}  // namespace mr::sched
