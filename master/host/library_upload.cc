#include "master/host/library_upload.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <mutex>

#include "common/io/files.h"
#include "common/io/sha256.h"

namespace mr::master {
namespace {

constexpr const char* kOwners = "/owners";  // in the directory: a file for each library, with the name of its owner

// One piece at a time: one of a repeated upload must not come between the check of the digest and the rename, nor
// between the removal of a file and that of its owner's note.
std::mutex& UploadsMutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

bool LibraryName(const std::string& name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Status StorePiece(const std::string& directory, const LibraryUpload& upload, uint64_t offset, const std::string& data) {
  const std::lock_guard lock(UploadsMutex());
  const std::string temporary = directory + "/" + upload.part;
  MR_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(temporary, O_RDWR | O_CREAT | (offset == 0 ? O_TRUNC : 0), 0644));
  MR_ASSIGN_OR_RETURN(const uint64_t have, FileSize(temporary));
  if (have != offset) return InvalidArgument("the pieces of a library must come in order, from the first on");
  MR_RETURN_IF_ERROR(PwriteAll(fd.get(), data, offset));
  if (offset + data.size() < upload.total) return Status::Ok();
  MR_ASSIGN_OR_RETURN(const std::string digest, Sha256File(temporary));
  if (digest != upload.sha256) {
    (void)RemoveTree(temporary);
    return Corrupted("the uploaded library has SHA-256 " + digest + " instead of " + upload.sha256 + "; send it again");
  }
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, "cannot sync " + temporary);
  const std::string path = directory + "/" + upload.sha256 + ".so";
  if (!upload.owner.empty() && !PathExists(path)) {
    MR_RETURN_IF_ERROR(MakeDirectories(directory + kOwners));
    MR_RETURN_IF_ERROR(WriteFileDurably(directory + kOwners + "/" + upload.sha256, upload.owner + "\n"));
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, "cannot name " + path);
  return SyncDirectory(directory);
}

void RemovePart(const std::string& directory, const std::string& part) {
  const std::lock_guard lock(UploadsMutex());
  (void)RemoveTree(directory + "/" + part);
}

void RemoveLibrary(const std::string& directory, const StoredFile& file) {
  const std::lock_guard lock(UploadsMutex());
  if (!RemoveStored(directory, file) || !file.name.ends_with(".so")) return;
  (void)RemoveTree(directory + kOwners + "/" + file.name.substr(0, 64));
}

Status ReadLibraries(const std::string& directory, Libraries* libraries) {
  MR_RETURN_IF_ERROR(MakeDirectories(directory));
  for (const StoredFile& file : StoredFiles(directory)) {
    if (file.name.ends_with(".part")) (void)RemoveTree(directory + "/" + file.name);
    if (file.name.size() != 67 || !file.name.ends_with(".so")) continue;
    const std::string sha256 = file.name.substr(0, 64);
    std::string owner;
    if (auto noted = ReadFile(directory + kOwners + "/" + sha256); noted.ok()) {
      owner = noted->substr(0, noted->find('\n'));
    }
    libraries->Stored(sha256, owner, file.bytes);
  }
  const auto notes = ListDirectory(directory + kOwners);
  for (const std::string& name : notes.ok() ? *notes : std::vector<std::string>()) {
    if (!libraries->Known(name)) (void)RemoveTree(directory + kOwners + "/" + name);
  }
  return Status::Ok();
}

}  // namespace mr::master
