#include "common/io/daemon_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/io/files.h"

namespace mr {
namespace {

bool Holds(const std::string& directory, const char* name) {
  return access((directory + "/" + name).c_str(), F_OK) == 0;
}

bool IsEmpty(const std::string& directory) {
  const auto names = ListDirectory(directory);
  return names.ok() && names->empty();
}

Status Mixed(const std::string& directory, const std::string& holds, const std::string& needs) {
  return Rejected("--data " + directory + " is " + holds + ": " + needs + " needs a directory of its own");
}

}  // namespace

Status CheckMasterData(const std::string& directory) {
  if (Holds(directory, "journal") || !Holds(directory, "worker_id")) return Status::Ok();
  return Mixed(directory, "the data of a worker", "a master");
}

Status CheckWorkerData(const std::string& directory) {
  if (Holds(directory, "worker_id") || !Holds(directory, "journal")) return Status::Ok();
  return Mixed(directory, "the data of a master", "a worker");
}

bool MakePrivateData(const std::string& directory) {
  constexpr mode_t kClosed = 0700, kOthers = 077, kPass = 011;
  if (mkdir(directory.c_str(), kClosed) == 0 || errno != EEXIST) return false;
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const UniqueFd closer(fd);
  struct stat info;
  if (fstat(fd, &info) != 0 || info.st_uid != geteuid()) return false;
  const mode_t others = info.st_mode & kOthers;
  // Not a directory that was named by mistake, such as /tmp or a home directory.
  const bool ours = IsEmpty(directory) || Holds(directory, "journal") || Holds(directory, "worker_id") ||
                    Holds(directory, "credentials");
  if (others == 0 || others == kPass || (info.st_mode & S_ISVTX) != 0 || !ours) return false;
  return fchmod(fd, kClosed) == 0;
}

}  // namespace mr
