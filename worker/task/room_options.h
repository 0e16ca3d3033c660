// How a worker wants the rooms of its tasks (room.h). The daemon gives it to the helper as words of its command line.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::task {

inline constexpr int kBestTier = -1, kHighestTier = 1;

struct RoomPath {
  std::string path;
  bool write = false;
};

struct RoomOptions {
  int tier = kBestTier;
  // Tasks have the rights of the worker's user: no rules about files, and capabilities stay. For clusters of one user.
  bool own_rights = false;
  std::vector<RoomPath> paths;  // in addition to the system's, for tier 1

  // The helper's command line has them as words: TIER, own or less, then r:PATH or w:PATH.
  std::vector<std::string> ToWords() const;
  // Errors: kInvalidArgument.
  static Result<RoomOptions> FromWords(const std::vector<std::string>& words);
};

}  // namespace mr::task
