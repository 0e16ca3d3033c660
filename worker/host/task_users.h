// Gives each owner of jobs a user of this machine, for rooms of tier 2 and above (task/room.h). An owner keeps its user
// for good: the list is a file in the worker's data directory. A user never passes to another owner, because files of
// the first one may be left, for example below a writable --task_paths.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "common/base/status.h"

namespace mr::worker {

// First and last of the users that tasks may have. Each has the group with the same number. first 0: none.
struct UserRange {
  uid_t first = 0, last = 0;
  bool given() const { return first != 0; }

  // Parses "FIRST-LAST". Users below 1000 belong to the system (login.defs UID_MIN), and 65534 and 65535 mean "nobody"
  // and "none". Errors: kInvalidArgument.
  static Result<UserRange> Parse(const std::string& text);
};

// Not safe for concurrent use.
class TaskUsers {
 public:
  // Reads the list, one line "UID OWNER" each. A missing file is an empty list. Lines outside of the range are dropped.
  // Errors: kCorrupted if the file is no such list.
  static Result<TaskUsers> Open(const std::string& path, UserRange range);

  // Returns the owner's user. The first call for an owner takes the lowest free one and writes the list durably (some
  // ms). Skips users that have a name on this machine. Errors: kUnavailable if the range is used up; those of writing.
  Result<uid_t> UserOf(const std::string& owner);
  UserRange range() const { return range_; }

 private:
  TaskUsers(std::string path, UserRange range) : path_(std::move(path)), range_(range) {}
  Result<uid_t> Free() const;
  Status Write() const;

  std::string path_;
  UserRange range_;
  std::map<std::string, uid_t> users_;  // by owner
};

}  // namespace mr::worker
