#include "master/host/profiles.h"

#include <glog/logging.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <set>

#include "common/base/digest.h"
#include "common/base/fields.h"
#include "common/io/files.h"

namespace mr::master {
namespace {

constexpr uint32_t kProfilesVersion = 2;
constexpr size_t kHead = sizeof(uint32_t) + sizeof(uint64_t);
// Profiles change once per job: a small memtable, which recovery reads again.
constexpr size_t kMemtableBytes = 4 << 20;
// The log that is read again as a file of its own, the new log, which is allocated ahead, and as much again.
constexpr uint64_t kRoomToOpen = 4 * kMemtableBytes;
// How often the copy of a database is begun again because its files were replaced meanwhile (guess: a compaction is
// rare, since a memtable has room for a thousand profiles).
constexpr int kCopyTries = 5;
// First letters of keys: profiles, and when each was used last.
constexpr char kProfile = 'p', kUse = 'u';

struct Use {
  uint64_t number = 0;                 // rises with each
  double bytes = 0, slot_seconds = 0;  // ProfileStore::BytesPerSlotSecond
  template <class V>
  static void Fields(V&& v) {
    v(&Use::number, &Use::bytes, &Use::slot_seconds);
  }
};

// Behind the name a byte that no name contains, then the shape.
std::string KeyOf(const std::string& name, uint64_t shape) {
  std::string key = name + '\0';
  for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>(shape >> shift & 0xff);
  return key;
}

Status FromRocks(const rocksdb::Status& status, const std::string& what) {
  if (status.ok()) return Status::Ok();
  const std::string text = what + ": " + status.ToString();
  if (status.IsNoSpace()) return {Code::kOverloaded, text + "; free space for the master's --data"};
  return status.IsCorruption() ? Corrupted(text) : Internal(text);
}

// RocksDB's own log goes nowhere: what matters comes as a status, and on a full disk the second line of its file ends
// the process, by an assertion in Debian's build.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// It is opened anew instead (OpenAnew): who closes one that waits for room to recover may wait as long.
class NoRecovery final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

// It says nothing of what is in the database. A missing file does.
bool FaultOfTheDisk(const rocksdb::Status& status) { return status.IsIOError() && !status.IsPathNotFound(); }

}  // namespace

std::string EncodeProfile(const StoredProfile& stored) {
  const std::string body = EncodeFields(stored);
  const uint64_t check = Hash64(body);
  std::string out(kHead, '\0');
  std::memcpy(out.data(), &kProfilesVersion, sizeof kProfilesVersion);
  std::memcpy(out.data() + sizeof kProfilesVersion, &check, sizeof check);
  return out + body;
}

Result<StoredProfile> DecodeProfile(std::string_view bytes) {
  if (bytes.size() < kHead) return Corrupted("a profile of " + std::to_string(bytes.size()) + " bytes is none");
  uint32_t version = 0;
  uint64_t check = 0;
  std::memcpy(&version, bytes.data(), sizeof version);
  std::memcpy(&check, bytes.data() + sizeof version, sizeof check);
  if (version != kProfilesVersion) {
    return Rejected("it is of version " + std::to_string(version) + ", this release reads " +
                    std::to_string(kProfilesVersion));
  }
  bytes.remove_prefix(kHead);
  if (Hash64(bytes) != check) return Corrupted("its checksum differs");
  StoredProfile stored;
  if (!DecodeFields(bytes, &stored)) return Corrupted("its fields cannot be read");
  for (size_t s = 0; s < stored.profile.stages.size(); ++s) {
    for (const sched::StageInput& input : stored.profile.stages[s].inputs) {
      if (input.is_edge && input.upstream >= s) return Corrupted("a stage of it reads a later one");
    }
  }
  return stored;
}

namespace {

// Copies the database once. *moved: another process deleted files of the source while they were opened, as it does
// after a compaction. The copy then fails, or lacks what was in a log that went into a table meanwhile.
Status CopyOnce(const std::string& from, const std::string& to, rocksdb::Env* env, bool* moved) {
  rocksdb::Options options;
  options.info_log = std::make_shared<NoLog>();
  rocksdb::Options reading = options;
  if (env != nullptr) reading.env = env;
  MR_ASSIGN_OR_RETURN(const std::vector<std::string> before, ListDirectory(from));
  rocksdb::DB* db = nullptr;
  // Reads the files as they are at this moment, and writes nothing. It opens all of them, so that those which are
  // deleted afterwards can still be read.
  const rocksdb::Status opened = rocksdb::DB::OpenForReadOnly(reading, from, &db);
  const std::unique_ptr<rocksdb::DB> source(db);
  MR_ASSIGN_OR_RETURN(const std::vector<std::string> after, ListDirectory(from));
  const std::set<std::string> left(after.begin(), after.end());
  *moved = !std::all_of(before.begin(), before.end(), [&](const std::string& name) { return left.contains(name); });
  MR_RETURN_IF_ERROR(FromRocks(opened, "cannot open " + from));
  if (*moved) return Unavailable("files of " + from + " were deleted while they were opened");
  options.create_if_missing = true;
  options.error_if_exists = true;
  MR_RETURN_IF_ERROR(FromRocks(rocksdb::DB::Open(options, to, &db), "cannot make " + to));
  const std::unique_ptr<rocksdb::DB> target(db);
  const std::unique_ptr<rocksdb::Iterator> it(source->NewIterator({}));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    MR_RETURN_IF_ERROR(FromRocks(target->Put({}, it->key(), it->value()), "cannot write " + to));
  }
  MR_RETURN_IF_ERROR(FromRocks(it->status(), "cannot read " + from));
  return FromRocks(target->Flush({}), "cannot write " + to);
}

}  // namespace

Status CopyProfiles(const std::string& from, const std::string& to, rocksdb::Env* env) {
  if (!PathExists(from)) return Status::Ok();
  Status copied;
  for (int i = 0; i < kCopyTries; ++i) {
    bool moved = false;
    copied = CopyOnce(from, to, env, &moved);
    if (!moved) return copied;
  }
  return Unavailable(copied.message() + "; the master replaced its files during each of " + std::to_string(kCopyTries) +
                     " tries, and nothing is damaged: make the backup again");
}

struct ProfileStore::Database {
  std::unique_ptr<rocksdb::DB> db;
};

ProfileStore::ProfileStore(std::string directory, size_t most) : directory_(std::move(directory)), most_(most) {}
ProfileStore::~ProfileStore() = default;

Status ProfileStore::Open() {
  if (db_ != nullptr) return Status::Ok();
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = kMemtableBytes;
  options.max_background_jobs = 1;
  options.max_open_files = 64;
  options.info_log = std::make_shared<NoLog>();
  options.listeners.push_back(std::make_shared<NoRecovery>());
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  rocksdb::DB* db = nullptr;
  rocksdb::Status opened = rocksdb::DB::Open(options, directory_, &db);
  if (FaultOfTheDisk(opened)) return FromRocks(opened, "cannot open " + directory_);
  if (!opened.ok()) {
    const std::string aside = directory_ + ".damaged";
    LOG(ERROR) << "profiles of earlier jobs cannot be opened and are put aside as " << aside << ": "
               << opened.ToString();
    (void)RemoveTree(aside);
    if (PathExists(directory_) && std::rename(directory_.c_str(), aside.c_str()) != 0) {
      return ErrnoStatus(errno, "cannot put " + directory_ + " aside");
    }
    MR_RETURN_IF_ERROR(FromRocks(rocksdb::DB::Open(options, directory_, &db), "cannot open " + directory_));
  }
  db_ = std::make_unique<Database>();
  db_->db.reset(db);
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
  for (it->Seek(std::string(1, kUse)); it->Valid() && it->key()[0] == kUse; it->Next()) {
    Use use;
    const std::string key(it->key().data() + 1, it->key().size() - 1);
    if (!DecodeFields({it->value().data(), it->value().size()}, &use)) continue;
    used_[key] = use.number;
    by_use_[use.number] = key;
    rates_[key] = {use.bytes, use.slot_seconds};
    uses_ = std::max(uses_, use.number);
  }
  return FromRocks(it->status(), "cannot read " + directory_);
}

Result<std::optional<StoredProfile>> ProfileStore::Read(const std::string& key) {
  MR_RETURN_IF_ERROR(Open());  // opening it anew may have failed meanwhile
  std::string bytes;
  const rocksdb::Status got = db_->db->Get({}, kProfile + key, &bytes);
  if (got.IsNotFound()) return std::optional<StoredProfile>();
  // One that cannot be read is as none: the next run begins it anew.
  auto stored = got.ok() ? DecodeProfile(bytes) : Result<StoredProfile>(FromRocks(got, "cannot read"));
  if (!stored.ok()) {
    LOG(WARNING) << "the profile of '" << key.substr(0, key.find('\0'))
                 << "' is dropped: " << stored.status().message();
    Forget(key);
    return std::optional<StoredProfile>();
  }
  CountRate(key, *stored);
  return std::optional<StoredProfile>(*std::move(stored));
}

void ProfileStore::Forget(const std::string& key) {
  rocksdb::WriteBatch batch;
  batch.Delete(kProfile + key).PermitUncheckedError();
  batch.Delete(kUse + key).PermitUncheckedError();
  const Status done = Write(&batch);
  if (!done.ok()) LOG(WARNING) << "profiles: cannot delete: " << done.ToString();
  if (const auto it = used_.find(key); it != used_.end()) {
    by_use_.erase(it->second);
    used_.erase(it);
  }
  rates_.erase(key);
}

// After a write that failed, also one of its own threads, a database can be read and takes no other write. Resume()
// is no way back: in RocksDB 7.8 the write-ahead log goes on refusing (its issue 11643). What is open stays so as
// long as there is no room to open it again.
Status ProfileStore::OpenAnew() {
  std::error_code error;
  const auto space = std::filesystem::space(directory_, error);
  if (error || space.available < kRoomToOpen) return failed_;
  LOG(INFO) << "profiles: " << directory_ << " is opened anew after: " << failed_.message();
  db_ = nullptr;
  used_.clear();
  by_use_.clear();
  rates_.clear();
  failed_ = {};
  return Open();
}

// Not synced: what a crash of the machine takes is learned again.
Status ProfileStore::Write(rocksdb::WriteBatch* batch) {
  if (!failed_.ok()) MR_RETURN_IF_ERROR(OpenAnew());
  return failed_ = FromRocks(db_->db->Write({}, batch), "cannot write to " + directory_);
}

Status ProfileStore::Used(const std::string& key, const StoredProfile* write) {
  const uint64_t use = ++uses_;
  rocksdb::WriteBatch batch;
  const Rate rate = rates_[key];
  MR_RETURN_IF_ERROR(
      FromRocks(batch.Put(kUse + key, EncodeFields(Use{use, rate.bytes, rate.slot_seconds})), "profiles"));
  if (write != nullptr) MR_RETURN_IF_ERROR(FromRocks(batch.Put(kProfile + key, EncodeProfile(*write)), "profiles"));
  MR_RETURN_IF_ERROR(Write(&batch));
  if (const auto it = used_.find(key); it != used_.end()) by_use_.erase(it->second);
  used_[key] = use;
  by_use_[use] = key;
  rates_[key] = rate;  // a database that was opened anew had none of it yet
  while (used_.size() > most_) Forget(std::string(by_use_.begin()->second));
  return Status::Ok();
}

void ProfileStore::CountRate(const std::string& key, const StoredProfile& stored) {
  Rate rate;
  for (const sched::StageRuns& stage : stored.profile.stages) {
    const bool reads =
        std::any_of(stage.inputs.begin(), stage.inputs.end(), [](const auto& in) { return !in.is_edge; });
    if (!reads || stage.run.empty() || stage.input_bytes <= 0) continue;
    const auto mean = [](const std::vector<float>& v) {
      return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
    };
    rate.bytes += stage.input_bytes;
    rate.slot_seconds += stage.tasks * (mean(stage.run) + mean(stage.wait));
  }
  rates_[key] = rate;
}

Status ProfileStore::Add(const std::string& name, uint64_t shape, JobId job, uint64_t unix_ms,
                         const sched::RunProfile& run) {
  std::lock_guard lock(mutex_);
  MR_RETURN_IF_ERROR(Open());
  const std::string key = KeyOf(name, shape);
  MR_ASSIGN_OR_RETURN(const auto before, Read(key));
  StoredProfile stored{name, shape, unix_ms, job, before ? sched::Merged(before->profile, run) : run};
  CountRate(key, stored);
  Status kept = Used(key, &stored);
  if (kept.ok()) return kept;
  if (before)
    CountRate(key, *before);
  else
    rates_.erase(key);
  return kept;
}

Result<std::optional<StoredProfile>> ProfileStore::Find(const std::string& name, uint64_t shape) {
  std::lock_guard lock(mutex_);
  MR_RETURN_IF_ERROR(Open());
  const std::string key = KeyOf(name, shape);
  MR_ASSIGN_OR_RETURN(auto stored, Read(key));
  if (!stored) return stored;
  const Status counted = Used(key, nullptr);
  if (!counted.ok()) LOG(WARNING) << "profiles: the use of '" << name << "' is not counted: " << counted.ToString();
  return stored;
}

Result<std::vector<StoredProfile>> ProfileStore::FindAll(const std::string& name) {
  std::lock_guard lock(mutex_);
  MR_RETURN_IF_ERROR(Open());
  std::vector<std::string> keys;
  const std::string prefix = name + '\0';
  for (auto it = used_.lower_bound(prefix); it != used_.end() && it->first.starts_with(prefix); ++it) {
    keys.push_back(it->first);
  }
  std::vector<StoredProfile> all;
  for (const std::string& key : keys) {
    MR_ASSIGN_OR_RETURN(auto stored, Read(key));
    if (stored) all.push_back(*std::move(stored));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.updated_unix_ms > b.updated_unix_ms; });
  return all;
}

double ProfileStore::BytesPerSlotSecond() {
  std::lock_guard lock(mutex_);
  if (!Open().ok()) return 0;
  Rate all;
  for (const auto& [key, rate] : rates_) {
    all.bytes += rate.bytes;
    all.slot_seconds += rate.slot_seconds;
  }
  return all.slot_seconds > 0 ? all.bytes / all.slot_seconds : 0;
}

size_t ProfileStore::size() {
  std::lock_guard lock(mutex_);
  return Open().ok() ? used_.size() : 0;
}

}  // namespace mr::master
