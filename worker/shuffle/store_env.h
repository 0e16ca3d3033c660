// The file system of the shuffle store's RocksDB: the default one without fsync. Shuffle output never outlives its
// worker, so nothing here may wait for a disk.
#pragma once

#include <memory>

namespace rocksdb {
class Env;
}

namespace mr::worker {

std::unique_ptr<rocksdb::Env> NewUnsyncedEnv();

}  // namespace mr::worker
