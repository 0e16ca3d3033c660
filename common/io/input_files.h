// Lists the files of a job's input, with sizes and versions, for submits and for the planner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/io/file_roots.h"
#include "common/io/file_version.h"

namespace mr {

struct InputFile {
  std::string uri;  // file:///path, dfs:///path or a URL
  uint64_t bytes = 0;
  uint64_t id = 0;      // for a file of the block store: dfs::FileInfo::id; for a URL: its version (url/reader.h)
  FileVersion version;  // for a local file
  bool whole = false;   // it can be read only from its start: a server without ranges
  std::string head;     // the first kContainerHeadBytes, if the listing has read them
};

// Returns the files that one file:// URI names: a file, all files below a directory (no '_' or '.' names), or a glob.
// Sorted by path, all below the roots. Errors: kNotAllowed for what is outside of them; kNotFound for a missing input,
// with the path and the nearest name. Cost: reads directories,
// so not for a thread that must not wait.
Result<std::vector<InputFile>> ExpandFileUri(const std::string& uri, const FileRoots& roots);

// Refuses a file that is to be read as `format` but begins like a container that cannot be read (CheckContainer). A
// file that cannot be opened here passes. Checks file:// URIs, and files with a head. Cost: reads 16 bytes.
Status CheckContainerOf(const InputFile& file, std::string_view format);
// The number of files of an input that are checked before a job is accepted (guess: a directory's files are alike).
inline constexpr size_t kFilesLookedAt = 16;

struct InputSize {
  uint64_t bytes = 0;       // stored size
  uint64_t compressed = 0;  // the part of it in files whose names say that they are compressed
};
InputSize SizeOf(const std::vector<InputFile>& files);

}  // namespace mr
