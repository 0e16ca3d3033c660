// Puts many files of this machine at once. Private to dfs/client.
#pragma once

#include <kj/async.h>

#include <vector>

#include "dfs/client/dfs_client.h"

namespace mr::dfs {

// Does what BlockingDfs::PutFiles describes. Requires: all arguments outlive the promise, also if it is dropped until
// the pool has run what it was given. Thread: the client's loop.
kj::Promise<Status> PutLocalFiles(DfsClient& client, const std::vector<LocalFile>& files, const PutOptions& options,
                                  Pool pool, std::vector<bool>* written);

}  // namespace mr::dfs
