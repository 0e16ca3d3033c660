// The directory of job outputs before the job commits. The engine creates and removes its content; files that a user
// puts there are lost.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/ids.h"

namespace mr::dfs {

inline constexpr std::string_view kStaging = "/.staging";

inline bool IsStaging(std::string_view path) {
  return path.starts_with(kStaging) && (path.size() == kStaging.size() || path[kStaging.size()] == '/');
}

// Returns the attempt of a path that is "/.staging/JOB/ATTEMPT" or is below it; nothing for every other path, and where
// the names are not exactly those of a job and of an attempt of this job.
inline std::optional<AttemptId> AttemptOf(std::string_view path) {
  if (!IsStaging(path) || path.size() == kStaging.size()) return std::nullopt;
  const std::string_view below = path.substr(kStaging.size() + 1);
  const size_t job_end = below.find('/');
  if (job_end == std::string_view::npos) return std::nullopt;
  std::string_view name = below.substr(job_end + 1);
  name = name.substr(0, name.find('/'));
  const std::optional<AttemptId> attempt = ParseAttemptId(name);
  if (!attempt || Name(attempt->task.job) != below.substr(0, job_end)) return std::nullopt;
  // Numbers have one form.
  const bool exact = Name(*attempt, TaskLetter::kMap) == name || Name(*attempt, TaskLetter::kReduce) == name;
  return exact ? attempt : std::nullopt;
}

}  // namespace mr::dfs
