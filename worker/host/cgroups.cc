#include "worker/host/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "common/io/clock.h"

namespace mr::worker {
namespace {

// The same limit as for the descendants of an attempt (processes.cc).
constexpr Duration kCgroupPatience = Millis(1500);
constexpr int kCgroupLookAgainMs = 1;
// The weights of a group among its siblings that the kernel starts with, for version 1 and 2, and the highest of
// version 2 (Documentation/admin-guide/cgroup-v2.rst).
constexpr uint64_t kShares = 1024, kWeight = 100, kMostWeight = 10'000;

Status WriteControl(const std::string& path, const std::string& text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (fd.valid() && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return Status::Ok();
  return Unavailable("cannot write '" + text + "' to " + path + ": " + strerror(errno));
}

uint64_t ReadNumber(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  return text.ok() ? strtoull(text->c_str(), nullptr, 10) : 0;
}

// Returns the number behind `name` in lines "NAME NUMBER".
uint64_t ReadCount(const std::string& path, const std::string& name) {
  const Result<std::string> text = ReadFile(path);
  std::istringstream in(text.ok() ? *text : "");
  uint64_t count = 0;
  for (std::string word; in >> word >> count;) {
    if (word == name) return count;
  }
  return 0;
}

std::vector<pid_t> Members(const std::string& group) {
  const Result<std::string> text = ReadFile(group + "/cgroup.procs");
  std::istringstream in(text.ok() ? *text : "");
  std::vector<pid_t> members;
  for (pid_t pid; in >> pid;) {
    if (pid > 0) members.push_back(pid);
  }
  return members;
}

// Kills a member by a pidfd that was open while the number still meant one. The last two names of the path identify the
// group: other mounts show it at other places.
void KillMember(pid_t pid, const std::string& group) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return;
  const size_t last = group.rfind('/'), name = last == 0 ? group.npos : group.rfind('/', last - 1);
  if (name == group.npos) return;
  const Result<std::string> groups = ReadFile("/proc/" + std::to_string(pid) + "/cgroup");
  if (!groups.ok() || groups->find(group.substr(name) + "\n") == groups->npos) return;
  syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

// Kills all in the group, which can start nothing more. Returns how many were there. A process that version 1 has
// frozen would not end, so this takes the right to fork in place of the freezer.
size_t KillMembers(const CgroupPlace& leaf) {
  if (leaf.unified && WriteControl(leaf.pids + "/cgroup.kill", "1").ok()) return Members(leaf.pids).size();
  (void)WriteControl(leaf.pids + "/pids.max", "0");
  const std::vector<pid_t> members = Members(leaf.pids);
  for (const pid_t pid : members) KillMember(pid, leaf.pids);
  return members.size();
}

std::vector<std::string> DirectoriesOf(const CgroupPlace& place) {
  std::vector<std::string> all = {place.memory};
  if (!place.unified) all.push_back(place.pids);
  if (!place.unified && !place.cpu.empty()) all.push_back(place.cpu);
  return all;
}

CgroupPlace Below(const CgroupPlace& place, const std::string& name) {
  return {place.unified, place.memory + "/" + name, place.pids + "/" + name,
          place.cpu.empty() ? "" : place.cpu + "/" + name};
}

Status MakeGroup(const CgroupPlace& place) {
  for (const std::string& path : DirectoriesOf(place)) {
    if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
      return Unavailable("cannot make the control group " + path + ": " + strerror(errno));
    }
  }
  return {};
}

void RemoveGroup(const CgroupPlace& place) {
  for (const std::string& path : DirectoriesOf(place)) rmdir(path.c_str());
}

// Kills and removes the leaves of a group, and the group. Returns how many processes were in it.
size_t EndGroup(const CgroupPlace& group, Instant end) {
  size_t killed = 0;
  const auto names = ListDirectory(group.pids);
  if (!names.ok()) return 0;
  for (const std::string& name : *names) {
    if (!name.starts_with("slot-")) continue;
    const CgroupPlace leaf = Below(group, name);
    killed += Members(leaf.pids).size();
    while (KillMembers(leaf) > 0 && Now() < end) poll(nullptr, 0, kCgroupLookAgainMs);
    RemoveGroup(leaf);
  }
  RemoveGroup(group);
  return killed;
}

// Lets the children of this group have limits (version 2).
Status Delegate(const std::string& group) {
  return WriteControl(group + "/cgroup.subtree_control", "+memory +pids +cpu");
}

Status PrepareUnified(const std::string& root) {
  const Result<std::string> controllers = ReadFile(root + "/cgroup.controllers");
  for (const char* wanted : {"memory", "pids", "cpu"}) {
    std::istringstream in(controllers.ok() ? *controllers : "");
    bool found = false;
    for (std::string word; in >> word;) found = found || word == wanted;
    if (!found) {
      return Unavailable(std::string("the controller ") + wanted + " is not available in " + root +
                         "; run the worker as a service with Delegate=yes, or give --cgroup_root");
    }
  }
  if (Delegate(root).ok()) return {};
  const std::vector<pid_t> members = Members(root);
  if (members != std::vector<pid_t>{getpid()}) {
    return Unavailable("the control group " + root +
                       " has processes beside this one, so its children take no limits; " +
                       "run the worker as a service with Delegate=yes, or give an empty group as --cgroup_root");
  }
  const std::string own = root + "/paceline-daemon";
  if (mkdir(own.c_str(), 0755) != 0 && errno != EEXIST) {
    return Unavailable("cannot make the control group " + own + ": " + strerror(errno));
  }
  MR_RETURN_IF_ERROR(WriteControl(own + "/cgroup.procs", std::to_string(getpid())));
  return Delegate(root);
}

}  // namespace

Result<std::unique_ptr<CgroupLeaf>> CgroupLeaf::Make(const CgroupPlace& place) {
  std::unique_ptr<CgroupLeaf> leaf(new CgroupLeaf);
  leaf->place_ = place;
  MR_RETURN_IF_ERROR(MakeGroup(place));
  for (const std::string& path : DirectoriesOf(place)) {
    // `tasks` of version 1 takes one thread, without the lock on all forks of the machine that cgroup.procs takes.
    const std::string file = path + (place.unified ? "/cgroup.procs" : "/tasks");
    UniqueFd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) return Unavailable("cannot open " + file + ": " + strerror(errno));
    leaf->joins_.push_back(std::move(fd));
  }
  // Tasks do not make a machine swap. Not where the kernel has no swap; and version 2 ends an attempt as a whole.
  if (place.unified) {
    (void)WriteControl(place.memory + "/memory.swap.max", "0");
    (void)WriteControl(place.memory + "/memory.oom.group", "1");
  } else {
    (void)WriteControl(place.memory + "/memory.swappiness", "0");
  }
  return leaf;
}

Status CgroupLeaf::Begin(const CgroupLimits& limits) {
  limits_ = limits;
  const std::string none = place_.unified ? "max" : "-1";
  MR_RETURN_IF_ERROR(WriteControl(place_.memory + (place_.unified ? "/memory.max" : "/memory.limit_in_bytes"),
                                  limits.memory_bytes == 0 ? none : std::to_string(limits.memory_bytes)));
  MR_RETURN_IF_ERROR(
      WriteControl(place_.pids + "/pids.max", limits.processes == 0 ? "max" : std::to_string(limits.processes)));
  (void)WriteControl(place_.memory + (place_.unified ? "/memory.peak" : "/memory.max_usage_in_bytes"), "0");
  oom_before_ = OomCount();
  return {};
}

std::vector<int> CgroupLeaf::joins() const {
  std::vector<int> fds;
  for (const UniqueFd& fd : joins_) fds.push_back(fd.get());
  return fds;
}

uint64_t CgroupLeaf::OomCount() const {
  return ReadCount(place_.memory + (place_.unified ? "/memory.events" : "/memory.oom_control"), "oom_kill");
}

uint64_t CgroupLeaf::OomKills() const {
  const uint64_t now = OomCount();
  return now > oom_before_ ? now - oom_before_ : 0;
}

uint64_t CgroupLeaf::PeakBytes() const {
  return ReadNumber(place_.memory + (place_.unified ? "/memory.peak" : "/memory.max_usage_in_bytes"));
}

bool CgroupLeaf::Kill() { return Empty() || KillMembers(place_) == 0; }

bool CgroupLeaf::Empty() const { return Members(place_.pids).empty(); }

Result<std::unique_ptr<Cgroups>> Cgroups::Make(const Options& options) {
  std::unique_ptr<Cgroups> groups(new Cgroups(options));
  const CgroupPlace all = Below(options.place, options.name);
  if (options.place.unified) MR_RETURN_IF_ERROR(PrepareUnified(options.place.memory));
  MR_RETURN_IF_ERROR(MakeGroup(all));
  const uint64_t share = std::max(1u, options.leaves);
  if (options.place.unified) {
    MR_RETURN_IF_ERROR(Delegate(all.memory));
    MR_RETURN_IF_ERROR(WriteControl(all.cpu + "/cpu.weight", std::to_string(std::min(kMostWeight, kWeight * share))));
  } else if (!all.cpu.empty()) {
    MR_RETURN_IF_ERROR(WriteControl(all.cpu + "/cpu.shares", std::to_string(kShares * share)));
  }
  if (options.memory_bytes > 0) {
    MR_RETURN_IF_ERROR(WriteControl(all.memory + (all.unified ? "/memory.max" : "/memory.limit_in_bytes"),
                                    std::to_string(options.memory_bytes)));
  }
  for (uint32_t i = 0; i < options.leaves; ++i) {
    if (const auto added = groups->Add(); !added.ok()) return added.status();
  }
  return groups;
}

Cgroups::~Cgroups() {
  leaves_.clear();
  EndGroup(Below(options_.place, options_.name), Now() + kCgroupPatience);
}

Result<CgroupLeaf*> Cgroups::Add() {
  const CgroupPlace all = Below(options_.place, options_.name);
  MR_ASSIGN_OR_RETURN(auto leaf, CgroupLeaf::Make(Below(all, "slot-" + std::to_string(leaves_.size()))));
  leaves_.push_back(std::move(leaf));
  return leaves_.back().get();
}

Result<CgroupLeaf*> Cgroups::Take(const CgroupLimits& limits) {
  CgroupLeaf* free = nullptr;
  for (const auto& leaf : leaves_) {
    if (!leaf->busy_ && leaf->Empty()) {
      free = leaf.get();
      break;
    }
  }
  if (free == nullptr) {
    MR_ASSIGN_OR_RETURN(free, Add());
  }
  MR_RETURN_IF_ERROR(free->Begin(limits));
  free->busy_ = true;
  return free;
}

void Cgroups::GiveBack(CgroupLeaf* leaf) { leaf->busy_ = false; }

size_t Cgroups::EndLeftovers() {
  const auto names = ListDirectory(options_.place.pids);
  if (!names.ok()) return 0;
  const Instant end = Now() + kCgroupPatience;
  size_t killed = 0;
  for (const std::string& name : *names) {
    if (name.starts_with(options_.family) && name != options_.name)
      killed += EndGroup(Below(options_.place, name), end);
  }
  return killed;
}

}  // namespace mr::worker
