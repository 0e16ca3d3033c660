// The regular files below a directory of running daemons.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "common/io/files.h"

namespace mr::test {

// Adds the paths of the regular files below a directory. Symbolic links are left out, and so is what goes meanwhile.
inline void AddFilesBelow(const std::string& directory, std::vector<std::string>* files) {
  const auto names = ListDirectory(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = directory + "/" + name;
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) continue;
    if (S_ISDIR(info.st_mode)) AddFilesBelow(path, files);
    if (S_ISREG(info.st_mode)) files->push_back(path);
  }
}

inline std::vector<std::string> FilesBelow(const std::string& directory) {
  std::vector<std::string> files;
  AddFilesBelow(directory, &files);
  return files;
}

}  // namespace mr::test
