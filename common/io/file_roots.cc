#include "common/io/file_roots.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>

#include "common/base/text.h"

namespace mr {
namespace {

// Returns the path without links, or "" where it does not exist or cannot be reached.
std::string RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  return real == nullptr ? "" : real.get();
}

bool HasDotDot(std::string_view path) { return path.ends_with("/..") || path.find("/../") != std::string_view::npos; }

}  // namespace

FileRoots FileRoots::Any() {
  FileRoots roots;
  roots.any_ = true;
  return roots;
}

Result<FileRoots> FileRoots::Parse(std::string_view text) {
  if (text == "any") return Any();
  FileRoots roots;
  if (text == "none") return roots;
  for (std::string root : SplitAtCommas(text)) {
    if (!root.starts_with('/') || HasDotDot(root)) {
      return InvalidArgument("--file_roots: '" + root +
                             "' is no absolute directory; give directories separated by commas, 'any' or 'none'");
    }
    while (root.size() > 1 && root.back() == '/') root.pop_back();
    roots.roots_.push_back(std::move(root));
  }
  if (roots.roots_.empty()) return InvalidArgument("--file_roots is empty; give directories, 'any' or 'none'");
  return roots;
}

bool FileRoots::Below(const std::string& real) const {
  for (const std::string& root : roots_) {
    // Each time anew: the root itself may be a link, or be mounted later.
    const std::string there = RealPath(root);
    if (there.empty()) continue;
    if (real == there || there == "/" || real.starts_with(there + "/")) return true;
  }
  return false;
}

Status FileRoots::Check(const std::string& path) const {
  if (any_) return Status::Ok();
  if (!path.starts_with('/') || HasDotDot(path)) return Refused(path);
  // A link that leads nowhere has no real path, and its target could be made later.
  std::string existing = path;
  while (existing != "/" && !PathExists(existing)) existing = ParentOf(existing);
  const std::string real = RealPath(existing);
  return !real.empty() && Below(real) ? Status::Ok() : Refused(path);
}

Status FileRoots::CheckOpen(int fd, const std::string& path) const {
  if (any_) return Status::Ok();
  char real[PATH_MAX];
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), real, sizeof real);
  if (size <= 0 || size == static_cast<ssize_t>(sizeof real)) return Refused(path);
  return Below({real, static_cast<size_t>(size)}) ? Status::Ok() : Refused(path);
}

Result<FileRoots::Pinned> FileRoots::Pin(const std::string& directory) const {
  Pinned pinned;
  pinned.path = directory;
  if (any_) return pinned;
  MR_RETURN_IF_ERROR(Check(directory));
  std::string existing = directory;
  while (existing != "/" && !PathExists(existing)) existing = ParentOf(existing);
  MR_ASSIGN_OR_RETURN(pinned.fd, OpenFile(existing, O_PATH | O_DIRECTORY));
  MR_RETURN_IF_ERROR(CheckOpen(pinned.fd.get(), directory));
  pinned.path =
      "/proc/self/fd/" + std::to_string(pinned.fd.get()) + directory.substr(existing == "/" ? 0 : existing.size());
  return pinned;
}

Status FileRoots::Refused(const std::string& path) const {
  std::string allowed;
  for (const std::string& root : roots_) allowed += (allowed.empty() ? "" : ", ") + root;
  return {Code::kNotAllowed, "file://" + path + " is not in a directory that jobs may use here (--file_roots: " +
                                 (allowed.empty() ? "none" : allowed) +
                                 "); copy the data with mrctl fs put and read dfs:/// paths, or ask an operator to add "
                                 "the directory to --file_roots of the master and of the workers"};
}

}  // namespace mr
