#include "worker/task/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "common/io/clock.h"
#include "common/io/files.h"

namespace mr::task {
namespace {

// Delay between two checks of killed processes that have not ended yet.
constexpr int kLookAgainMs = 1;
constexpr size_t kDescribed = 8;

std::string ReadSmall(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  close(fd);
  return text;
}

std::string Proc(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + "/" + file; }

struct Stat {
  char state = 'X';  // of the main thread; 'X': there is no such process
  pid_t parent = 0;
  long threads = 0;
  uint64_t start = 0;  // start time in the kernel's ticks: with the number it identifies a process permanently
  std::string name;
  // The main thread may end (pthread_exit) long before the others. The process has ended only if it was the last one.
  bool ended() const { return (state == 'X' || state == 'x' || state == 'Z') && threads <= 1; }
};

Stat StatOf(pid_t pid) {
  Stat stat;
  const std::string text = ReadSmall(Proc(pid, "stat"));
  const size_t open = text.find('('), close = text.rfind(')');  // a name may have any of these
  if (open == text.npos || close == text.npos || close + 4 > text.size()) return stat;
  stat.name = text.substr(open + 1, close - open - 1);
  stat.state = text[close + 2];
  stat.parent = static_cast<pid_t>(atol(text.c_str() + close + 4));
  constexpr int kParent = 4, kThreads = 20, kStart = 22;  // fields of proc(5)
  size_t at = close + 4;
  for (int field = kParent; field < kStart; ++field) {
    at = text.find(' ', at + 1);
    if (at == text.npos) return stat;
    if (field + 1 == kThreads) stat.threads = atol(text.c_str() + at);
  }
  stat.start = strtoull(text.c_str() + at, nullptr, 10);
  return stat;
}

// Appends the children of each of its threads.
void AppendChildren(pid_t pid, std::vector<pid_t>* out) {
  const std::string tasks = Proc(pid, "task");
  DIR* directory = opendir(tasks.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    const std::string text = ReadSmall(tasks + "/" + entry->d_name + "/children");
    for (const char* at = text.c_str(); *at != '\0';) {
      char* end = nullptr;
      const long child = strtol(at, &end, 10);
      if (end == at) break;
      if (child > 0) out->push_back(static_cast<pid_t>(child));
      at = end;
    }
  }
  closedir(directory);
}

std::vector<pid_t> Below(pid_t root, const std::function<bool(pid_t)>& keep, size_t most = SIZE_MAX) {
  std::vector<pid_t> all;
  AppendChildren(root, &all);
  for (size_t i = 0; i < all.size(); ++i) {
    if (keep && keep(all[i])) {
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i--));
    } else if (all.size() <= most) {
      AppendChildren(all[i], &all);
    }
  }
  return all;
}

uint32_t Threads(pid_t pid) {
  struct stat info;
  // The directory has a link from itself, one from its parent, and one for each thread.
  return stat(Proc(pid, "task").c_str(), &info) == 0 && info.st_nlink > 2 ? static_cast<uint32_t>(info.st_nlink - 2)
                                                                          : 0;
}

// Kills a process by a pidfd that was open while the number still meant a child of this tree. Returns whether it was
// killed.
bool KillOne(pid_t pid, const Stat& seen) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return false;
  const Stat now = StatOf(pid);
  if (now.ended() || now.parent != seen.parent) return false;  // the next pass finds it at its new place
  return syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0) == 0;
}

bool HasMark(const std::string& environment, std::string_view mark) {
  for (size_t at = environment.find(mark); at != environment.npos; at = environment.find(mark, at + 1)) {
    if (at == 0 || environment[at - 1] == '\0') return true;
  }
  return false;
}

// Returns whether a process had the mark when it began its program. An ended process has no environment.
bool IsMarked(pid_t pid, std::string_view mark, const std::string& except) {
  const std::string environment = ReadSmall(Proc(pid, "environ"));
  return HasMark(environment, mark) && (except.empty() || !HasMark(environment, except));
}

// Kills a process by a pidfd that was open while it had the mark. Returns whether it is there.
bool KillMarkedOne(pid_t pid, std::string_view mark, const std::string& except) {
  if (pid == getpid() || !IsMarked(pid, mark, except)) return false;
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid() || !IsMarked(pid, mark, except)) return false;
  syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  return true;
}

// Raises the priority of this thread, if that is allowed. Among a thousand processes that fork, one of normal priority
// would run once per second.
class AheadOfOthers {
 public:
  AheadOfOthers() {
    sched_param param{};
    policy_ = sched_getscheduler(0);
    sched_getparam(0, &before_);
    param.sched_priority = 1;
    // Not inherited by processes that are forked meanwhile.
    raised_ = policy_ >= 0 && sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &param) == 0;
  }
  ~AheadOfOthers() {
    if (raised_) sched_setscheduler(0, policy_, &before_);
  }

 private:
  int policy_ = -1;
  sched_param before_{};
  bool raised_ = false;
};

}  // namespace

uint32_t CountTree(pid_t root, uint32_t most) {
  uint32_t count = Threads(root);
  if (count == 0) return 0;
  for (const pid_t pid : Below(root, nullptr, most)) {
    count += std::max(1u, Threads(pid));
    if (count > most) break;
  }
  return count;
}

bool KillBelow(pid_t root, Duration limit, const std::function<bool(pid_t)>& keep) {
  const AheadOfOthers ahead;
  const Instant end = Now() + limit;
  for (;;) {
    bool any = false;
    for (const pid_t pid : Below(root, keep)) {
      const Stat stat = StatOf(pid);
      if (stat.ended()) continue;
      any = true;
      KillOne(pid, stat);
    }
    if (!any) return true;
    if (Now() >= end) return false;
    poll(nullptr, 0, kLookAgainMs);
  }
}

size_t KillRounds::Round(pid_t root, bool ended, const std::function<bool(pid_t)>& keep) {
  const AheadOfOthers ahead;
  const Instant now = Now();
  size_t left = 0;
  for (const pid_t pid : Below(root, keep)) {
    const Stat stat = StatOf(pid);
    if (stat.start == 0 || (stat.ended() && !ended)) continue;
    const auto known = killed_.find(pid);
    if (known != killed_.end() && known->second.start == stat.start) {
      known->second.stuck = now - known->second.at >= patience_;
      left += !known->second.stuck;
      continue;
    }
    ++left;
    if (stat.ended() || KillOne(pid, stat)) killed_[pid] = {stat.start, now, false};
  }
  std::erase_if(killed_, [](const auto& entry) { return StatOf(entry.first).start != entry.second.start; });
  return left;
}

std::set<Process> KillRounds::Stuck() const {
  std::set<Process> stuck;
  for (const auto& [pid, killed] : killed_) {
    if (killed.stuck) stuck.insert({pid, killed.start});
  }
  return stuck;
}

size_t KillMarked(std::string_view mark, const std::string& except, Duration limit) {
  const AheadOfOthers ahead;
  const Instant end = Now() + limit;
  std::set<pid_t> killed;
  // During execve a process has no environment for a moment, so one pass without a match is not enough.
  for (int clean = 0; clean < 2;) {
    ++clean;
    DIR* directory = opendir("/proc");
    if (directory == nullptr) break;
    while (const dirent* entry = readdir(directory)) {
      if (!isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
      const pid_t pid = static_cast<pid_t>(atol(entry->d_name));
      if (!KillMarkedOne(pid, mark, except)) continue;
      killed.insert(pid);
      clean = 0;
    }
    closedir(directory);
    if (Now() >= end) break;
    poll(nullptr, 0, kLookAgainMs);
  }
  return killed.size();
}

uint64_t UnlinkedBytes(pid_t root, uint64_t device) {
  std::vector<pid_t> all = Below(root, nullptr);
  all.push_back(root);
  std::set<uint64_t> seen;  // one file may be open in many processes
  uint64_t bytes = 0;
  for (const pid_t pid : all) {
    const std::string path = Proc(pid, "fd");
    DIR* const directory = opendir(path.c_str());
    if (directory == nullptr) continue;
    while (const dirent* entry = readdir(directory)) {
      struct stat info;
      if (entry->d_name[0] == '.' || fstatat(dirfd(directory), entry->d_name, &info, 0) != 0) continue;
      const bool unlinked = S_ISREG(info.st_mode) && info.st_nlink == 0 && info.st_dev == device;
      constexpr uint64_t kBlockBytes = 512;  // the unit of st_blocks (inode(7))
      if (unlinked && seen.insert(info.st_ino).second) bytes += static_cast<uint64_t>(info.st_blocks) * kBlockBytes;
    }
    closedir(directory);
  }
  return bytes;
}

std::string DescribeTree(pid_t root) {
  std::vector<pid_t> all{root};
  for (const pid_t pid : Below(root, nullptr, kDescribed)) all.push_back(pid);
  std::string text;
  size_t described = 0;
  for (const pid_t pid : all) {
    const Stat stat = StatOf(pid);
    if (stat.ended()) continue;
    if (described++ == kDescribed) {
      text += " and more";
      break;
    }
    const std::string where = ReadSmall(Proc(pid, "wchan"));
    text +=
        (text.empty() ? "" : ", ") + stat.name + " " + stat.state + (where.empty() || where == "0" ? "" : " " + where);
  }
  return text;
}

}  // namespace mr::task
