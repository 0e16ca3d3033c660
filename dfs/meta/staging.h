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

// Returns "/.staging/JOB/ATTEMPT" of a path that is below it or is it; "" for every other path.
inline std::string AttemptDirectory(std::string_view path) {
  if (!IsStaging(path) || path.size() == kStaging.size()) return "";
  const size_t job_end = path.find('/', kStaging.size() + 1);
  if (job_end == std::string_view::npos) return "";
  return std::string(path.substr(0, path.find('/', job_end + 1)));
}

}  // namespace mr::dfs
