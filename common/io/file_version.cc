#include "common/io/file_version.h"

#include "common/base/digest.h"
#include "common/io/files.h"

namespace mr {

FileVersion VersionOf(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_size), int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec,
          info.st_ino, info.st_dev};
}

uint64_t FileView() {
  static const uint64_t view = []() -> uint64_t {
    const auto boot = ReadFile("/proc/sys/kernel/random/boot_id");
    struct stat mounts;
    if (!boot.ok() || boot->empty() || stat("/proc/self/ns/mnt", &mounts) != 0) return 0;
    const uint64_t hash = Hash64(*boot, mounts.st_ino);
    return hash == 0 ? 1 : hash;
  }();
  return view;
}

FileDifference Compare(const FileVersion& planned, const FileVersion& now, bool same_view) {
  const auto number = [](uint64_t n) { return std::to_string(n); };
  if (now.inode != planned.inode || (same_view && now.device != planned.device)) {
    return {FileChange::kChanged,
            now.inode != planned.inode
                ? "it was replaced (inode " + number(now.inode) + ", planned " + number(planned.inode) + ")"
                : "it was replaced (device " + number(now.device) + ", planned " + number(planned.device) + ")"};
  }
  const std::string length = "(" + number(now.bytes) + " bytes, planned " + number(planned.bytes) + ")";
  if (now.bytes < planned.bytes) return {FileChange::kChanged, "it became shorter " + length};
  if (now.bytes > planned.bytes) return {FileChange::kGrew, "it grew " + length};
  if (now.mtime_ns != planned.mtime_ns) {
    return {FileChange::kChanged, "it was written to (its time of modification changed, its length did not)"};
  }
  return {};
}

}  // namespace mr
