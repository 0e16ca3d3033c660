#include "tests/bench/process_usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace mr::bench {
namespace {

// Reads a file of a process. Returns "" if the process has ended, even meanwhile.
std::string ReadAll(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = ::read(fd, piece, sizeof piece)) > 0;) text.append(piece, static_cast<size_t>(got));
  ::close(fd);
  return text;
}

std::string ProcPath(pid_t pid, const char* what) { return "/proc/" + std::to_string(pid) + "/" + what; }

// Returns VmHWM of /proc/PID/status; 0 if the process is gone or a zombie.
uint64_t PeakBytes(pid_t pid) {
  const std::string status = ReadAll(ProcPath(pid, "status"));
  const size_t at = status.find("VmHWM:");
  return at == status.npos ? 0 : std::strtoull(status.c_str() + at + 6, nullptr, 10) << 10;
}

// Reads DIRECTORY/N/stat of all N.
std::map<pid_t, ProcessStat> StatsBelow(const std::string& path) {
  std::map<pid_t, ProcessStat> all;
  DIR* directory = ::opendir(path.c_str());
  while (const dirent* entry = directory == nullptr ? nullptr : ::readdir(directory)) {
    const pid_t id = static_cast<pid_t>(std::atoi(entry->d_name));
    if (id <= 0) continue;
    if (auto stat = ParseStat(ReadAll(path + "/" + std::to_string(id) + "/stat"))) all.emplace(id, *std::move(stat));
  }
  if (directory != nullptr) ::closedir(directory);
  return all;
}

}  // namespace

std::optional<ProcessStat> ParseStat(std::string_view line) {
  // The name stands in parentheses and may contain any character, parentheses too.
  const size_t open = line.find('('), close = line.rfind(')');
  if (open == line.npos || close == line.npos || close < open) return std::nullopt;
  ProcessStat stat;
  stat.name = line.substr(open + 1, close - open - 1);
  std::istringstream rest{std::string(line.substr(close + 1))};
  const std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
  // fields[0] is the third field of the line, the state; utime is the 14th.
  if (fields.size() < 15) return std::nullopt;
  const auto number = [&](size_t nth) { return std::strtoull(fields[nth - 3].c_str(), nullptr, 10); };
  stat.parent = static_cast<pid_t>(number(4));
  stat.user_ticks = number(14) + number(16);
  stat.system_ticks = number(15) + number(17);
  return stat;
}

std::map<std::string, double> CpuByThread(pid_t pid) {
  const auto second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::map<std::string, double> cpu;
  for (const auto& [thread, stat] : StatsBelow(ProcPath(pid, "task"))) {
    cpu[stat.name] += static_cast<double>(stat.user_ticks + stat.system_ticks) / second;
  }
  return cpu;
}

std::map<pid_t, ProcessStat> ProcessUsage::Tree() const {
  const std::map<pid_t, ProcessStat> all = StatsBelow("/proc");
  const auto ours = [&](pid_t pid) {
    for (int depth = 0; depth < 64; ++depth) {
      if (std::find(roots_.begin(), roots_.end(), pid) != roots_.end()) return true;
      const auto it = all.find(pid);
      if (it == all.end()) return false;
      pid = it->second.parent;
    }
    return false;
  };
  std::map<pid_t, ProcessStat> tree;
  for (const auto& [pid, stat] : all) {
    if (ours(pid)) tree.emplace(pid, stat);
  }
  return tree;
}

CpuTime ProcessUsage::Cpu() const {
  const auto second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  CpuTime cpu;
  for (const auto& [pid, stat] : Tree()) {
    cpu.user += static_cast<double>(stat.user_ticks) / second;
    cpu.system += static_cast<double>(stat.system_ticks) / second;
  }
  return cpu;
}

void ProcessUsage::ResetPeaks() {
  peaks_.clear();
  // 5: resets the peak to the current size.
  for (const auto& [pid, stat] : Tree()) std::ofstream(ProcPath(pid, "clear_refs")) << 5;
}

void ProcessUsage::Sample() {
  for (const auto& [pid, stat] : Tree()) {
    uint64_t& peak = peaks_[stat.name];
    peak = std::max(peak, PeakBytes(pid));
  }
}

}  // namespace mr::bench
