// One directory of the shuffle store: one RocksDB database, written without a log, closed and
// removed whole. Also the SST files that are ingested into it. Knows nothing of copies and jobs;
// store.cc decides what lies where. Thread-safe.
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

// What all cohorts of a store share: block cache, memtable budget, filter policy, file system.
struct RocksShared;
std::shared_ptr<RocksShared> NewRocksShared(const ShuffleStore::Options& options);

using StoreEntry = std::pair<std::string, std::string>;  // key, value

class Cohort {
 public:
  // `directory` must not exist. on_bad runs once, on any thread, when a background error has made
  // the database unusable; it must not block.
  static Result<std::unique_ptr<Cohort>> Open(std::string directory, std::shared_ptr<RocksShared> shared,
                                              std::function<void()> on_bad);
  ~Cohort();  // closes, and removes the directory

  // All entries or none.
  Status Write(const std::vector<StoreEntry>& entries);
  // Takes over a finished file of SstFile.
  Status Ingest(const std::string& path);
  Result<StoredChunk> Get(const std::string& key);
  // What was in it is lost; it takes nothing new.
  bool bad() const;

  // Kept by the store, under the store's mutex.
  uint64_t live_copies = 0;
  uint64_t writes_under_way = 0;
  uint64_t stored_bytes = 0;
  Instant opened_at;
  // It takes nothing new, since an output that is damaged on disk lies where new ones would; what is in it is read on.
  bool closed = false;

 private:
  struct Impl;
  explicit Cohort(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Writes one sorted file for Cohort::Ingest. One thread at a time. Removes the file at its end
// unless it was ingested.
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
