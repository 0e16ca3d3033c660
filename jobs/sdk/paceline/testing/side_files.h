// Side files of a tested job, in a private directory that is removed with this object.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "paceline/error.h"

namespace mr::sdk {

class TestSideFiles {
 public:
  TestSideFiles() = default;
  TestSideFiles(const TestSideFiles&) = delete;
  ~TestSideFiles() {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }

  void Add(const std::string& name, const std::string& content) {
    if (directory_.empty()) {
      std::string path = (std::filesystem::temp_directory_path() / "paceline-files-XXXXXX").string();
      if (mkdtemp(path.data()) == nullptr) throw JobError("cannot make a directory for side files: " + path);
      directory_ = path;
    }
    std::ofstream(directory_ + "/" + name, std::ios::binary) << content;
  }
  const std::string& directory() const { return directory_; }  // empty: there are no files

 private:
  std::string directory_;
};

}  // namespace mr::sdk
