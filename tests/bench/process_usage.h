// What processes and all that descend from them have taken: CPU time and memory, from /proc. No other process is slowed
// but by being looked at.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mr::bench {

// A line of /proc/PID/stat (man 5 proc).
struct ProcessStat {
  std::string name;  // of the program, at most 15 bytes
  pid_t parent = 0;
  // Its own, and those of the children that it has waited for, and theirs.
  uint64_t user_ticks = 0, system_ticks = 0;
};
std::optional<ProcessStat> ParseStat(std::string_view line);

struct CpuTime {
  double user = 0, system = 0;  // seconds
  double total() const { return user + system; }
};

class ProcessUsage {
 public:
  explicit ProcessUsage(std::vector<pid_t> roots) : roots_(std::move(roots)) {}

  // Of the roots and all their descendants that live, and of those that have been waited for: so the
  // difference of two readings is all that ran in between, as long as nobody's parent ends before it. In steps of a
  // clock tick (10 ms) for each process.
  CpuTime Cpu() const;

  // Peaks are from now on.
  void ResetPeaks();
  // Takes in the peaks of those that live. A process that begins and ends between two calls is not seen.
  void Sample();
  // Of each program, its process that had most: resident bytes, shared pages among them.
  const std::map<std::string, uint64_t>& peaks() const { return peaks_; }

 private:
  std::map<pid_t, ProcessStat> Tree() const;

  std::vector<pid_t> roots_;
  std::map<std::string, uint64_t> peaks_;
};

}  // namespace mr::bench
