// The local directories whose files jobs may read and write (--file_roots).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"

namespace mr {

// Thread: any; it does not change.
class FileRoots {
 public:
  FileRoots() = default;  // none
  static FileRoots Any();
  // text: "any", "none", or absolute directories separated by commas. Errors: kInvalidArgument.
  static Result<FileRoots> Parse(std::string_view text);

  bool any() const { return any_; }
  // Returns whether the path is below a root, or is one, after the links in the part of it that exists. Errors:
  // kNotAllowed, with the same text whether the path exists or not. Cost: reads links, so it may block.
  Status Check(const std::string& path) const;
  // The same for an open file or directory, by where it is now: no link that is put there later changes the answer.
  // path: as the job names it, for the error.
  Status CheckOpen(int fd, const std::string& path) const;

  // A directory that stays the one that was checked, whatever happens to its name.
  struct Pinned {
    UniqueFd fd;       // none where all files may be used
    std::string path;  // for calls of this process while fd is open: a directory may lie below it that is missing yet
  };
  // Returns the directory, checked as CheckOpen does. What of it does not exist stays a part of `path`.
  Result<Pinned> Pin(const std::string& directory) const;

 private:
  Status Refused(const std::string& path) const;
  bool Below(const std::string& real) const;

  bool any_ = false;
  std::vector<std::string> roots_;  // as given, without a slash at the end
};

}  // namespace mr
