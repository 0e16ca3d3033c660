// The fields behind SnapshotHead in a snapshot. A stored struct: see common/base/fields.h for how to add a field.
// Private to image.cc and to the test of stored structs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "master/core/epochs.h"
#include "master/core/random_operators.h"
#include "master/core/records.h"
#include "master/sched/event.h"

namespace mr::master {

// In the order of the releases that added them. A new field goes behind this struct, and is read if bytes are left.
struct HeadTails {
  std::vector<sched::QueueSet> queues;
  std::vector<RandomOperators::Found> random;
  std::vector<WorkerId> excluded, awaited;
  std::vector<WorkerWrongOutputs> wrong_outputs;
  std::vector<EpochBegun> epochs;
  std::vector<JournalLoss> losses;  // at most one
  std::string skew;
  std::vector<uint64_t> next_blocks;  // one for each epoch
  template <class V>
  static void Fields(V&& v) {
    using T = HeadTails;
    v(&T::queues, &T::random, &T::excluded, &T::awaited, &T::wrong_outputs, &T::epochs, &T::losses, &T::skew,
      &T::next_blocks);
  }
};

}  // namespace mr::master
