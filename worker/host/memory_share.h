// The memory that the attempts of a worker may use: together, and each of them that has no limit of its job.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/time.h"
#include "worker/host/peers_here.h"

namespace mr::worker {

// An attempt's memory beside the data that limits count: code, stacks, the arena, the kernel's own (an empty attempt of
// mrtask uses 20 MiB, measured; the rest is a guess).
inline constexpr uint64_t kMemoryBeside = 64ull << 20;
// The least default limit of an attempt where the memory was found, for machines with little of it for each slot: below
// it, the sort buffer of 160 MiB could not grow (guess).
inline constexpr uint64_t kLeastAttemptMemory = 512ull << 20;

// The memory that a process may use.
struct MemoryFound {
  uint64_t bytes = 0;
  std::string group;  // the directory of the control group that limits it; empty: the machine's memory does
  bool operator==(const MemoryFound&) const = default;
};

// Returns the least of the machine's memory and the limits of these control groups and of those above them: that of
// this process, and `group` (as in FindCgroups) where it is not empty. Reads the limits from the directories.
MemoryFound FindMemory(uint64_t machine_bytes, std::string_view mountinfo, std::string_view own,
                       const std::string& group);

// Returns what is left for the data of attempts. The reserve: a tenth, or 512 MiB if that is more, for the daemon, its
// page cache and the kernel (guesses), and kMemoryBeside for each slot; half of the memory at most.
uint64_t LessReserve(uint64_t found_bytes, uint32_t slots);

class MemoryShare {
 public:
  struct Options {
    uint64_t bytes = 0;  // of the operator (mrworker --memory); 0: what is found
    uint32_t slots = 1;
    std::string cgroup_root;  // as in FindCgroups
    // A worker that ends soon, such as those of `mrctl submit --local`: it divides the memory by all workers, and the
    // workers that stay do not count it. So a short run does not change the limits of other jobs.
    bool passing = false;
  };
  // Reads the limits of this process and joins the workers that share them.
  static std::unique_ptr<MemoryShare> Open(const Options& options);
  // found: less the reserve. workers: returns how many workers share it.
  MemoryShare(const Options& options, uint64_t found, std::function<uint32_t()> workers);
  MemoryShare(const MemoryShare&) = delete;

  // Returns how much the attempts may use at most: that of the operator, or all that was found.
  uint64_t whole() const { return options_.bytes != 0 ? options_.bytes : found_; }
  // Returns the memory of all attempts together: that of the operator, or this worker's share of what was found.
  // Workers that start and end change it; it follows within a second. Thread: any.
  uint64_t Together(Instant now);
  // Returns the default limit of an attempt: Together() over the slots. Thread: any.
  uint64_t PerAttempt(Instant now);
  // Returns where the memory comes from, for people.
  const std::string& source() const { return source_; }

 private:
  const Options options_;
  const uint64_t found_;
  const std::function<uint32_t()> count_;
  std::string source_ = "--memory";
  std::mutex mutex_;
  std::optional<Instant> counted_;
  uint32_t workers_ = 1;
};

}  // namespace mr::worker
