#include "jobs/mrctl/fs_glob.h"

#include <fnmatch.h>

#include <algorithm>

#include "common/base/text.h"
#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {
namespace {

std::string EntryName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns the names of a path: {"data", "part-*"} for "/data/part-*".
std::vector<std::string> NamesOf(const std::string& path) {
  std::vector<std::string> names;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    if (end > at) names.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

// Adds the entries of the directory that match. last: otherwise only directories.
Status AddMatches(const std::string& directory, const std::string& pattern, bool last, const GlobStore& store,
                  std::vector<std::string>* found) {
  auto entries = store.list(directory.empty() ? "/" : directory);
  if (entries.status().code() == Code::kNotFound) return Status::Ok();
  if (!entries.ok()) return entries.status();
  for (const GlobEntry& entry : *entries) {
    if (!last && !entry.directory) continue;
    if (fnmatch(pattern.c_str(), EntryName(entry.path).c_str(), FNM_PERIOD) == 0) found->push_back(entry.path);
  }
  return Status::Ok();
}

}  // namespace

bool IsPattern(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

Result<std::vector<std::string>> ExpandGlob(const std::string& path, const GlobStore& store) {
  if (!IsPattern(path)) return std::vector<std::string>{path};
  MR_ASSIGN_OR_RETURN(const bool exists, store.exists(path));
  if (exists) return std::vector<std::string>{path};
  const auto names = NamesOf(path);
  std::vector<std::string> found = {""};
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<std::string> next;
    for (const std::string& directory : found) {
      if (IsPattern(names[i])) {
        MR_RETURN_IF_ERROR(AddMatches(directory, names[i], i + 1 == names.size(), store, &next));
      } else if (std::any_of(names.begin() + static_cast<std::ptrdiff_t>(i), names.end(), IsPattern)) {
        next.push_back(directory + "/" + names[i]);  // listing it shows whether it is there
      } else {
        MR_ASSIGN_OR_RETURN(const bool there, store.exists(directory + "/" + names[i]));
        if (there) next.push_back(directory + "/" + names[i]);
      }
    }
    found = std::move(next);
  }
  std::sort(found.begin(), found.end());
  if (!found.empty()) return found;
  return WithHint(
      NotFound("nothing matches " + path),
      "`mrctl fs ls " + ParentOf(path.substr(0, path.find_first_of("*?[")) + "x") + "` shows what is there");
}

}  // namespace mr::ctl
