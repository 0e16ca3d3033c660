#include "common/io/free_space.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

namespace mr {
namespace {

constexpr uint64_t kMostKept = 10ull << 30;
constexpr uint64_t kKeptPart = 20;    // 1/20 of a disk: 5 %
constexpr uint64_t kMarginPart = 10;  // 1/10 of the kept bytes

}  // namespace

Result<Space> SpaceOf(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0)
    return ErrnoStatus(errno, "cannot read the free space of the disk of " + path);
  const uint64_t unit = info.f_frsize;
  return Space{info.f_bavail * unit, info.f_blocks * unit, info.f_favail, info.f_files};
}

uint64_t FreeSpaceGate::Keep(const Space& space) const {
  return keep_.value_or(std::min(space.total_bytes / kKeptPart, kMostKept));
}

bool FreeSpaceGate::HasRoom(const Space& space) {
  const uint64_t keep = Keep(space);
  if (keep == 0) return room_ = true;
  return room_ = !space.no_inodes() && space.free_bytes >= keep + (room_ ? 0 : keep / kMarginPart);
}

}  // namespace mr
