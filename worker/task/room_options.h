// How a worker wants the rooms of its tasks (room.h). The daemon gives it to the helper as words of its command line.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::task {

inline constexpr int kBestTier = -1, kHighestTier = 3;

struct RoomPath {
  std::string path;
  bool write = false;
};

struct RoomOptions {
  int tier = kBestTier;
  // Tasks have the rights of the worker's user: no rules about files, and capabilities stay. For clusters of one user.
  bool own_rights = false;
  std::vector<RoomPath> paths;  // in addition to the system's, for tier 1

  // A user that tasks may have, and the directory of all scratch directories, which it must be able to enter: for the
  // trial of tier 2 and above. 0: tasks have no users of their own, so that tier 1 is the best.
  uint32_t trial_user = 0;
  std::string scratch;

  // The helper's command line has them as words: TIER, own or less, then u:USER, s:SCRATCH, r:PATH or w:PATH.
  std::vector<std::string> ToWords() const;
  // Errors: kInvalidArgument.
  static Result<RoomOptions> FromWords(const std::vector<std::string>& words);
};

}  // namespace mr::task
