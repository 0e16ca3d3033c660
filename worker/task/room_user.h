// The steps of a child into a room of tier 2 or above that need the rights of the worker: a place for its job's files
// that other users cannot enter, and the change to the user of the job's owner.
//
// The place is the job's scratch directory, which belongs to the worker, and which the user's group may enter:
//   tmp    belongs to the user: $TMPDIR, $HOME, spill files
//   lib    the operator library, files: the side files. They are hard links, because the worker's cache is closed to
//          all users: it has the files of all owners (CVE-2017-3166 of Hadoop was a cache that was not).
#pragma once

#include <sys/types.h>

#include <string>

#include "common/base/status.h"
#include "worker/task/protocol.h"

namespace mr::task {

class RoomUser {
 public:
  // user: also the number of its group; 0: it remains the worker's, and the functions below do
  // nothing. closed: a
  // directory, with '/' at its end, that users cannot read: a library below it gets a link.
  RoomUser() = default;
  RoomUser(uid_t user, std::string closed) : user_(user), closed_(std::move(closed)) {}

  uid_t user() const { return user_; }
  // Makes the place of the task's job. May run in several children at once. Errors: kUnavailable, with the step.
  Status MakePlace(const WireTask& task) const;
  // Changes the paths of the task to those in its place.
  void MoveInto(WireTask* task) const;
  // Becomes the user, for good. Gives up all groups and capabilities, and keeps the signal at the parent's death, which
  // the kernel forgets. Errors: kUnavailable.
  Status Become() const;

  // Returns the first capability that this process lacks for MakePlace, Become and ending the processes of other users;
  // "" if it has all.
  static std::string MissingCapability();

 private:
  uid_t user_ = 0;
  std::string closed_;
};

// Gives up all capabilities. Returns 0 or errno.
int DropCapabilities();

}  // namespace mr::task
