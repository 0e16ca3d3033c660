// Decides which inputs of tasks enter the page cache.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "common/base/ids.h"

namespace mr::worker {

// The first inputs of a job enter the cache, because the next job may read them. What a large job reads beyond them for
// the first time stays out: pages that the machine has not used before cost more than the read, and an input that is
// read once pushes out what is read often. An input that is read again enters the cache.
// Thread: one.
class CachedInputs {
 public:
  // A range of a file.
  using Place = std::tuple<std::string, uint64_t, uint64_t>;  // URI, id of the version, offset

  // most_bytes: of inputs per job that enter the cache at their first read.
  explicit CachedInputs(uint64_t most_bytes = MostBytes()) : most_bytes_(most_bytes) {}

  // Returns whether a task should read the range through the page cache.
  bool Admit(JobId job, const Place& place, uint64_t bytes) {
    if (recent_.contains(place) || older_.contains(place)) return true;
    if (recent_.size() == kPlaces) older_ = std::exchange(recent_, {});
    recent_.insert(place);
    if (bytes_.size() == kJobs && !bytes_.contains(job)) bytes_.erase(bytes_.begin());
    return (bytes_[job] += bytes) <= most_bytes_;
  }

 private:
  static constexpr size_t kPlaces = 8192;  // half a terabyte in blocks of 64 MiB (guess)
  static constexpr size_t kJobs = 1000;    // the oldest is forgotten (guess)

  // A small part of the memory: the rest of the cache has other users (guess).
  static uint64_t MostBytes() {
    return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 32;
  }

  const uint64_t most_bytes_;
  std::set<Place> recent_, older_;
  std::map<JobId, uint64_t> bytes_;  // first reads, per job
};

}  // namespace mr::worker
