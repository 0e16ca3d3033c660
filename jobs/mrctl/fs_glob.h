// Patterns in paths of the block store, as a shell has them: '*', '?', '[a-z]' within one name, '\' before a character
// that is meant as it is. A name that begins with '.' is matched by a pattern that begins with '.' only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::ctl {

struct GlobEntry {
  std::string path;
  bool directory = false;
};
struct GlobStore {
  // Returns whether the path exists. Errors: those of the connection.
  std::function<Result<bool>(const std::string& path)> exists;
  // Returns the entries of a directory. Errors: kNotFound, and those of the connection.
  std::function<Result<std::vector<GlobEntry>>(const std::string& directory)> list;
};

bool IsPattern(const std::string& path);

// Returns the paths that match, sorted. A path without a pattern, and one that exists as it is, is returned unchanged.
// Errors: kNotFound, with a hint, if nothing matches; those of the store.
Result<std::vector<std::string>> ExpandGlob(const std::string& path, const GlobStore& store);

}  // namespace mr::ctl
