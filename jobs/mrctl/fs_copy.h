// mrctl fs cp: copies one file of the block store through this process.
#pragma once

#include <string>

#include "common/base/status.h"
#include "dfs/client/dfs_client.h"
#include "jobs/mrctl/client.h"

namespace mr::ctl {

// Copies a file with its number of replicas and its block size. An existing target stays until the copy is complete,
// and is replaced in one step. Errors: StoreFailure of the side that failed; kCancelled, kDeadline.
Status CopyStoredFile(Client& client, dfs::BlockingDfs& store, const dfs::FileInfo& from, const std::string& to,
                      bool overwrite);

}  // namespace mr::ctl
