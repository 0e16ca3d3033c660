#include "worker/daemon/types.h"

namespace mr::worker {

TaskLetter StageInfo::letter() const {
  for (const StageInput& input : inputs) {
    if (!input.is_edge) return TaskLetter::kMap;
  }
  return inputs.empty() ? TaskLetter::kMap : TaskLetter::kReduce;
}

uint32_t StageInfo::partitions() const {
  uint32_t sum = 0;
  for (const OutputPort& port : ports) sum += port.partitions;
  return sum;
}

}  // namespace mr::worker
