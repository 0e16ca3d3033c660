// Manages one directory of the shuffle store (a cohort): one RocksDB database, written without a log, closed and
// removed as a whole, and the SST files that are ingested into it. It does not know replicas and jobs; store.cc assigns
// outputs to cohorts. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

// The resources that all cohorts of a store share: block cache, memtable budget, filter policy, file system.
struct RocksShared;
std::shared_ptr<RocksShared> NewRocksShared(const ShuffleStore::Options& options);
void TrimRecycled(RocksShared& shared);

using StoreEntry = std::pair<std::string, std::string>;  // key, value

class Cohort {
 public:
  // Makes a database. Requires: `directory` does not exist. on_bad runs once, on any thread, when a background error
  // has made the database unusable. It must not block.
  static Result<std::unique_ptr<Cohort>> Open(std::string directory, std::shared_ptr<RocksShared> shared,
                                              std::function<void()> on_bad);
  ~Cohort();  // closes the database and removes the directory

  // Writes all entries or none.
  Status Write(const std::vector<StoreEntry>& entries);
  // Takes over a finished file of SstFile.
  Status Ingest(const std::string& path);
  // self: the pointer to this cohort, which a large chunk keeps with its bytes.
  Result<StoredChunk> Get(const std::string& key, std::shared_ptr<const Cohort> self);
  // Returns whether its content is lost. Such a cohort takes nothing new.
  bool bad() const;

  // Used by the store, under the store's mutex.
  uint64_t live_replicas = 0;
  uint64_t writes_under_way = 0;
  uint64_t stored_bytes = 0;
  Instant opened_at;
  // The cohort takes nothing new, because new outputs would be in one database with damaged files. Its content can
  // still be read.
  bool closed = false;

 private:
  struct Impl;
  explicit Cohort(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Writes one sorted file for Cohort::Ingest. Not safe for concurrent use. The destructor removes the file unless it was
// ingested.
class SstFile {
 public:
  static Result<std::unique_ptr<SstFile>> Create(std::string path, std::shared_ptr<RocksShared> shared);
  ~SstFile();
  Status Put(const std::string& key, const std::string& value);  // keys ascend
  Status Finish();
  const std::string& path() const;

 private:
  struct Impl;
  explicit SstFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::worker
