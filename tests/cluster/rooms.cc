#include "tests/cluster/rooms.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "common/io/files.h"
#include "worker/host/cgroup_place.h"
#include "worker/task/landlock.h"
#include "worker/task/room_user.h"

namespace mr::test {

std::string Replaced(std::string text, const std::map<std::string, std::string>& targets) {
  for (const auto& [word, value] : targets) {
    if (const size_t at = text.find(word); at != text.npos) text.replace(at, word.size(), value);
  }
  return text;
}

std::string Lacks(int tier) {
  if (const std::string missing = task::RoomUser::MissingCapability(); !missing.empty()) {
    return "this process has no " + missing;
  }
  if (task::LandlockAbi() == 0) return "this kernel has no Landlock";
  const auto groups =
      worker::FindCgroups(ReadFile("/proc/self/mountinfo").value(), ReadFile("/proc/self/cgroup").value(), "");
  if (!groups.ok()) return groups.status().message();
  if (access((groups->memory + "/cgroup.procs").c_str(), W_OK) != 0) return "control groups are read-only";
  if (groups->unified) return "the test does not share its group of version 2 with a worker";
  if (tier < 3) return "";
  const pid_t pid = fork();
  if (pid == 0) _exit(unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 ? 0 : 1);
  int status = 0;
  waitpid(pid, &status, 0);
  return status == 0 ? "" : "this process cannot make namespaces";
}

std::vector<std::string> GroupsOf(const std::string& data) {
  const auto place =
      worker::FindCgroups(ReadFile("/proc/self/mountinfo").value(), ReadFile("/proc/self/cgroup").value(), "");
  struct stat info;
  if (!place.ok() || stat(data.c_str(), &info) != 0) return {};
  const std::string family = "paceline-" + std::to_string(info.st_dev) + "-" + std::to_string(info.st_ino) + "-";
  std::vector<std::string> groups;
  const std::vector<std::string> names = ListDirectory(place->pids).value();
  for (const std::string& name : names) {
    if (name.starts_with(family)) groups.push_back(place->pids + "/" + name);
  }
  return groups;
}

std::map<std::string, std::string> Outcomes(const std::string& text) {
  std::map<std::string, std::string> outcomes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    if (tab != line.npos) outcomes[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return outcomes;
}

bool Runs(const std::string& word) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto line = ReadFile(entry.path().string() + "/cmdline");
    if (line.ok() && line->find(std::string(1, '\0') + word + std::string(1, '\0')) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace mr::test
