#include "master/host/library_upload.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <mutex>

#include "common/io/files.h"
#include "common/io/sha256.h"

namespace mr::master {

bool LibraryName(const std::string& name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Status StorePiece(const std::string& directory, const std::string& part, const std::string& sha256, uint64_t total,
                  uint64_t offset, const std::string& data) {
  // One at a time: a piece of a repeated upload must not come between the check of the digest and the rename.
  static std::mutex uploads;
  const std::lock_guard lock(uploads);
  const std::string temporary = directory + "/" + part;
  MR_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(temporary, O_RDWR | O_CREAT | (offset == 0 ? O_TRUNC : 0), 0644));
  MR_ASSIGN_OR_RETURN(const uint64_t have, FileSize(temporary));
  if (have != offset) return InvalidArgument("the pieces of a library must come in order, from the first on");
  MR_RETURN_IF_ERROR(PwriteAll(fd.get(), data, offset));
  if (offset + data.size() < total) return Status::Ok();
  MR_ASSIGN_OR_RETURN(const std::string digest, Sha256File(temporary));
  if (digest != sha256) {
    (void)RemoveTree(temporary);
    return Corrupted("the uploaded library has SHA-256 " + digest + " instead of " + sha256 + "; send it again");
  }
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, "cannot sync " + temporary);
  const std::string path = directory + "/" + sha256 + ".so";
  if (rename(temporary.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, "cannot name " + path);
  return SyncDirectory(directory);
}

}  // namespace mr::master
