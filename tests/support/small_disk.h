// A disk of a few MiB that a test can fill: a private tmpfs, which only this process and its children see. It requires
// the right to mount (root, or CAP_SYS_ADMIN). Without it mounted() is false, and the test should skip.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <string>

#include "common/io/files.h"

namespace mr::test {

class SmallDisk {
 public:
  // Makes the directory `path` and mounts the disk there. size: in mount's notation, such as "12m". inodes: their
  // number; 0: tmpfs's default.
  explicit SmallDisk(const std::string& path, const std::string& size = "12m", int inodes = 0) : path_(path) {
    if (!MakeDirectories(path_).ok()) return;
    // In a mount namespace of its own, so that the mount ends with the processes of a killed test.
    static const bool is_private =
        ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    const std::string options = "size=" + size + (inodes > 0 ? ",nr_inodes=" + std::to_string(inodes) : "");
    mounted_ = is_private && ::mount("small_disk", path_.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  const std::string& path() const { return path_; }

  // Fills the disk up to `leave` free bytes, until Free(). Other processes may write meanwhile. Returns false on
  // errors.
  bool Fill(uint64_t leave) {
    const UniqueFd fd(::open((path_ + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!fd.valid()) return false;
    for (off_t filled = 0;;) {
      struct statvfs fs {};
      if (::statvfs(path_.c_str(), &fs) != 0) return false;
      const uint64_t free = uint64_t{fs.f_bavail} * fs.f_frsize;
      if (free <= leave) return true;
      const auto more = static_cast<off_t>(free - leave);
      const int error = ::posix_fallocate(fd.get(), filled, more);
      if (error == 0) {
        filled += more;
      } else if (error != ENOSPC) {  // ENOSPC: the room was taken since it was counted
        return false;
      }
    }
  }
  // Uses up all inodes, by files in one directory, until FreeInodes().
  void FillInodes() {
    (void)MakeDirectories(path_ + "/inodes");
    for (int i = 0;
         UniqueFd(::open((path_ + "/inodes/" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600))
             .valid();
         ++i) {
    }
  }
  void FreeInodes() { (void)RemoveTree(path_ + "/inodes"); }
  void Free() { (void)::unlink((path_ + "/filler").c_str()); }

 private:
  const std::string path_;
  bool mounted_ = false;
};

}  // namespace mr::test
