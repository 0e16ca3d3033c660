#include "worker/daemon/private_data.h"

#include <sys/stat.h>

#include <cerrno>

#include "common/io/files.h"

namespace mr::worker {

Status CloseToTaskUsers(const std::string& data) {
  constexpr mode_t kPass = 0711, kClosed = 0700, kClosedFile = 0600;
  MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(data));
  for (const std::string& name : names) {
    const std::string path = data + "/" + name;
    struct stat info;
    if (lstat(path.c_str(), &info) != 0 || (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))) continue;
    const mode_t mode = name == "scratch" ? kPass : S_ISDIR(info.st_mode) ? kClosed : kClosedFile;
    if (chmod(path.c_str(), mode) != 0) return ErrnoStatus(errno, "cannot change the mode of " + path);
  }
  if (chmod(data.c_str(), kPass) != 0) return ErrnoStatus(errno, "cannot change the mode of " + data);
  return {};
}

}  // namespace mr::worker
