#include "common/io/input_files.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "common/base/file_format.h"
#include "common/base/text.h"
#include "common/io/files.h"

namespace mr {
namespace {

constexpr std::string_view kFileScheme = "file://";

Status Missing(const std::string& path) {
  if (PathExists(path)) return NotFound("input " + path + " is a link to something that does not exist");
  const std::string parent = ParentOf(path);
  const auto names = ListDirectory(parent);
  if (!names.ok()) return NotFound("input " + path + " does not exist (and " + parent + " cannot be listed)");
  const std::vector<std::string_view> views(names->begin(), names->end());
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string near = Nearest(name, views);
  return NotFound("input " + path + " does not exist" +
                  (near.empty() ? "" : "; the nearest name there is " + (parent == "/" ? "" : parent) + "/" + near));
}

// Returns the error for an input that the master itself may not read or enter. Workers read it as their own user.
Status Unreadable(const std::string& path, int error) {
  Status status = ErrnoStatus(error, "input " + path + " cannot be read");
  if (status.code() != Code::kNotAllowed) return status;
  return {status.code(), status.message() + ": let the user of the master (uid " + std::to_string(geteuid()) +
                             ") and the users of the workers read it and enter the directories above it"};
}

// Returns the error for a glob without a match, which shows whether its directory exists at all.
Status NoMatch(const std::string& pattern) {
  const std::string directory = ParentOf(pattern.substr(0, pattern.find_first_of("*?[")) + "x");
  const std::string text = "no input matches " + pattern + ": ";
  const auto names = ListDirectory(directory);
  if (!names.ok() && names.status().code() == Code::kNotAllowed) return Unreadable(directory, EACCES);
  if (!names.ok()) return NotFound(text + "there is no directory " + directory);
  return NotFound(text + "of the " + std::to_string(names->size()) + " names in " + directory +
                  " none leads to a match (names that begin with '_' or '.' are skipped)");
}

Status AddFile(const std::string& path, const struct stat& info, const FileRoots& roots, std::vector<InputFile>* out) {
  MR_RETURN_IF_ERROR(roots.Check(path));  // it may be a link
  if (access(path.c_str(), R_OK) != 0) return Unreadable(path, errno);
  out->push_back({std::string(kFileScheme) + path, static_cast<uint64_t>(info.st_size), 0, VersionOf(info)});
  return Status::Ok();
}

// Adds the files of a path, also those in subdirectories, like reads of the block store. below: the path was found in a
// directory.
Status AddPath(const std::string& path, bool below, const FileRoots& roots, std::vector<InputFile>* out) {
  struct stat info, link;
  if (stat(path.c_str(), &info) != 0 || lstat(path.c_str(), &link) != 0) {
    return errno == ENOENT ? Missing(path) : Unreadable(path, errno);
  }
  if (S_ISREG(info.st_mode)) return AddFile(path, info, roots, out);
  if (!S_ISDIR(info.st_mode)) return InvalidArgument("input " + path + " is neither a file nor a directory");
  // The link may lead back up, and then the walk would not end.
  if (below && S_ISLNK(link.st_mode)) {
    return InvalidArgument("input " + path + " is a link to a directory; give that directory as an --input of its own");
  }
  const auto names = ListDirectory(path);
  if (!names.ok() && names.status().code() == Code::kNotAllowed) return Unreadable(path, EACCES);
  if (!names.ok()) return names.status();
  for (const auto& name : *names) {
    if (name[0] == '_' || name[0] == '.') continue;
    MR_RETURN_IF_ERROR(AddPath(path + (path.ends_with('/') ? "" : "/") + name, true, roots, out));
  }
  return Status::Ok();
}

}  // namespace

Status CheckContainerOf(const InputFile& file, std::string_view format) {
  const auto parsed = ParseInputFormat(format);
  if (!parsed.ok() || parsed->kind == FileFormat::Kind::kRaw) return Status::Ok();
  if (!file.head.empty()) return CheckContainer(file.head, file.uri, *parsed);
  if (!file.uri.starts_with(kFileScheme)) return Status::Ok();
  const auto fd = OpenFile(file.uri.substr(kFileScheme.size()), O_RDONLY | O_CLOEXEC);
  if (!fd.ok()) return Status::Ok();
  char head[kContainerHeadBytes];
  const auto got = PreadUpTo(fd->get(), head, sizeof head, 0);
  return got.ok() ? CheckContainer({head, *got}, file.uri, *parsed) : Status::Ok();
}

Result<std::vector<InputFile>> ExpandFileUri(const std::string& uri, const FileRoots& roots) {
  const std::string path = uri.substr(kFileScheme.size());
  std::vector<InputFile> files;
  // Before anything is looked up: errors show names in directories.
  const size_t wild = path.find_first_of("*?[");
  MR_RETURN_IF_ERROR(roots.Check(wild == std::string::npos ? path : ParentOf(path.substr(0, wild) + "x")));
  // A name that exists is no glob, even with '*' in it.
  if (wild == std::string::npos || PathExists(path)) {
    MR_RETURN_IF_ERROR(AddPath(path, false, roots, &files));
    return files;
  }
  glob_t found{};
  const int error = glob(path.c_str(), 0, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (error != 0 && error != GLOB_NOMATCH) return Internal("cannot expand " + path);
  for (const auto& match : paths) {
    const char first = match[match.rfind('/') + 1];
    if (first == '_' || first == '.') continue;
    MR_RETURN_IF_ERROR(roots.Check(match));
    MR_RETURN_IF_ERROR(AddPath(match, false, roots, &files));
  }
  if (files.empty()) return NoMatch(path);
  return files;
}

InputSize SizeOf(const std::vector<InputFile>& files) {
  InputSize size;
  for (const InputFile& file : files) {
    size.bytes += file.bytes;
    if (CompressionOfName(file.uri) != Compression::kNone) size.compressed += file.bytes;
  }
  return size;
}

}  // namespace mr
