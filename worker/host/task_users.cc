#include "worker/host/task_users.h"

#include <pwd.h>

#include <charconv>
#include <set>
#include <sstream>
#include <vector>

#include "common/io/files.h"

namespace mr::worker {
namespace {

// Returns the number, or 0 if the text is none.
uid_t NumberOf(std::string_view text) {
  uid_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

bool HasName(uid_t user) {
  passwd entry;
  passwd* found = nullptr;
  std::vector<char> buffer(16 << 10);  // far above _SC_GETPW_R_SIZE_MAX of glibc, 1024
  return getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
}

}  // namespace

Result<UserRange> UserRange::Parse(const std::string& text) {
  constexpr uid_t kLeast = 1000, kNobody = 65534, kNone16 = 65535, kNone = ~uid_t{0};
  const size_t dash = text.find('-');
  UserRange range;
  if (dash != text.npos) {
    range = {NumberOf(std::string_view(text).substr(0, dash)), NumberOf(std::string_view(text).substr(dash + 1))};
  }
  if (range.first == 0 || range.last == 0 || range.last < range.first) {
    return InvalidArgument("'" + text + "' is no range of users, such as 200000-209999");
  }
  const bool nobody = range.first <= kNone16 && range.last >= kNobody;
  if (range.first < kLeast || range.last == kNone || nobody) {
    return InvalidArgument("the range of users " + text + " has users of the system: take numbers from " +
                           std::to_string(kLeast) + " on, without " + std::to_string(kNobody) + " and " +
                           std::to_string(kNone16));
  }
  return range;
}

Result<TaskUsers> TaskUsers::Open(const std::string& path, UserRange range) {
  TaskUsers users(path, range);
  if (!PathExists(path)) return users;
  MR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::istringstream lines(text);
  std::set<uid_t> seen;
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' ');
    const uid_t user = NumberOf(std::string_view(line).substr(0, space));
    if (space == line.npos || user == 0 || !seen.insert(user).second) {
      return Corrupted("the list of task users " + path + " is damaged at '" + line +
                       "'; stop the worker, remove all files of users " + std::to_string(range.first) + " to " +
                       std::to_string(range.last) + " on this machine, and then the list");
    }
    if (user >= range.first && user <= range.last) users.users_[line.substr(space + 1)] = user;
  }
  return users;
}

Result<uid_t> TaskUsers::UserOf(const std::string& owner) {
  if (const auto known = users_.find(owner); known != users_.end()) return known->second;
  if (owner.empty() || owner.find('\n') != owner.npos) return InvalidArgument("the job's owner has no valid name");
  MR_ASSIGN_OR_RETURN(const uid_t user, Free());
  users_[owner] = user;
  if (Status written = Write(); !written.ok()) {
    users_.erase(owner);
    return written.With("cannot give " + owner + " a user for its tasks");
  }
  return user;
}

Result<uid_t> TaskUsers::Free() const {
  std::set<uid_t> taken;
  for (const auto& [owner, user] : users_) taken.insert(user);
  for (uid_t user = range_.first; user <= range_.last; ++user) {
    if (!taken.contains(user) && !HasName(user)) return user;
  }
  return Unavailable("all users for tasks of this worker (--task_uids " + std::to_string(range_.first) + "-" +
                     std::to_string(range_.last) +
                     ") belong to other owners of jobs; start the worker with a larger --task_uids");
}

Status TaskUsers::Write() const {
  std::string text;
  for (const auto& [owner, user] : users_) text += std::to_string(user) + " " + owner + "\n";
  return WriteFileDurably(path_, text, 0600);
}

}  // namespace mr::worker
