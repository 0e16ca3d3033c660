// Decides when progress is sent: at most every 20 ms. It is due when an attempt has progressed by 5 % or into another
// phase, or has progressed at all and was last sent 1 s ago or earlier. Pure.
#pragma once

#include <map>
#include <vector>

#include "common/base/time.h"
#include "worker/daemon/types.h"
#include "worker/shuffle/fetch.h"

namespace mr::worker {

// Sets the bytes of an attempt that reads upstream outputs and whose operator has taken nothing yet: those that have
// arrived, of an estimate from the segments whose size is known. reads: number of segments in all.
void CountFetched(const FetchProgress& fetched, uint32_t reads, TaskProgress* progress);

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
