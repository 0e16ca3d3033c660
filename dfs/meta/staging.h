// The directory of job outputs before the job commits. The engine creates and removes its content; files that a user
// puts there are lost.
#pragma once

#include <string>
#include <string_view>

namespace mr::dfs {

inline constexpr std::string_view kStaging = "/.staging";

inline bool IsStaging(std::string_view path) {
  return path.starts_with(kStaging) && (path.size() == kStaging.size() || path[kStaging.size()] == '/');
}

}  // namespace mr::dfs
