#include "tests/bench/cpu_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <sstream>
#include <vector>

#include "common/io/files.h"

namespace mr::bench {
namespace {

// Short, so that a limit of 2 % still runs twenty times a second. The kernel rejects quotas below 1 ms.
constexpr long kPeriodUs = 50'000;

constexpr char kPrefix[] = "paceline-";
constexpr char kUnified[] = "/sys/fs/cgroup";

Status Write(const std::string& path, const std::string& text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0) return ErrnoStatus(errno, "cannot open " + path);
  if (::write(fd.get(), text.data(), text.size()) < 0)
    return ErrnoStatus(errno, "cannot write '" + text + "' to " + path);
  return Status::Ok();
}

std::vector<pid_t> WithDescendants(pid_t pid) {
  std::vector<pid_t> all = {pid};
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string tasks = "/proc/" + std::to_string(all[i]) + "/task";
    DIR* threads = ::opendir(tasks.c_str());
    if (threads == nullptr) continue;  // it has ended
    while (const dirent* thread = ::readdir(threads)) {
      const auto text = ReadFile(tasks + "/" + thread->d_name + "/children");
      if (!text.ok()) continue;
      std::istringstream in(*text);
      for (pid_t child = 0; in >> child;) all.push_back(child);
    }
    ::closedir(threads);
  }
  return all;
}

}  // namespace

std::string CpuGroup::Root() {
  return PathExists(std::string(kUnified) + "/cgroup.controllers") ? kUnified : std::string(kUnified) + "/cpu";
}

int RemoveStaleGroups(const std::string& root) {
  const auto names = ListDirectory(root);
  if (!names.ok()) return 0;
  int removed = 0;
  for (const std::string& name : *names) {
    pid_t maker = 0;
    if (std::sscanf(name.c_str(), "paceline-%d-", &maker) != 1 || maker <= 0) continue;
    if (::kill(maker, 0) == 0 || errno != ESRCH) continue;
    removed += ::rmdir((root + "/" + name).c_str()) == 0;  // fails if it has processes
  }
  return removed;
}

Result<CpuGroup> CpuGroup::Make(const std::string& name) {
  CpuGroup group;
  const std::string root = Root();
  group.unified_ = root == kUnified;
  if (group.unified_) MR_RETURN_IF_ERROR(Write(root + "/cgroup.subtree_control", "+cpu"));
  const std::string path = root + "/" + kPrefix + std::to_string(::getpid()) + "-" + name;
  if (::mkdir(path.c_str(), 0755) != 0) return ErrnoStatus(errno, "cannot make the control group " + path);
  group.path_ = path;
  return group;
}

CpuGroup::~CpuGroup() {
  if (path_.empty()) return;
  const std::string parent = path_.substr(0, path_.rfind('/'));
  if (const auto text = ReadFile(path_ + "/cgroup.procs"); text.ok()) {
    std::istringstream in(*text);
    for (std::string pid; in >> pid;) (void)Write(parent + "/cgroup.procs", pid);
  }
  (void)::rmdir(path_.c_str());
}

Status CpuGroup::Take(pid_t pid) const {
  // Two rounds: children forked during the first are in the group already, or are found by the second.
  for (int round = 0; round < 2; ++round) {
    for (const pid_t p : WithDescendants(pid)) {
      const Status taken = Write(path_ + "/cgroup.procs", std::to_string(p));
      if (!taken.ok() && p == pid) return taken;  // others may have ended meanwhile
    }
  }
  return Status::Ok();
}

Status CpuGroup::Limit(double cpus) const {
  const std::string quota = std::to_string(static_cast<long>(cpus * kPeriodUs)), period = std::to_string(kPeriodUs);
  if (unified_) return Write(path_ + "/cpu.max", quota + " " + period);
  MR_RETURN_IF_ERROR(Write(path_ + "/cpu.cfs_quota_us", "-1"));
  MR_RETURN_IF_ERROR(Write(path_ + "/cpu.cfs_period_us", period));
  return Write(path_ + "/cpu.cfs_quota_us", quota);
}

}  // namespace mr::bench
