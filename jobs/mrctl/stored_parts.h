// The parts of a job's output in the block store, printed or merged as one text with one header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "dfs/client/dfs_client.h"
#include "jobs/mrctl/client.h"

namespace mr::ctl {

// A file of a directory that is printed or merged with the others.
struct StoredPart {
  std::string path;
  uint64_t begin = 0;  // after a header that is left out
  uint64_t bytes = 0;
};

// Returns the files of a directory in order, without subdirectories and hidden files. The first one that begins with a
// header keeps it.
Result<std::vector<StoredPart>> PartsIn(dfs::BlockingDfs& store, const std::string& directory);

// Writes a part from its beginning to a descriptor.
Status CopyPart(dfs::BlockingDfs& store, const StoredPart& part, int fd);

// Prints the parts of a job's output directory on standard output, and removes the directory also if that fails. A
// reader that leaves, such as head, is no error. Errors: of the block store and of standard output; kCancelled after an
// interrupt.
Status PrintStoredParts(Client& client, const std::string& directory);

enum class StoreUse { kReads, kWrites };
// Returns the failure of the block store with the exit code that is published for it. kUnavailable stays only if the
// master does not answer. Otherwise blocks that cannot be read are kInternal, and blocks that no worker takes are
// kRejected.
Status StoreFailure(Client& client, const Status& status, StoreUse use);

}  // namespace mr::ctl
