// Progress of an attempt that reads a shuffle, and when progress is sent: at most every 20 ms. It is due when an
// attempt has progressed by 5 % or into another phase, or has progressed at all and was last sent 1 s ago or earlier.
// Pure.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "common/base/time.h"
#include "worker/daemon/types.h"
#include "worker/shuffle/fetch.h"

namespace mr::worker {

struct SliceProgress {
  FetchProgress fetched;
  uint32_t reads = 0;  // segments of the slice
};
// Sets the bytes of an attempt in the shuffle: those that have arrived, and those of all segments, if some are known of
// each slice. Others of a slice are taken to be as large. Nothing changes in other phases, and if the operator's own
// input is known (of splits, which it has read before).
void CountFetched(std::span<const SliceProgress> slices, TaskProgress* progress);

class ProgressGate {
 public:
  static constexpr Duration kPeriod = Millis(20);
  static constexpr Duration kLongest = Seconds(1);
  static constexpr uint64_t kSteps = 20;  // 5 %

  // present: the frames of all running attempts. Returns the frames to send now: all with progress since they were last
  // sent, or none.
  std::vector<ProgressFrame> Due(Instant now, const std::vector<ProgressFrame>& present);

 private:
  struct Sent {
    ProgressFrame frame;
    Instant at;
  };
  std::map<AttemptId, Sent> sent_;
  Instant last_{INT64_MIN / 2};
};

}  // namespace mr::worker
