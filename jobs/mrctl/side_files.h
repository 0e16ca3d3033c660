// Side files of a job (submit --files PATH[#NAME]). They are found, measured and named before anything is started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::ctl {

// The master's limit, which libraries have, too.
inline constexpr uint64_t kMaxSideFileBytes = 1ull << 30;
inline constexpr size_t kMaxSideFiles = 100;

struct SideFile {
  std::string path;  // absolute
  std::string name;  // used by operators
  uint64_t bytes = 0;
  std::string sha256;  // empty before DigestSideFiles
};

// Parses the words of --files, with paths relative to `cwd`. The name follows the last #, unless a file with that # in
// its path exists; by default it is the last part of the path. Errors: kNotFound; kInvalidArgument for anything but a
// regular file, an invalid or repeated name, a file that is too large, or too many files.
Result<std::vector<SideFile>> ParseSideFiles(const std::vector<std::string>& words, const std::string& cwd);

// Computes the SHA-256 of each file.
Status DigestSideFiles(std::vector<SideFile>* files);

}  // namespace mr::ctl
