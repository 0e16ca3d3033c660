// When a worker's progress is worth a message: at most every 20 ms, and only when an attempt has
// moved by 5 % or into another phase, or has moved at all and 1 s has passed. Pure.
#pragma once

#include <map>
#include <vector>

#include "common/base/time.h"
#include "worker/daemon/types.h"

namespace mr::worker {

class ProgressGate {
 public:
  static constexpr Duration kPeriod = Millis(20);
  static constexpr Duration kLongest = Seconds(1);
  static constexpr uint64_t kSteps = 20;  // 5 %

  // present: of all attempts that run. What comes back is to be sent now: all that have moved since
  // they were sent last, or nothing.
  std::vector<ProgressFrame> Due(Instant now, std::vector<ProgressFrame> present);

 private:
  struct Sent {
    ProgressFrame frame;
    Instant at;
  };
  std::map<AttemptId, Sent> sent_;
  Instant last_{INT64_MIN / 2};
};

}  // namespace mr::worker
