// How many readers read a copy at the same time, as the worker that has it sees it: what a transfer's rate is worth
// depends on it (Dolly's bandwidth under contention). Only readers that give themselves a number are counted: those
// that the master told which copy to read.
//
// A reader counts from its first request to the answer to its last one, to the end of its session, or until it has
// asked for nothing for kIdle: one that was ended says no word. Lives on the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "common/base/time.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

class CopyReaders {
 public:
  // A guess: many times what a chunk takes on a slow link; a reader that takes longer contends with nobody.
  static constexpr Duration kIdle = Seconds(2);
  // Bounds what peers can make us remember; more are not counted. A guess, far above slots x inputs under way.
  static constexpr size_t kMost = 65536;

  // Names the readers that come over one session, or from this worker itself.
  uint64_t NewSession() { return ++last_session_; }
  // It asks for something of this copy.
  void Asks(const CopyKey& copy, uint64_t session, uint64_t reader, Instant now);
  uint32_t Count(const CopyKey& copy, Instant now);
  void Ends(const CopyKey& copy, uint64_t session, uint64_t reader);
  void SessionEnds(uint64_t session);
  size_t size() const { return asked_.size(); }

 private:
  using Key = std::tuple<CopyKey, uint64_t, uint64_t>;
  std::map<Key, Instant> asked_;  // when last
  uint64_t last_session_ = 0;
};

}  // namespace mr::worker
