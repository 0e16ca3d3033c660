#include "common/io/attempt_log.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>

#include "common/io/files.h"

namespace mr {

std::string FindLog(const std::string& directory, AttemptId attempt) {
  // Twice: a log may be renamed between two looks.
  for (int look = 0; look < 2; ++look) {
    for (const TaskLetter letter : {TaskLetter::kMap, TaskLetter::kReduce}) {
      std::string path = directory + "/" + Name(attempt, letter);
      if (PathExists(path)) return path;
      path += kFailedLog;
      if (PathExists(path)) return path;
    }
  }
  return "";
}

std::optional<AttemptId> AttemptOfLog(const std::string& name, bool* failed) {
  *failed = name.ends_with(kFailedLog);
  return ParseAttemptId(name.substr(0, name.size() - (*failed ? kFailedLog.size() : 0)));
}

void MarkLogFailed(const std::string& directory, const std::string& attempt) {
  const std::string path = directory + "/" + attempt;
  (void)::rename(path.c_str(), (path + std::string(kFailedLog)).c_str());
}

Result<LogPiece> ReadLog(const std::string& directory, AttemptId attempt, uint64_t from) {
  const std::string path = FindLog(directory, attempt);
  if (path.empty()) return NotFound("there is no log of " + Name(attempt, TaskLetter::kMap));
  MR_ASSIGN_OR_RETURN(const uint64_t size, FileSize(path));
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  LogPiece piece;
  piece.start = from != kLogEnd ? std::min(from, size) : size > kLogPieceBytes ? size - kLogPieceBytes : 0;
  piece.text.resize(std::min(size - piece.start, kLogPieceBytes));
  MR_ASSIGN_OR_RETURN(const size_t n, PreadUpTo(fd.get(), piece.text.data(), piece.text.size(), piece.start));
  piece.text.resize(n);
  return piece;
}

std::vector<StoredFile> SurplusLogs(std::vector<StoredFile> files, const RetentionLimits& limits, int64_t now_ms,
                                    const std::function<bool(const std::string&)>& in_use, Duration grace,
                                    const GroupLimit& groups) {
  return SurplusOfGroups(std::move(files), limits, groups, now_ms, in_use, grace,
                         [](const std::string& name) { return name.ends_with(kFailedLog); });
}

}  // namespace mr
