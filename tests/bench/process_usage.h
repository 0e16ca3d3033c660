// CPU time and memory of processes and all their descendants, from /proc. Reading them is the only effect on other
// processes.
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
  std::string name;  // program name, at most 15 bytes
  pid_t parent = 0;
  // CPU time of the process and of the children that it waited for, recursively. Unit: clock ticks.
  uint64_t user_ticks = 0, system_ticks = 0;
};
std::optional<ProcessStat> ParseStat(std::string_view line);

struct CpuTime {
  double user = 0, system = 0;  // seconds
  double total() const { return user + system; }
};

// Returns the CPU seconds of the living threads of a process, by their name; threads of one name together.
std::map<std::string, double> CpuByThread(pid_t pid);

class ProcessUsage {
 public:
  explicit ProcessUsage(std::vector<pid_t> roots) : roots_(std::move(roots)) {}

  // Returns the CPU time of the roots, of all their living descendants, and of descendants that were waited for. So the
  // difference of two readings is all that ran in between, as long as no parent ends before its child. In steps of a
  // clock tick (10 ms) per process.
  CpuTime Cpu() const;

  // Starts new peaks.
  void ResetPeaks();
  // Adds the peaks of living processes. Misses a process that begins and ends between two calls.
  void Sample();
  // Largest process of each program: resident bytes, with shared pages.
  const std::map<std::string, uint64_t>& peaks() const { return peaks_; }

 private:
  std::map<pid_t, ProcessStat> Tree() const;

  std::vector<pid_t> roots_;
  std::map<std::string, uint64_t> peaks_;
};

}  // namespace mr::bench
