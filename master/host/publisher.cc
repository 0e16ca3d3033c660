#include "master/host/publisher.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/base/text.h"
#include "common/io/files.h"

namespace mr::master {
namespace {

std::string PathOf(const std::string& uri) { return uri.substr(std::string("file://").size()); }

std::string Hidden(const std::string& path, const std::string& job, uint64_t cluster_id, const char* suffix) {
  const size_t slash = path.rfind('/');
  char cluster[20];
  std::snprintf(cluster, sizeof cluster, ".%016llx", static_cast<unsigned long long>(cluster_id));
  return path.substr(0, slash + 1) + "." + path.substr(slash + 1) + "." + job + cluster + suffix;
}

// Whether `directory` already holds this job's finished output.
bool IsPublished(const std::string& directory, const PublishRequest& request) {
  const auto text = ReadFile(directory + "/_SUCCESS");
  return text.ok() && *text == SuccessDocument(request.job, request.header, request.parts);
}

// Whether `made` holds all that becomes the output. The moves of the parts and the document are synced together, so
// after a crash of the machine the document may be there without a part.
bool IsMade(const std::string& made, const PublishRequest& request) {
  return IsPublished(made, request) && std::all_of(request.parts.begin(), request.parts.end(), [&](const auto& part) {
           return PathExists(made + "/" + part.name);
         });
}

// Makes the document and the entries of `made` durable.
Status Sync(const std::string& made) {
  MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(made + "/_SUCCESS", O_RDONLY | O_NOFOLLOW));
  if (fsync(file.get()) != 0) return ErrnoStatus(errno, "cannot sync " + made + "/_SUCCESS");
  return SyncDirectory(made);
}

// Writes the document that says that the output is complete, and makes it and all moves into `made` durable. A document
// that a crash has cut is not what IsPublished compares with.
Status Complete(const std::string& made, const PublishRequest& request) {
  MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(made + "/_SUCCESS", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW));
  MR_RETURN_IF_ERROR(WriteAll(file.get(), SuccessDocument(request.job, request.header, request.parts)));
  return Sync(made);
}

// A worker says where its part is, and under which name. Of all files that the master may move these are those of this
// job's attempts; else a damaged report would take somebody's files, or put this one among them.
Status CheckPart(const FileOutput& part, const std::string& staging) {
  const std::string& name = part.name;
  const bool named = !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
  if (named && part.staged.starts_with(staging + "/") && part.staged.find("/../") == std::string::npos) {
    return Status::Ok();
  }
  return Rejected("its worker reported a part '" + name + "' at '" + part.staged +
                  "', where no attempt of this job writes");
}

Status MovePart(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return Status::Ok();
  const int error = errno;
  // Moved by an earlier, interrupted run.
  if (error == ENOENT && PathExists(to)) return Status::Ok();
  return ErrnoStatus(error, "cannot move " + from + " to " + to);
}

// Takes old's place; what was there is at `aside` afterwards (or is gone with it already).
Status Swap(const std::string& made, const std::string& old, const std::string& aside) {
  if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, old.c_str(), RENAME_EXCHANGE) == 0) {
    if (rename(made.c_str(), aside.c_str()) != 0) return ErrnoStatus(errno, "cannot move " + made);
    return Status::Ok();
  }
  if (errno != ENOENT && errno != EINVAL && errno != ENOSYS) {
    return ErrnoStatus(errno, "cannot swap " + made + " with " + old);
  }
  // Nothing there, or a file system without exchange: two renames, with a moment between.
  if (rename(old.c_str(), aside.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, "cannot move " + old + " aside");
  }
  if (rename(made.c_str(), old.c_str()) != 0) return ErrnoStatus(errno, "cannot move " + made + " to " + old);
  return Status::Ok();
}

// Takes the place of nothing, or of an empty directory.
Status Place(const std::string& made, const std::string& output) {
  if (rename(made.c_str(), output.c_str()) == 0) return Status::Ok();
  if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) {
    return ErrnoStatus(errno, "cannot move " + made + " to " + output);
  }
  return Rejected("somebody else has put files at " + output +
                  " since the job was accepted; they were left as they are");
}

}  // namespace

std::string StagingUri(const std::string& output_uri, const std::string& job, uint64_t cluster_id) {
  return "file://" + Hidden(PathOf(output_uri), job, cluster_id, ".staging");
}

// output: the path of the output in the pinned directory above it.
static Status PublishAt(const std::string& output, const PublishRequest& request) {
  const auto hidden = [&](const char* suffix) { return Hidden(output, request.job, request.cluster_id, suffix); };
  const std::string made = hidden(".new"), aside = hidden(".old");
  if (!IsPublished(output, request)) {
    if (!IsMade(made, request)) {
      const std::string staging = PathOf(StagingUri(request.output_uri, request.job, request.cluster_id));
      for (const FileOutput& part : request.parts) MR_RETURN_IF_ERROR(CheckPart(part, staging));
      // Where somebody put a file in the way, or took a right away, another try finds the same.
      if (const Status status = MakeDirectories(made); !status.ok()) {
        return status.code() == Code::kOverloaded ? status : Rejected(status.message());
      }
      for (const FileOutput& part : request.parts) {
        const std::string from = hidden(".staging") + part.staged.substr(staging.size());
        MR_RETURN_IF_ERROR(MovePart(from, made + "/" + part.name));
      }
      MR_RETURN_IF_ERROR(Complete(made, request));
    } else {
      // A master that died before its syncs has left it: what can be read need not be on the disk.
      MR_RETURN_IF_ERROR(Sync(made));
    }
    MR_RETURN_IF_ERROR(request.overwrite ? Swap(made, output, aside) : Place(made, output));
    MR_RETURN_IF_ERROR(SyncDirectory(ParentOf(output)));
  }
  return request.overwrite ? RemoveTree(aside) : Status::Ok();
}

Status PublishFiles(const PublishRequest& request) {
  const std::string output = PathOf(request.output_uri);
  // The directory above stays the one that is checked here: a link that takes its place later leads nowhere.
  const std::string above = ParentOf(output);
  MR_ASSIGN_OR_RETURN(const FileRoots::Pinned pinned, request.roots.Pin(above));
  Status status = PublishAt(pinned.path + "/" + output.substr(output.rfind('/') + 1), request);
  if (status.ok() || pinned.path == above) return status;
  std::string message = status.message();
  for (size_t at = 0; (at = message.find(pinned.path, at)) != std::string::npos; at += above.size()) {
    message.replace(at, pinned.path.size(), above);
  }
  return {status.code(), std::move(message)};
}

Status RemoveStaging(const std::string& output_uri, const std::string& job, uint64_t cluster_id) {
  MR_RETURN_IF_ERROR(RemoveTree(Hidden(PathOf(output_uri), job, cluster_id, ".new")));
  return RemoveTree(PathOf(StagingUri(output_uri, job, cluster_id)));
}

}  // namespace mr::master
