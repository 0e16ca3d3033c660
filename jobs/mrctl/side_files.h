// Files that a job brings beside its library (submit --files PATH[#NAME]): looked for, measured and named
// before anything is started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::ctl {

// What a master takes, of libraries too.
inline constexpr uint64_t kMaxSideFileBytes = 1ull << 30;
inline constexpr size_t kMaxSideFiles = 100;

struct SideFile {
  std::string path;  // absolute
  std::string name;  // as operators ask for it
  uint64_t bytes = 0;
  std::string sha256;  // empty before DigestSideFiles
};

// The words of --files, looked up from directory `cwd`. What stands behind the last # is the name, unless a file with
// the # in its path is there; without one the name is the path's last part. kNotFound: it is not there;
// kInvalidArgument: no regular file, a name that is none or is given twice, too large, too many.
Result<std::vector<SideFile>> ParseSideFiles(const std::vector<std::string>& words, const std::string& cwd);

// Reads them all.
Status DigestSideFiles(std::vector<SideFile>* files);

}  // namespace mr::ctl
