// A new directory under $TMPDIR or /tmp, removed by the destructor.
#pragma once

#include <cstdlib>
#include <string>

#include "common/base/check.h"
#include "common/io/files.h"

namespace mr::test {

class TempDirectory {
 public:
  TempDirectory() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/mrtest.XXXXXX";
    MR_CHECK(mkdtemp(path_.data()) != nullptr, path_);
  }
  ~TempDirectory() { (void)RemoveTree(path_); }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace mr::test
