#include "worker/daemon/side_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "common/io/files.h"

namespace mr::worker {
namespace {

// Runs on the pool. Another attempt may have made the link before.
Status LinkFile(const std::string& cached, const std::string& path) {
  if (::chmod(cached.c_str(), 0555) != 0) return ErrnoStatus(errno, "cannot make " + cached + " read-only");
  const std::string target = std::filesystem::absolute(cached).string();
  if (::symlink(target.c_str(), path.c_str()) == 0 || errno == EEXIST) return Status::Ok();
  return ErrnoStatus(errno, "cannot make " + path);
}

}  // namespace

SideFiles::SideFiles(PostToPool post, LibraryCache& cache, const std::string& directory)
    : post_(std::move(post)), cache_(cache), directory_(std::filesystem::absolute(directory).string()) {}

kj::Promise<Result<std::string>> SideFiles::Directory(JobId id, const std::vector<SideFile>& files) {
  if (files.empty()) return Result<std::string>("");
  std::string path = directory_ + "/" + Name(id);
  OfJob& job = jobs_[id];
  job.ended = false;
  if (job.ready) return Result<std::string>(std::move(path));
  ++job.linking;
  return OnPool(post_, [path] { return MakeDirectories(path); })
      .then([this, path, files](Status made) -> kj::Promise<Status> {
        if (!made.ok()) return made;
        return Link(path, files, 0);
      })
      .then([this, path, id](Status linked) -> Result<std::string> {
        if (!linked.ok()) return linked;
        jobs_.at(id).ready = true;
        return path;
      })
      .attach(kj::defer([this, id] { Linked(id); }));  // also if the waiting attempt is dropped
}

kj::Promise<Status> SideFiles::Link(std::string directory, std::vector<SideFile> files, size_t next) {
  if (next == files.size()) return Status::Ok();
  const SideFile& file = files[next];
  return cache_.Path(file.sha256)
      .then([this, directory, name = file.name](Result<std::string> cached) -> kj::Promise<Status> {
        if (!cached.ok()) return cached.status().With("side file " + name);
        return OnPool(post_, [cached = *cached, path = directory + "/" + name] { return LinkFile(cached, path); });
      })
      .then([this, directory, files = std::move(files), next](Status linked) mutable -> kj::Promise<Status> {
        if (!linked.ok()) return linked;
        return Link(std::move(directory), std::move(files), next + 1);
      });
}

void SideFiles::Linked(JobId id) {
  OfJob& job = jobs_.at(id);
  if (--job.linking == 0 && job.ended) Remove(id);
}

void SideFiles::EndJob(JobId id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  it->second.ended = true;
  if (it->second.linking == 0) Remove(id);
}

void SideFiles::Remove(JobId id) {
  jobs_.erase(id);
  post_([path = directory_ + "/" + Name(id)] { (void)RemoveTree(path); });
}

}  // namespace mr::worker
