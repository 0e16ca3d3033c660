// Keeps the files of a directory within limits of total size and age: the oldest files are removed first.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/time.h"

namespace mr {

struct StoredFile {
  std::string name;  // without its directory
  uint64_t bytes = 0;
  int64_t modified_ms = 0;  // since 1970
};

struct RetentionLimits {
  uint64_t bytes = 0;  // over all files
  Duration age;        // since the last change of a file
};

// A file that changed within this time is never removed: its writer may be about to use it.
inline constexpr Duration kRetentionGrace = Seconds(600);
// An unfinished upload or download ("....part") is removed when nothing was added to it for this time.
inline constexpr Duration kPartAge = Seconds(3600);

// Returns the files to remove at now_ms, oldest first: those beyond the age, and then the oldest ones until the rest
// fits. in_use: files that must stay; they count for the size. last: files that go for the size only after all others;
// may be empty. Pure. Cost: n log n.
std::vector<StoredFile> Surplus(std::vector<StoredFile> files, const RetentionLimits& limits, int64_t now_ms,
                                const std::function<bool(const std::string&)>& in_use, Duration grace = kRetentionGrace,
                                const std::function<bool(const std::string&)>& last = nullptr);

// A limit for the files of each group, besides those for all files.
struct GroupLimit {
  uint64_t bytes = 0;  // 0: no limit
  // Returns the group of a file, by its name; "" for a file of none, which has no limit.
  std::function<std::string(const std::string&)> group_of;
  uint64_t least_file_bytes = 0;  // a file counts for at least so many bytes of its group
};
// Returns the files to remove: within each group as Surplus does with the limit of the groups, so that no group costs
// another one a file; then those that Surplus returns for the rest. Pure. Cost: n log n.
std::vector<StoredFile> SurplusOfGroups(std::vector<StoredFile> files, const RetentionLimits& limits,
                                        const GroupLimit& groups, int64_t now_ms,
                                        const std::function<bool(const std::string&)>& in_use,
                                        Duration grace = kRetentionGrace,
                                        const std::function<bool(const std::string&)>& last = nullptr);

// Returns the regular files of a directory. Skips files that disappear meanwhile; an unreadable directory has none.
// Blocks.
std::vector<StoredFile> StoredFiles(const std::string& directory);

// Removes the file unless it has changed since it was listed. Returns whether it is gone. Blocks.
bool RemoveStored(const std::string& directory, const StoredFile& file);

// Sets the file's modification time to now, so that it counts as the newest. Blocks.
void TouchFile(const std::string& path);

}  // namespace mr
