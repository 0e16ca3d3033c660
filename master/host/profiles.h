// Profiles of earlier runs on disk: one per job name and shape of plan, in a RocksDB under the master's --data.
// Expendable: not in the journal, and unreadable ones are dropped with a line in the log. Bounded: the least recently
// used profile is evicted. Thread: any but the master's, since every call may wait for a disk.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "master/sched/job_profile.h"

namespace rocksdb {
class Env;
class WriteBatch;
}  // namespace rocksdb

namespace mr::master {

struct StoredProfile {
  std::string name;
  uint64_t shape = 0;  // sched::PlanShape
  uint64_t updated_unix_ms = 0;
  JobId last;  // the newest job in it
  sched::RunProfile profile;
  template <class V>
  static void Fields(V&& v) {
    using T = StoredProfile;
    v(&T::name, &T::shape, &T::updated_unix_ms, &T::last, &T::profile);
  }
};

// With its version and a checksum in front. kCorrupted for what is no profile, kRejected for one of another version.
std::string EncodeProfile(const StoredProfile& stored);
Result<StoredProfile> DecodeProfile(std::string_view bytes);

// Copies a database of profiles that a running master may have open to a new one in `to`. Does nothing where `from`
// does not exist. Where the master replaces files meanwhile, the copy is begun again, at most five times in all. env:
// for reading; null: the usual one. Errors: kUnavailable: the files were replaced during each try; those of the
// database.
Status CopyProfiles(const std::string& from, const std::string& to, rocksdb::Env* env = nullptr);

class ProfileStore {
 public:
  static constexpr size_t kMost = 4096;  // a guess: at 4 KB a stage some 100 MB at worst

  // Opened with the first call that needs it: a start waits for nothing. A database that is damaged is put aside as
  // DIRECTORY.damaged, and a new one begun. Where the disk is full, or fails, nothing is put aside: calls that write
  // fail, what is open can be read, and each later call tries again.
  explicit ProfileStore(std::string directory, size_t most = kMost);
  ~ProfileStore();

  // Merges what a run taught with what is there (sched::Merged).
  Status Add(const std::string& name, uint64_t shape, JobId job, uint64_t unix_ms, const sched::RunProfile& run);
  // Nothing: there is none. It counts as a use, if that can be written.
  Result<std::optional<StoredProfile>> Find(const std::string& name, uint64_t shape);
  // Returns the profiles of all shapes, the most recent change first. Does not count as a use.
  Result<std::vector<StoredProfile>> FindAll(const std::string& name);
  // Bytes of input that a slot-second of reading stages took, over all profiles; 0: none reads any.
  double BytesPerSlotSecond();
  size_t size();

 private:
  struct Database;
  Status Open();  // under the lock
  Result<std::optional<StoredProfile>> Read(const std::string& key);
  Status Used(const std::string& key, const StoredProfile* write);
  Status Write(rocksdb::WriteBatch* batch);
  Status OpenAnew();
  void Forget(const std::string& key);
  void CountRate(const std::string& key, const StoredProfile& stored);

  const std::string directory_;
  const size_t most_;
  std::mutex mutex_;  // guards all below, and each read together with the write that follows it
  std::unique_ptr<Database> db_;
  Status failed_;  // of the write after which the database takes no other
  uint64_t uses_ = 0;
  std::map<std::string, uint64_t> used_;  // by key
  std::map<uint64_t, std::string> by_use_;
  struct Rate {
    double bytes = 0, slot_seconds = 0;
  };
  std::map<std::string, Rate> rates_;  // by key
};

}  // namespace mr::master
