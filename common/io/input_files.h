// The files behind an input of a job: those that a submit reads, and those of which a plan asks the size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/io/file_version.h"

namespace mr {

struct InputFile {
  std::string uri;  // file:///path or dfs:///path
  uint64_t bytes = 0;
  uint64_t id = 0;      // of a file of the block store: dfs::FileInfo::id
  FileVersion version;  // of a local file
};

// The files behind one file:// URI: a file, all files below a directory (no '_' or '.' names), or a
// glob. Sorted by path. kNotFound naming the path and the nearest name for a missing input. Reads directories: not for
// a thread that must not wait.
Result<std::vector<InputFile>> ExpandFileUri(const std::string& uri);

// Refuses a file that is to be read as `format` and begins as a container that cannot be read (CheckContainer). A file
// that cannot be opened here passes. For file:// only; reads 16 bytes.
Status CheckContainerOf(const InputFile& file, std::string_view format);
// How many files of an input are looked at so before a job is accepted (guess: a directory's files are alike).
inline constexpr size_t kFilesLookedAt = 16;

struct InputSize {
  uint64_t bytes = 0;       // as they are stored
  uint64_t compressed = 0;  // of these, in files whose names say that they are compressed
};
InputSize SizeOf(const std::vector<InputFile>& files);

}  // namespace mr
