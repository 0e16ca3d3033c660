// An archive in memory: tar (POSIX ustar), compressed by the name of its file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr::ctl {

class TarWriter {
 public:
  // unix_seconds: modification time of all files.
  explicit TarWriter(uint64_t unix_seconds) : seconds_(unix_seconds) {}
  // Adds a file that only its owner may read. Requires: name is a relative path of at most 99 bytes.
  void Add(const std::string& name, std::string_view bytes);
  // Returns the archive. Call once.
  std::string Finish();

 private:
  const uint64_t seconds_;
  std::string tar_;
};

// Compresses by the name of a file: gzip for .gz and .tgz, none for .tar, else zstd. Errors: kInternal.
Result<std::string> CompressFor(const std::string& file, std::string_view bytes);

// Writes a file that only the user may read. force: replaces an existing one, in one step.
// Errors: kRejected with a hint, if it exists; those of the file system.
Status WritePrivately(const std::string& path, std::string_view bytes, bool force);

}  // namespace mr::ctl
