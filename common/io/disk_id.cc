#include "common/io/disk_id.h"

#include <sys/stat.h>
#include <sys/statfs.h>

#include <cstring>

#include "common/base/digest.h"
#include "common/io/files.h"

namespace mr {

uint64_t DiskId(const std::string& path) {
  // Containers of one machine share its boot id, but not its host name.
  static const std::string boot = [] {
    auto id = ReadFile("/proc/sys/kernel/random/boot_id");
    return id.ok() ? *std::move(id) : "";
  }();
  struct statfs fs {};
  struct stat info {};
  if (boot.empty() || ::statfs(path.c_str(), &fs) != 0 || ::stat(path.c_str(), &info) != 0) return 0;
  // An overlay has a device of its own, but the id of the file system below it.
  uint64_t id = 0;
  static_assert(sizeof fs.f_fsid <= sizeof id);
  std::memcpy(&id, &fs.f_fsid, sizeof fs.f_fsid);
  if (id == 0) id = info.st_dev;
  const uint64_t hash = Hash64(boot, id);
  return hash == 0 ? 1 : hash;
}

}  // namespace mr
