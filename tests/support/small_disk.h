// A disk of a few MiB, to be filled by a test: a tmpfs of its own, seen by this process and its children alone. It
// takes the right to mount (root, or CAP_SYS_ADMIN); where that is missing mounted() is false, and the test skips.
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
  // size: as mount has it, "12m". The directory is made.
  // inodes: how many; 0: as many as usual.
  explicit SmallDisk(const std::string& path, const std::string& size = "12m", int inodes = 0) : path_(path) {
    if (!MakeDirectories(path_).ok()) return;
    // A mount of a test that is killed goes with its processes.
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

  // Takes all room but `leave` bytes, until Free(); false where that cannot be done. Others may write meanwhile.
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
  // Takes all inodes, with names in one directory, until FreeInodes().
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
