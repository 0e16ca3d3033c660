// Where outputs of jobs stand until their job commits: the engine makes and removes what is below, and whoever
// wrote there himself would lose it.
#pragma once

#include <string>
#include <string_view>

namespace mr::dfs {

inline constexpr std::string_view kStaging = "/.staging";

inline bool IsStaging(std::string_view path) {
  return path.starts_with(kStaging) && (path.size() == kStaging.size() || path[kStaging.size()] == '/');
}

}  // namespace mr::dfs
