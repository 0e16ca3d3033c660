// Files with the logs of attempts, in one directory: named after the attempt, with ".failed" behind if it failed. The
// name outlives the process that wrote the log, and says which logs to keep longest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/io/retention.h"

namespace mr {

inline constexpr std::string_view kFailedLog = ".failed";
// Most bytes of a log in one answer: far below the 1 MiB of a control message.
inline constexpr uint64_t kLogPieceBytes = 256 << 10;
// Instead of a place in a log: the last kLogPieceBytes.
inline constexpr uint64_t kLogEnd = UINT64_MAX;

// Returns the path of the attempt's log, or "" if there is none. Blocks.
std::string FindLog(const std::string& directory, AttemptId attempt);
// Returns the attempt whose log has this name; nothing for other names. failed: set to whether it failed.
std::optional<AttemptId> AttemptOfLog(const std::string& name, bool* failed);
// Renames the log of an attempt that has failed. No effect if there is none. Blocks.
void MarkLogFailed(const std::string& directory, const std::string& attempt);

struct LogPiece {
  std::string text;
  uint64_t start = 0;  // place of the text's first byte in the log
  bool ended = false;  // nothing is added to the log any more
};
// Returns the log from byte `from` on, or its end (kLogEnd); at most kLogPieceBytes. Empty at or behind its end.
// Errors: kNotFound; those of the file system. Blocks.
Result<LogPiece> ReadLog(const std::string& directory, AttemptId attempt, uint64_t from);

// Returns the logs to remove, as SurplusOfGroups does. Within a size, logs of failed attempts go only after all others.
std::vector<StoredFile> SurplusLogs(std::vector<StoredFile> files, const RetentionLimits& limits, int64_t now_ms,
                                    const std::function<bool(const std::string&)>& in_use, Duration grace,
                                    const GroupLimit& groups = {});

}  // namespace mr
