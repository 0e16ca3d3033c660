#include "worker/host/cgroup_place.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace mr::worker {
namespace {

std::vector<std::string> Split(std::string_view text, char at) {
  std::vector<std::string> parts;
  std::istringstream in{std::string(text)};
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

struct Mount {
  std::string root, point;  // the group that is mounted, and where
  bool found() const { return !point.empty(); }
};

// Returns the mount of this controller of version 1, or of version 2 if it is "". Fields of proc_pid_mountinfo(5): the
// root is the fourth, the mount point the fifth; the type and the options of the file system follow a lone dash.
Mount MountOf(std::string_view mountinfo, const std::string& controller) {
  for (const std::string& line : Split(mountinfo, '\n')) {
    const std::vector<std::string> fields = Split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    constexpr size_t kRoot = 3, kPoint = 4, kBefore = 6, kAfter = 4;
    if (dash - fields.begin() < static_cast<long>(kBefore) || fields.end() - dash < static_cast<long>(kAfter)) continue;
    const std::vector<std::string> options = Split(dash[3], ',');
    const bool here = controller.empty() ? dash[1] == "cgroup2"
                                         : dash[1] == "cgroup" &&
                                               std::find(options.begin(), options.end(), controller) != options.end();
    if (here) return {fields[kRoot], fields[kPoint]};
  }
  return {};
}

// Returns this process's group of the controller ("": version 2), from lines "NUMBER:CONTROLLERS:GROUP".
std::string OwnGroup(std::string_view own, const std::string& controller) {
  for (const std::string& line : Split(own, '\n')) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::vector<std::string> names = Split(line.substr(first + 1, second - first - 1), ',');
    const bool here =
        controller.empty() ? names.empty() : std::find(names.begin(), names.end(), controller) != names.end();
    if (here) return line.substr(second + 1);
  }
  return "/";
}

std::string DirectoryOf(const Mount& mount, std::string group) {
  // In a container without a namespace of groups, the mount's root is the container's group.
  if (mount.root != "/" && (group + "/").starts_with(mount.root + "/")) group = group.substr(mount.root.size());
  while (group.ends_with('/')) group.pop_back();
  return mount.point + group;
}

}  // namespace

Result<CgroupPlace> FindCgroups(std::string_view mountinfo, std::string_view own, const std::string& group) {
  const auto place = [&](const Mount& mount, const std::string& controller) {
    return mount.found() ? DirectoryOf(mount, group.empty() ? OwnGroup(own, controller) : group) : "";
  };
  const Mount memory = MountOf(mountinfo, "memory"), pids = MountOf(mountinfo, "pids"), all = MountOf(mountinfo, "");
  if (memory.found() && pids.found()) {
    return CgroupPlace{false, place(memory, "memory"), place(pids, "pids"), place(MountOf(mountinfo, "cpu"), "cpu")};
  }
  if (all.found() && !memory.found() && !pids.found()) {
    const std::string path = place(all, "");
    return CgroupPlace{true, path, path, path};
  }
  const char* const missing = memory.found() ? "pids" : pids.found() ? "memory" : "memory and pids";
  return Unavailable(std::string("no control groups are mounted for ") + missing);
}

}  // namespace mr::worker
