// Splits: the parts of files that tasks read, and which version of each file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/model/block.h"

namespace mr {

struct Split {
  // A flag in `input`, beside the number: this split belongs to the task of the split before it, so one task can read
  // many small files. As a flag it leaves the stored form of plans without such tasks unchanged.
  static constexpr uint32_t kJoined = 1u << 31;
  uint32_t input = 0;
  std::string uri;
  uint64_t offset = 0, length = 0, file_bytes = 0;  // bytes; file_bytes: of the whole file
  static constexpr uint32_t kNoFile = UINT32_MAX;
  uint32_t file = kNoFile;  // index in the plan's list of files; kNoFile in plans of releases without that list
  // Omits `file`, which the journal stores beside the plan (PlannedInputs).
  template <class V>
  static void Fields(V&& v) {
    v(&Split::input, &Split::uri, &Split::offset, &Split::length, &Split::file_bytes);
  }
  bool operator==(const Split&) const = default;
  uint32_t input_index() const { return input & ~kJoined; }
  bool joined() const { return (input & kJoined) != 0; }
};

// The version of an input file that a job reads: in the block store the file's id, elsewhere what stat() gave (an inode
// of 0: not known).
struct PlannedFile {
  uint64_t id = 0;
  int64_t mtime_ns = 0;  // since 1970
  uint64_t inode = 0, device = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&PlannedFile::id, &PlannedFile::mtime_ns, &PlannedFile::inode, &PlannedFile::device);
  }
  bool operator==(const PlannedFile&) const = default;
};

// A block of a file, and where it can be read.
struct LocatedBlock {
  BlockRef block;
  uint64_t offset = 0;                 // bytes, in the file
  std::vector<WorkerId> workers;       // with good replicas, nearest first; not sent to workers
  std::vector<std::string> addresses;  // of their data servers, in the same order
  std::vector<std::string> damaged;    // damaged replicas, which are not read: "w2 (host:port)"
  std::vector<std::string> grants;     // to read or write it there (common/secure/grant.h), or none
  bool operator==(const LocatedBlock&) const = default;
};

// A split with what its reader needs; `file` has no meaning there, and `input` is only a number.
struct SplitToRead : Split {
  PlannedFile version;
  uint64_t view = 0;                 // FileView() of the planner: `version.device` is compared only in the same view
  std::vector<LocatedBlock> blocks;  // of a file in the block store: to the end of the block after the split
  bool operator==(const SplitToRead&) const = default;
};

}  // namespace mr
