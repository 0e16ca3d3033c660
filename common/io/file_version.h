// Identifies the version of a file by its stat() values, and determines where they can be compared.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace mr {

// Values of stat(). device: comparable only where the same file systems are mounted (FileView). The inode is compared
// on every machine: a network file system shows the same one everywhere. A copy of the file on another machine's own
// disk is another version, even where its bytes are equal.
struct FileVersion {
  uint64_t bytes = 0;
  int64_t mtime_ns = 0;  // since 1970
  uint64_t inode = 0, device = 0;
  bool operator==(const FileVersion&) const = default;
};
FileVersion VersionOf(const struct stat& info);

// Returns a number that identifies the file systems that this process sees. It is equal on one machine, since its last
// boot, in one mount namespace. 0 = not known. Reads /proc at the first call. Thread: any.
uint64_t FileView();

enum class FileChange : uint8_t {
  kNone,
  kGrew,     // the same file, longer
  kChanged,  // anything else
};
struct FileDifference {
  FileChange change = FileChange::kNone;
  std::string text;  // "it was replaced (inode 5, planned 4)"; empty: none
};
// Compares two versions of a file. same_view: both were taken in one FileView, so that devices can be compared, too.
FileDifference Compare(const FileVersion& planned, const FileVersion& now, bool same_view);

}  // namespace mr
