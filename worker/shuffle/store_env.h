// The file system of the shuffle store's RocksDB: the default one without fsync. Shuffle output never outlives its
// worker, so nothing here may wait for a disk. New table files overwrite recycled ones, if there are any.
#pragma once

#include <memory>

namespace rocksdb {
class Env;
}

namespace mr::worker {

class RecycledFiles;

std::unique_ptr<rocksdb::Env> NewUnsyncedEnv(std::shared_ptr<RecycledFiles> recycled);

}  // namespace mr::worker
