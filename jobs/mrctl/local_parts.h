// The parts of a job's output on this machine's disk, printed or merged as one text with one header.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::ctl {

// A file of a local directory that is printed or merged with the others.
struct LocalPartFile {
  std::string path;
  uint64_t begin = 0;  // after a header that is left out
};

// Returns whether the path is a regular file, or a link to one. Reading others, such as a FIFO, may never end.
bool IsRegularFile(const std::string& path);

// Returns the regular files of a directory in order, without names that begin with '_' or '.'. The first one
// that begins with a header keeps it. Errors: kNotFound; of the file system.
Result<std::vector<LocalPartFile>> LocalPartsIn(const std::string& directory);

// Writes a part from its beginning to a descriptor. Errors: of the file system.
Status CopyLocalPart(const LocalPartFile& part, int fd);

// Prints the parts of a directory in order on standard output, a piece at a time. A reader that has read enough, such
// as head, is no error. Errors: of the file system; kCancelled soon after an interrupt.
Status PrintLocalParts(const std::string& directory);

// Writes the local file that a user named, as WriteTarget does (common/io/target_file.h). Errors: those of WriteTarget,
// with advice.
Status WriteWholeFile(const std::string& target, bool overwrite, const std::function<Status(int fd)>& write);
inline constexpr char kReplaceHint[] = "give --overwrite to replace it";

}  // namespace mr::ctl
